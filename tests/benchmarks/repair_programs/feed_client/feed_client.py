"""Read a feed through its pages."""

from feed_server import Entry, FeedServer


class FeedClient:
    def __init__(self, server: FeedServer) -> None:
        self._server = server

    def first(self) -> Entry | None:
        entries = self._server.fetch().entries
        return entries[0] if entries else None

    def all(self) -> list[Entry]:
        """Every entry of the feed."""
        found: list[Entry] = []
        cursor: int | None = 0
        while cursor is not None:
            page = self._server.fetch(cursor)
            found.extend(page.entries)
            cursor = page.next_cursor
        return found

    def unread(self) -> int:
        """How many entries were not read yet."""
        number = 0
        cursor: int | None = 0
        while cursor is not None:
            page = self._server.fetch(cursor)
            number += sum(not entry.read for entry in page.entries)
        return number

    def find(self, word: str) -> Entry | None:
        """The first entry with the word in its title; later pages are not asked for."""
        cursor: int | None = 0
        while cursor is not None:
            page = self._server.fetch(cursor)
            for entry in page.entries:
                if word.lower() in entry.title.lower():
                    return entry
            cursor = page.next_cursor
        return None
