"""An invoice, from its lines to what is to be paid."""

from dataclasses import dataclass, field
from decimal import Decimal

from invoices.lines import subtotal
from invoices.money import percent, rounded


@dataclass
class Invoice:
    customer: str
    lines: list = field(default_factory=list)
    discount: Decimal = Decimal(0)
    tax: Decimal = Decimal(19)

    def net(self):
        return subtotal(self.lines, self.discount)

    def tax_amount(self):
        return rounded(percent(subtotal(self.lines), self.tax))

    def total(self):
        return self.net() + self.tax_amount()
