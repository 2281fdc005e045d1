"""What is to be run, and in which order."""

from builder.ordering import order
from builder.rules import read


class Plan:
    def __init__(self, text):
        self.rules = read(text)

    def steps(self):
        """The commands, in an order that the dependencies allow."""
        return [self.rules[name].command for name in order(self.rules) if self.rules[name].command]

    def describe(self):
        return "\n".join(f"{number}. {step}" for number, step in enumerate(self.steps(), 1))
