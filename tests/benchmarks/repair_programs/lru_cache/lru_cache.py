"""A cache that forgets what was not used for longest."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any


class LruCache:
    def __init__(self, capacity: int, on_evict: Callable[[Hashable, Any], None] | None = None) -> None:
        if capacity < 1:
            raise ValueError("capacity must be at least 1")
        self.capacity = capacity
        self.hits = 0
        self.misses = 0
        self._on_evict = on_evict
        self._items: OrderedDict[Hashable, Any] = OrderedDict()

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._items

    def get(self, key: Hashable, default: Any = None) -> Any:
        if key not in self._items:
            self.misses += 1
            return default
        self.hits += 1
        self._items.move_to_end(key)
        return self._items[key]

    def put(self, key: Hashable, value: Any) -> None:
        """Store a value as the one used last; a new key may push the oldest out."""
        if len(self._items) >= self.capacity:
            self._evict()
        self._items[key] = value
        self._items.move_to_end(key)

    def _evict(self) -> None:
        key, value = self._items.popitem(last=False)
        if self._on_evict is not None:
            self._on_evict(key, value)

    def resize(self, capacity: int) -> None:
        self.capacity = capacity
        while len(self._items) > capacity:
            self._evict()

    def keys(self) -> list[Hashable]:
        """All keys, the next to be forgotten first."""
        return list(self._items)

    def hit_rate(self) -> float:
        asked = self.hits + self.misses
        return self.hits / asked if asked else 0.0
