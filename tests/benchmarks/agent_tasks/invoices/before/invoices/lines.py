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
    total = Decimal(0)
    for line in lines:
        total += line.amount - rounded(percent(line.amount, discount))
    return total
