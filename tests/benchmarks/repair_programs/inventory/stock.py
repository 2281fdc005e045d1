"""What lies in the warehouse, and what of it is promised."""

from dataclasses import dataclass


@dataclass
class Item:
    sku: str
    on_hand: int = 0
    reserved: int = 0
    reorder_level: int = 0

    @property
    def available(self) -> int:
        """Pieces that nobody was promised."""
        return self.on_hand - self.reserved

    @property
    def must_reorder(self) -> bool:
        return self.available <= self.reorder_level


class Stock:
    def __init__(self) -> None:
        self._items: dict[str, Item] = {}

    def receive(self, sku: str, pieces: int, reorder_level: int = 0) -> None:
        item = self._items.setdefault(sku, Item(sku, reorder_level=reorder_level))
        item.on_hand += pieces

    def item(self, sku: str) -> Item:
        if sku not in self._items:
            raise KeyError(f"unknown article {sku}")
        return self._items[sku]

    def to_reorder(self) -> list[str]:
        return sorted(item.sku for item in self._items.values() if item.must_reorder)
