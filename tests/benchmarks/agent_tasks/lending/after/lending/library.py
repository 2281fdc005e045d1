"""The desk of a small library. Days are numbers."""

from lending.readers import Reader

LOAN_DAYS = 21
FREE_DAYS = 3
DAILY_FEE = 0.20
HIGHEST_FEE = 10.00
MOST_OWED = 5.00


class LendingError(Exception):
    """Something that the desk refuses."""


class Library:
    def __init__(self, copies):
        self.copies = dict(copies)  # title -> copies on the shelf
        self.readers = {}

    def join(self, name):
        return self.readers.setdefault(name, Reader(name))

    def borrow(self, reader, title, day):
        """The day on which the book is due."""
        member = self.readers[reader]
        if self.copies.get(title, 0) < 1:
            raise LendingError(f"no copy of {title} is here")
        if member.owes >= MOST_OWED:
            raise LendingError(f"{reader} owes {member.owes:.2f}")
        if member.has(title):
            raise LendingError(f"{reader} has {title} already")
        self.copies[title] -= 1
        member.loans[title] = day + LOAN_DAYS
        return member.loans[title]

    def give_back(self, reader, title, day):
        """The fee for a late return."""
        member = self.readers[reader]
        if not member.has(title):
            raise LendingError(f"{reader} does not have {title}")
        late = day - member.loans.pop(title) - FREE_DAYS
        fee = min(HIGHEST_FEE, max(0, late) * DAILY_FEE)
        member.owes += fee
        self.copies[title] += 1
        return fee
