"""The texts that findings are looked for in: the tests, the touched files, the product as it was."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from acr_cli.errors import PathRefused
from acr_cli.protocols import Tree
from acr_cli.verifier.added import Line
from acr_cli.verifier.integrity import family

_LARGEST = 1024**2  # bytes of a file that is looked into
_TOGETHER = 30 * 1024**2  # bytes of the product that are looked through


@dataclass(frozen=True, kw_only=True, slots=True)
class Sources:
    """`added` are the lines that the change adds; `protected` says which paths are tests and the like."""

    tree: Tree
    added: Sequence[Line]
    protected: Callable[[str], bool]

    def text(self, path: str) -> str:
        """A file as it is now; "" where there is none, or none that can be read as text."""
        try:
            file = self.tree.path(path)
        except PathRefused:
            return ""
        if file.is_symlink() or not file.is_file() or file.stat().st_size > _LARGEST:
            return ""
        return file.read_text(encoding="utf-8", errors="replace")

    def texts(self, paths: Sequence[str]) -> dict[str, str]:
        """Files as they are now, by path."""
        return {path: self.text(path) for path in dict.fromkeys(paths) if path}

    def tests(self) -> str:
        """All that is protected and written in a programming language, as far as `_LARGEST` goes."""
        found, left = [], _LARGEST
        for path in self.tree.files():
            if not family(path) or not self.protected(path):
                continue
            text = self.text(path)
            left -= len(text)
            if left < 0:
                break
            found.append(text)
        return "\n".join(found)

    def knew(self, language: str, pattern: re.Pattern[str]) -> bool:
        """Whether the product had this before the change, in files of one language ("" for all)."""
        return any(pattern.search(text) for text in self._before(language))

    def _before(self, language: str) -> Iterator[str]:
        left = _TOGETHER
        new: dict[str, set[int]] = {}
        for line in self.added:
            new.setdefault(line.path, set()).add(line.number)
        for path in self.tree.files():
            if not family(path) or (language and family(path) != language) or self.protected(path):
                continue
            text = self.text(path)
            left -= len(text)
            if left < 0:
                return
            if path in new:
                text = "\n".join(t for n, t in enumerate(text.split("\n"), 1) if n not in new[path])
            yield text
