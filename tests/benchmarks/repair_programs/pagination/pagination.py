"""Pages of a list: counts, slices, and the numbers shown under it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Page(Generic[T]):
    items: Sequence[T]
    number: int
    pages: int

    @property
    def has_next(self) -> bool:
        return self.number < self.pages

    @property
    def has_previous(self) -> bool:
        return self.number > 1


class Paginator(Generic[T]):
    """Splits `items` into pages of `size`, numbered from 1; an empty list has one empty page."""

    def __init__(self, items: Sequence[T], size: int) -> None:
        if size < 1:
            raise ValueError("a page holds at least one item")
        self.items = items
        self.size = size

    @property
    def pages(self) -> int:
        if not self.items:
            return 1
        return (len(self.items) + self.size) // self.size

    def page(self, number: int) -> Page[T]:
        if not 1 <= number <= self.pages:
            raise IndexError(f"no page {number}")
        start = (number - 1) * self.size
        return Page(self.items[start : start + self.size], number, self.pages)

    def links(self, current: int, around: int = 1) -> list[int | None]:
        """First, last and the pages around the current one; None stands for a gap."""
        shown = {1, self.pages}
        shown.update(range(max(1, current - around), min(self.pages, current + around) + 1))
        result: list[int | None] = []
        for number in sorted(shown):
            last = result[-1] if result else 0
            if last is not None and number - last > 1:
                result.append(None)
            result.append(number)
        return result
