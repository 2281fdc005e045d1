"""A sliding-window rate limiter: at most `limit` calls in any `window` seconds."""

from collections import defaultdict, deque
from collections.abc import Callable


class RateLimited(Exception):
    def __init__(self, key: str, wait: float) -> None:
        super().__init__(f"{key}: try again in {wait:g} s")
        self.wait = wait


class SlidingWindow:
    def __init__(self, limit: int, window: float, clock: Callable[[], float]) -> None:
        self.limit = limit
        self.window = window
        self._clock = clock
        self._calls: dict[str, deque[float]] = defaultdict(deque)

    def _expire(self, calls: deque[float], now: float) -> None:
        """Forget the calls that left the window; a call leaves after exactly `window` seconds."""
        while calls and calls[0] < now - self.window:
            calls.popleft()

    def allow(self, key: str) -> bool:
        """Whether a call is allowed now; an allowed call is counted."""
        now = self._clock()
        calls = self._calls[key]
        self._expire(calls, now)
        if len(calls) >= self.limit:
            return False
        calls.append(now)
        return True

    def wait(self, key: str) -> float:
        """Seconds until the next call will be allowed, 0 when it is already."""
        now = self._clock()
        calls = self._calls[key]
        self._expire(calls, now)
        if len(calls) < self.limit:
            return 0.0
        return calls[0] + self.window - now

    def check(self, key: str) -> None:
        if not self.allow(key):
            raise RateLimited(key, self.wait(key))
