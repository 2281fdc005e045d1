"""Conversions between units of the same quantity.

Every unit is linear in its quantity's base unit: base = value * factor + offset.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Unit:
    symbol: str
    quantity: str
    factor: float
    offset: float = 0.0

    def to_base(self, value: float) -> float:
        return value * self.factor + self.offset

    def from_base(self, value: float) -> float:
        return (value + self.offset) / self.factor


UNITS = {
    unit.symbol: unit
    for unit in (
        Unit("m", "length", 1.0),
        Unit("km", "length", 1000.0),
        Unit("ft", "length", 0.3048),
        Unit("kg", "mass", 1.0),
        Unit("lb", "mass", 0.45359237),
        Unit("K", "temperature", 1.0),
        Unit("C", "temperature", 1.0, 273.15),
        Unit("F", "temperature", 5 / 9, 459.67 * 5 / 9),
    )
}


class ConversionError(ValueError):
    """The two units do not measure the same quantity, or one is unknown."""


def lookup(symbol: str) -> Unit:
    try:
        return UNITS[symbol]
    except KeyError:
        raise ConversionError(f"unknown unit {symbol!r}") from None


def convert(value: float, source: str, target: str) -> float:
    start, end = lookup(source), lookup(target)
    if start.quantity != end.quantity:
        raise ConversionError(f"cannot convert {start.quantity} to {end.quantity}")
    if start == end:
        return value
    return end.from_base(start.to_base(value))


def table(value: float, source: str) -> dict[str, float]:
    """The value in every unit of its quantity, rounded to 3 places."""
    quantity = lookup(source).quantity
    return {
        symbol: round(convert(value, source, symbol), 3)
        for symbol, unit in UNITS.items()
        if unit.quantity == quantity
    }
