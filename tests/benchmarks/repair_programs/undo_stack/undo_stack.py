"""A text with undo, redo and groups of edits."""

from collections.abc import Iterator
from contextlib import contextmanager


class NothingToUndo(Exception):
    """There is no edit in that direction."""


class Document:
    def __init__(self, text: str = "", depth: int = 100) -> None:
        self.text = text
        self.depth = depth
        self._undo: list[str] = []
        self._redo: list[str] = []
        self._grouping = False

    def _remember(self) -> None:
        self._redo.clear()
        if self._grouping:
            return
        self._undo.append(self.text)
        del self._undo[: -self.depth]

    def insert(self, position: int, piece: str) -> None:
        if not 0 <= position <= len(self.text):
            raise IndexError(position)
        self._remember()
        self.text = self.text[:position] + piece + self.text[position:]

    def delete(self, start: int, end: int) -> str:
        """Take a part out of the text; the part."""
        part = self.text[start:end]
        if part:
            self._remember()
            self.text = self.text[:start] + self.text[end:]
        return part

    @contextmanager
    def group(self) -> Iterator[None]:
        """All edits within count as one."""
        self._remember()
        self._grouping = True
        try:
            yield
        finally:
            self._grouping = False

    def undo(self) -> str:
        """Take the last edit back; the text as it is then."""
        if not self._undo:
            raise NothingToUndo
        current = self.text
        self._redo.append(current)
        self.text = self._undo.pop()
        return current

    def redo(self) -> str:
        """Make the last edit that was taken back again; the text as it is then."""
        if not self._redo:
            raise NothingToUndo
        self._undo.append(self.text)
        self.text = self._redo.pop()
        return self.text
