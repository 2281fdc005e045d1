"""Patterns of paths such as `/users/<int:id>/posts`."""

import re
from dataclasses import dataclass
from typing import Any

PLACEHOLDER = re.compile(r"<(?:(int|str|path):)?(\w+)>")
KINDS = {"int": r"\d+", "str": r"[^/]+", "path": r".+"}


@dataclass(frozen=True)
class Pattern:
    regex: re.Pattern[str]
    kinds: dict[str, str]

    @classmethod
    def parse(cls, text: str) -> "Pattern":
        kinds: dict[str, str] = {}
        source, position = "", 0
        for match in PLACEHOLDER.finditer(text):
            kind, name = match[1] or "str", match[2]
            if name in kinds:
                raise ValueError(f"{name} is used twice in {text}")
            kinds[name] = kind
            source += re.escape(text[position : match.start()]) + f"(?P<{name}>{KINDS[kind]})"
            position = match.end()
        return cls(re.compile(source + re.escape(text[position:])), kinds)

    def match(self, path: str) -> dict[str, Any] | None:
        """The values of the placeholders, or None."""
        found = self.regex.fullmatch(path)
        if found is None:
            return None
        return {
            name: int(value) if self.kinds[name] == "int" else value
            for name, value in found.groupdict().items()
        }
