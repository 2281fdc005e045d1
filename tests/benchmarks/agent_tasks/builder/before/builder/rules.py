"""Rules, as they are read from a build file."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    name: str
    command: str
    needs: tuple = ()


def read(text):
    """Rules by name, from lines "name: needs ... | command"."""
    rules = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.partition("#")[0].strip()
        if not line:
            continue
        name, colon, rest = line.partition(":")
        if not colon:
            raise ValueError(f"line {number}: no colon")
        needs, _, command = rest.partition("|")
        rules[name.strip()] = Rule(name.strip(), command.strip(), tuple(needs.split()))
    return rules
