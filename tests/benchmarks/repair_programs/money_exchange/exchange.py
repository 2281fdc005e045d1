"""Amounts of money in a currency, and their exchange."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal

from rates import RateTable

DECIMALS = {"JPY": 0, "KWD": 3}


@dataclass(frozen=True)
class Money:
    amount: Decimal
    currency: str

    @classmethod
    def of(cls, amount: str | int, currency: str) -> "Money":
        return cls(Decimal(amount), currency)

    def rounded(self) -> "Money":
        places = DECIMALS.get(self.currency, 2)
        step = Decimal(1).scaleb(-places)
        return Money(self.amount.quantize(step, rounding=ROUND_HALF_EVEN), self.currency)

    def __str__(self) -> str:
        return f"{self.amount} {self.currency}"


class Exchange:
    """Changes money at the rates of a table, less a fee in percent."""

    def __init__(self, table: RateTable, fee: str = "0") -> None:
        self._table = table
        self._kept = 1 - Decimal(fee) / 100

    def convert(self, money: Money, target: str) -> Money:
        """The money in another currency, rounded to its smallest unit; without fee in its own."""
        if money.currency == target:
            return money.rounded()
        rate = self._table.rate(target, money.currency)
        return Money(money.amount * rate * self._kept, target).rounded()

    def total(self, purse: Iterable[Money], target: str) -> Money:
        changed = [self.convert(money, target) for money in purse]
        return Money(sum((money.amount for money in changed), Decimal(0)), target).rounded()
