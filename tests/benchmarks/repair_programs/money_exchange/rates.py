"""Exchange rates, kept against one base currency."""

from decimal import Decimal


class UnknownCurrency(KeyError):
    """There is no rate for this currency."""


class RateTable:
    """`per_base` says how many units of a currency one unit of the base buys."""

    def __init__(self, base: str, per_base: dict[str, str]) -> None:
        self.base = base
        self._per_base = {code: Decimal(rate) for code, rate in per_base.items()}
        self._per_base[base] = Decimal(1)

    def _lookup(self, code: str) -> Decimal:
        if code not in self._per_base:
            raise UnknownCurrency(code)
        return self._per_base[code]

    def rate(self, source: str, target: str) -> Decimal:
        """How many units of `target` one unit of `source` buys."""
        return self._lookup(target) / self._lookup(source)

    def codes(self) -> list[str]:
        return sorted(self._per_base)
