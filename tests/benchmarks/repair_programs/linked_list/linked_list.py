"""A doubly linked list with access at both ends."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(eq=False)
class Node:
    value: Any
    before: "Node | None" = None
    after: "Node | None" = None


class LinkedList:
    def __init__(self, values: Iterable[Any] = ()) -> None:
        self._first: Node | None = None
        self._last: Node | None = None
        self._length = 0
        for value in values:
            self.append(value)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Any]:
        node = self._first
        while node is not None:
            yield node.value
            node = node.after

    def __reversed__(self) -> Iterator[Any]:
        node = self._last
        while node is not None:
            yield node.value
            node = node.before

    def append(self, value: Any) -> None:
        node = Node(value, before=self._last)
        if self._last is None:
            self._first = node
        else:
            self._last.after = node
        self._last = node
        self._length += 1

    def prepend(self, value: Any) -> None:
        node = Node(value, after=self._first)
        if self._first is None:
            self._last = node
        else:
            self._first.before = node
        self._first = node
        self._length += 1

    def pop(self) -> Any:
        """Take the last item off."""
        node = self._last
        if node is None:
            raise IndexError("pop from an empty list")
        self._last = node.before
        if self._last is None:
            self._first = None
        else:
            self._last.after = None
        self._length -= 1
        return node.value

    def pop_first(self) -> Any:
        """Take the first item off."""
        node = self._first
        if node is None:
            raise IndexError("pop from an empty list")
        self._first = node.after
        if self._first is None:
            self._last = None
        self._length -= 1
        return node.value
