"""A feed that hands out its entries page by page."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    number: int
    title: str
    read: bool = False


@dataclass(frozen=True)
class Page:
    entries: Sequence[Entry]
    next_cursor: int | None


class FeedServer:
    def __init__(self, entries: Sequence[Entry], page_size: int = 3) -> None:
        self._entries = list(entries)
        self._page_size = page_size
        self.requests = 0

    def fetch(self, cursor: int = 0) -> Page:
        """The page that begins at the cursor; the last one has no next cursor."""
        if cursor < 0:
            raise ValueError(f"not a cursor: {cursor}")
        self.requests += 1
        end = cursor + self._page_size
        more = end < len(self._entries)
        return Page(self._entries[cursor:end], end if more else None)
