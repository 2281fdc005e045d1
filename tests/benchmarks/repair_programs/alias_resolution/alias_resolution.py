"""Command aliases that may name other aliases."""

import shlex
from collections.abc import Iterable


class AliasError(Exception):
    """An alias cannot be defined or followed."""


class AliasTable:
    """Aliases stand for a command line; only its first word is looked up again."""

    def __init__(self, builtins: Iterable[str]) -> None:
        self.builtins = frozenset(builtins)
        self._aliases: dict[str, str] = {}

    def define(self, name: str, command: str) -> None:
        if name in self.builtins:
            raise AliasError(f"{name} is a built-in command")
        if not command.split():
            raise AliasError(f"{name} stands for nothing")
        self._aliases[name] = command

    def remove(self, name: str) -> None:
        if name not in self._aliases:
            raise AliasError(f"no alias {name}")
        del self._aliases[name]

    def target(self, name: str) -> str:
        """The command that a name stands for in the end."""
        seen = {name}
        current = name
        while current in self._aliases:
            current = self._aliases[current].split()[0]
            seen.add(current)
        return current

    def expand(self, line: str) -> list[str]:
        """The words of a command line with its first word expanded."""
        words = shlex.split(line)
        if not words:
            return []
        command = self.target(words[0])
        if command not in self.builtins:
            raise AliasError(f"unknown command {command}")
        while words[0] != command:
            words[:1] = shlex.split(self._aliases[words[0]])
        return words

    def chains(self) -> dict[str, str]:
        """Every alias and the command behind it."""
        return {name: self.target(name) for name in sorted(self._aliases)}
