"""Accounts that hold whole cents."""

from dataclasses import dataclass


class InsufficientFunds(Exception):
    """The account does not hold that much."""


@dataclass
class Account:
    number: str
    balance: int = 0
    overdraft: int = 0

    def deposit(self, amount: int) -> None:
        if amount <= 0:
            raise ValueError("amount must be positive")
        self.balance += amount

    def withdraw(self, amount: int) -> None:
        if amount <= 0:
            raise ValueError("amount must be positive")
        if self.balance + self.overdraft < amount:
            raise InsufficientFunds(f"{self.number} holds {self.balance}, not {amount}")
        self.balance -= amount
