"""Readers and what they have borrowed."""

from dataclasses import dataclass, field


@dataclass
class Reader:
    name: str
    loans: dict = field(default_factory=dict)  # title -> the day on which it is due

    def has(self, title):
        return title in self.loans

    def overdue(self, day):
        """The titles that should be back by now, in alphabetical order."""
        return sorted(title for title, due in self.loans.items() if due < day)
