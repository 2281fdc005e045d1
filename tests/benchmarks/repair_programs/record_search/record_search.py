"""A table of records sorted by key, searched by halving."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Record(NamedTuple):
    key: int
    value: str


class SortedTable:
    def __init__(self, records: Iterable[tuple[int, str]] = ()) -> None:
        self._records: list[Record] = []
        for key, value in records:
            self.put(key, value)

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records)

    def _lower_bound(self, key: int) -> int:
        """The index of the first record whose key is not below `key`."""
        low, high = 0, len(self._records)
        while low < high:
            middle = (low + high) // 2
            if self._records[middle].key < key:
                low = middle + 1
            else:
                high = middle
        return low

    def index(self, key: int) -> int:
        """The index of the record with the key, -1 when there is none."""
        place = self._lower_bound(key)
        if place < len(self._records) and self._records[place].key == key:
            return place
        return place

    def put(self, key: int, value: str) -> None:
        """Store a value, in place of the one that had the key."""
        place = self._lower_bound(key)
        if place < len(self._records) and self._records[place].key == key:
            self._records[place] = Record(key, value)
        else:
            self._records.insert(place, Record(key, value))

    def get(self, key: int, default: str = "") -> str:
        place = self.index(key)
        return default if place < 0 else self._records[place].value

    def delete(self, key: int) -> bool:
        """Whether there was a record to delete."""
        place = self.index(key)
        if place < 0:
            return False
        del self._records[place]
        return True

    def between(self, low: int, high: int) -> list[Record]:
        """The records with low <= key < high."""
        return self._records[self._lower_bound(low) : self._lower_bound(high)]
