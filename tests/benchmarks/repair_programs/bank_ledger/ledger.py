"""A ledger: every movement of money is two entries that add up to zero."""

from dataclasses import dataclass, field

from accounts import Account


@dataclass(frozen=True)
class Entry:
    account: str
    amount: int
    text: str


@dataclass
class Ledger:
    accounts: dict[str, Account] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)

    def open(self, number: str, overdraft: int = 0) -> Account:
        if number in self.accounts:
            raise ValueError(f"account {number} exists")
        account = Account(number, overdraft=overdraft)
        self.accounts[number] = account
        return account

    def deposit(self, number: str, amount: int) -> None:
        """Cash paid in, booked against the account `cash`."""
        self.accounts[number].deposit(amount)
        self.entries.append(Entry("cash", -amount, f"deposit to {number}"))
        self.entries.append(Entry(number, amount, "deposit"))

    def transfer(self, source: str, target: str, amount: int, text: str = "transfer") -> None:
        receiver = self.accounts[target]
        self.accounts[source].withdraw(amount)
        receiver.deposit(amount)
        self.entries.append(Entry(source, -amount, text))
        self.entries.append(Entry(source, amount, text))

    def statement(self, number: str) -> list[tuple[str, int, int]]:
        """Text, amount and running balance of every entry of an account."""
        balance = 0
        lines = []
        for entry in self.entries:
            if entry.account == number:
                balance += entry.amount
                lines.append((entry.text, entry.amount, balance))
        return lines

    def is_balanced(self) -> bool:
        return sum(entry.amount for entry in self.entries) == 0
