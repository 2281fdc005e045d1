"""The desk of a small library. Days are numbers."""

from lending.readers import Reader

LOAN_DAYS = 21


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
        if member.has(title):
            raise LendingError(f"{reader} has {title} already")
        self.copies[title] -= 1
        member.loans[title] = day + LOAN_DAYS
        return member.loans[title]

    def give_back(self, reader, title):
        member = self.readers[reader]
        if not member.has(title):
            raise LendingError(f"{reader} does not have {title}")
        del member.loans[title]
        self.copies[title] += 1
