"""Amounts are Decimal, in the main unit of the currency, with two places."""

from decimal import ROUND_HALF_UP, Decimal

CENT = Decimal("0.01")


def rounded(amount):
    """The amount, rounded half up to whole cents."""
    return Decimal(amount).quantize(CENT, rounding=ROUND_HALF_UP)


def percent(amount, rate):
    """So many percent of the amount, not rounded."""
    return Decimal(amount) * Decimal(rate) / 100


def shown(amount, currency="EUR"):
    return f"{rounded(amount):,.2f} {currency}"
