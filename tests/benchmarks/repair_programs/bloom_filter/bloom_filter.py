"""A Bloom filter: a small set that may say yes wrongly, but never no."""

import hashlib
import math
from collections.abc import Iterable, Iterator


class BloomFilter:
    def __init__(self, size: int = 1024, hashes: int = 3) -> None:
        if size < 1 or hashes < 1:
            raise ValueError("size and hashes must be positive")
        self.size = size
        self.hashes = hashes
        self._bits = bytearray((size + 7) // 8)

    @classmethod
    def for_capacity(cls, items: int, error_rate: float) -> "BloomFilter":
        """The filter with the fewest bits that meets the error rate."""
        size = math.ceil(-items * math.log(error_rate) / math.log(2) ** 2)
        hashes = max(1, round(size / items * math.log(2)))
        return cls(size, hashes)

    def _positions(self, word: str) -> Iterator[int]:
        digest = hashlib.sha256(word.encode()).digest()
        first = int.from_bytes(digest[:8], "big")
        second = int.from_bytes(digest[8:16], "big") | 1
        for number in range(self.hashes):
            yield (first + number * second) % self.size

    def add(self, word: str) -> None:
        for position in self._positions(word):
            self._bits[position // 8] ^= 1 << (position % 8)

    def update(self, words: Iterable[str]) -> None:
        for word in words:
            self.add(word)

    def __contains__(self, word: str) -> bool:
        return all(self._bits[position // 8] & (1 << (position % 8)) for position in self._positions(word))

    def fill(self) -> float:
        """The share of bits that are set, 0 to 1."""
        return sum(byte.bit_count() for byte in self._bits) / self.size
