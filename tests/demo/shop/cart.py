"""A shopping cart: lines, a discount by quantity, shipping."""

from dataclasses import dataclass, field

FREE_SHIPPING_CENTS = 5000
SHIPPING_CENTS = 490
BULK_QUANTITY = 10
BULK_PERCENT = 15


@dataclass(frozen=True)
class Line:
    name: str
    unit_cents: int
    quantity: int = 1

    def total_cents(self) -> int:
        total = self.unit_cents * self.quantity
        if self.quantity > BULK_QUANTITY:
            total -= total * BULK_PERCENT // 100
        return total


@dataclass
class Cart:
    lines: list[Line] = field(default_factory=list)

    def add(self, name: str, unit_cents: int, quantity: int = 1) -> None:
        if quantity < 1:
            raise ValueError("quantity must be at least one")
        self.lines.append(Line(name, unit_cents, quantity))

    def subtotal_cents(self) -> int:
        return sum(line.total_cents() for line in self.lines)

    def shipping_cents(self) -> int:
        if not self.lines or self.subtotal_cents() >= FREE_SHIPPING_CENTS:
            return 0
        return SHIPPING_CENTS

    def total_cents(self) -> int:
        return self.subtotal_cents() + self.shipping_cents()
