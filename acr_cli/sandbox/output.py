"""What is kept of a command's output: head and tail, however much it prints."""

from __future__ import annotations


class HeadAndTail:
    """Takes bytes and keeps at most about `limit` of them: the first half, and the last."""

    def __init__(self, limit: int) -> None:
        self._half = max(1, limit // 2)
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    def add(self, data: bytes) -> None:
        self._total += len(data)
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data[-self._half :]
        # Trimmed by the half only, so that many small pieces do not each move the whole tail.
        if len(self._tail) > 2 * self._half:
            del self._tail[: -self._half]

    @property
    def truncated(self) -> bool:
        return self._total > 2 * self._half

    def text(self) -> str:
        """Decoded as UTF-8; a line in the middle says how much is left out."""
        tail = bytes(self._tail[-self._half :])
        left_out = self._total - len(self._head) - len(tail)
        middle = f"\n... {left_out:,} bytes left out ...\n".encode() if left_out else b""
        return (bytes(self._head) + middle + tail).decode("utf-8", errors="replace")
