"""Versions such as 1.4.2 or 2.0rc1, ordered as releases are."""

import re
from dataclasses import dataclass
from functools import total_ordering

PATTERN = re.compile(r"^(\d+(?:\.\d+)*)(?:(a|b|rc)(\d+))?$")


@total_ordering
@dataclass(frozen=True)
class Version:
    release: tuple[int, ...]
    stage: tuple[str, int] | None = None

    @classmethod
    def parse(cls, text: str) -> "Version":
        match = PATTERN.match(text.strip())
        if match is None:
            raise ValueError(f"not a version: {text!r}")
        numbers = [int(part) for part in match[1].split(".")]
        while len(numbers) > 1 and numbers[-1] == 0:
            numbers.pop()
        stage = (match[2], int(match[3])) if match[2] else None
        return cls(tuple(numbers), stage)

    def _key(self) -> tuple[tuple[int, ...], tuple[int, str, int]]:
        if self.stage is None:
            return self.release, (1, "", 0)
        return self.release, (0, *self.stage)

    def __lt__(self, other: "Version") -> bool:
        return self._key() < other._key()
