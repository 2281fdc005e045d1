"""A buffer of fixed size that overwrites its oldest item when it is full."""

from collections.abc import Iterator
from typing import Any


class RingBuffer:
    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError("capacity must be at least 1")
        self._slots: list[Any] = [None] * capacity
        self._next = 0
        self._count = 0

    @property
    def capacity(self) -> int:
        return len(self._slots)

    def __len__(self) -> int:
        return self._count

    def append(self, item: Any) -> None:
        self._slots[self._next] = item
        self._next = (self._next + 1) % self.capacity
        self._count = min(self._count + 1, self.capacity)

    def _slot(self, index: int) -> int:
        """The slot of the item that is `index` places after the oldest."""
        return (self._next - self._count + index - 1) % self.capacity

    def __getitem__(self, index: int) -> Any:
        if index < 0:
            index += self._count
        if not 0 <= index < self._count:
            raise IndexError("ring buffer index out of range")
        return self._slots[self._slot(index)]

    def __iter__(self) -> Iterator[Any]:
        oldest = self._next if self._count == self.capacity else 0
        for step in range(self._count):
            yield self._slots[(oldest + step) % self.capacity]

    def pop_oldest(self) -> Any:
        if not self._count:
            raise IndexError("pop from an empty ring buffer")
        oldest = (self._next - self._count) % self.capacity
        item, self._slots[oldest] = self._slots[oldest], None
        self._count -= 1
        return item

    def clear(self) -> None:
        self._slots = [None] * self.capacity
        self._next = 0
        self._count = 0
