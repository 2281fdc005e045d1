"""The lines of an invoice."""

from dataclasses import dataclass
from decimal import Decimal

from invoices.money import percent, rounded


@dataclass(frozen=True)
class Line:
    text: str
    quantity: int
    price: Decimal

    @property
    def amount(self):
        return self.quantity * self.price


def subtotal(lines, discount=Decimal(0)):
    """The sum of the lines, less so many percent of discount."""
    total = sum((line.amount for line in lines), Decimal(0))
    return total - rounded(percent(total, discount))
