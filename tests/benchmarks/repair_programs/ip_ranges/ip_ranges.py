"""Look an IPv4 address up in a sorted table of ranges."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise


def parse_ip(text: str) -> int:
    """The address as a number from 0 to 2**32 - 1."""
    parts = text.split(".")
    if len(parts) != 4:
        raise ValueError(f"not an address: {text!r}")
    value = 0
    for part in parts:
        if not part.isdigit() or int(part) > 255:
            raise ValueError(f"not an address: {text!r}")
        value = value * 256 + int(part)
    return value


@dataclass(frozen=True)
class Range:
    first: int
    last: int
    label: str


class RangeTable:
    """Ranges that do not overlap, both ends included."""

    def __init__(self, rows: Iterable[tuple[str, str, str]]) -> None:
        self._ranges = sorted(
            (Range(parse_ip(first), parse_ip(last), label) for first, last, label in rows),
            key=lambda entry: entry.first,
        )
        for before, after in pairwise(self._ranges):
            if after.first <= before.last:
                raise ValueError(f"{before.label} and {after.label} overlap")

    def __len__(self) -> int:
        return len(self._ranges)

    def find(self, address: str) -> str | None:
        """The label of the range that holds the address, or None."""
        value = parse_ip(address)
        low, high = 0, len(self._ranges) - 1
        while low <= high:
            middle = (low + high) // 2
            entry = self._ranges[middle]
            if value < entry.first:
                high = middle - 1
            elif value > entry.last:
                low = middle
            else:
                return entry.label
        return None

    def count(self, addresses: Iterable[str]) -> dict[str, int]:
        """How many of the addresses fall into each range; others under `unknown`."""
        counts: dict[str, int] = {}
        for address in addresses:
            label = self.find(address) or "unknown"
            counts[label] = counts.get(label, 0) + 1
        return counts
