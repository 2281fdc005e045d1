"""A basket of articles with discounts and shipping; all amounts in cents."""

from collections import Counter

from catalogue import Catalogue

FREE_SHIPPING_FROM = 5_000
SHIPPING = 490
BULK_PIECES = 10
BULK_PERCENT = 10


class Basket:
    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._pieces: Counter[str] = Counter()

    def add(self, sku: str, pieces: int = 1) -> None:
        if pieces < 1:
            raise ValueError("at least one piece")
        self._pieces[self._catalogue[sku].sku] += pieces

    def line_total(self, sku: str) -> int:
        """The price of all pieces of an article, with the bulk discount from ten pieces."""
        pieces = self._pieces[sku]
        amount = self._catalogue[sku].price * pieces
        if pieces >= BULK_PIECES:
            amount -= amount * BULK_PERCENT // 100
        return amount

    def goods(self) -> int:
        return sum({self.line_total(sku) for sku in self._pieces})

    def shipping(self) -> int:
        """Nothing for an empty basket and from 50.00 on."""
        if not self._pieces or self.goods() >= FREE_SHIPPING_FROM:
            return 0
        return SHIPPING

    def total(self) -> int:
        return self.goods() + self.shipping()

    def by_category(self) -> dict[str, int]:
        totals: dict[str, int] = {}
        for sku in self._pieces:
            category = self._catalogue[sku].category
            totals[category] = totals.get(category, 0) + self.line_total(sku)
        return totals
