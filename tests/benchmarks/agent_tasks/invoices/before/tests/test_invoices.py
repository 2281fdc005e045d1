from decimal import Decimal

from invoices.invoice import Invoice
from invoices.lines import Line, subtotal
from invoices.money import rounded
from invoices.printing import page

THIRDS = [Line("bolt", 1, Decimal("0.33")) for _ in range(3)]


def test_rounding_is_half_up():
    assert rounded("2.345") == Decimal("2.35")


def test_no_discount():
    assert subtotal(THIRDS) == Decimal("0.99")


def test_discount_is_rounded_once():
    assert subtotal(THIRDS, Decimal(5)) == Decimal("0.94")


def test_tax_is_taken_after_the_discount():
    invoice = Invoice("Ada", [Line("desk", 1, Decimal("100.00"))], discount=Decimal(10))
    assert invoice.tax_amount() == Decimal("17.10")
    assert invoice.total() == Decimal("107.10")


def test_page():
    invoice = Invoice("Ada", [Line("desk", 2, Decimal("50.00"))])
    assert page(invoice).splitlines()[-1].split() == ["Total", "119.00", "EUR"]
