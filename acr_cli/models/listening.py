"""A stream heard from a thread of its own, so that whoever waits for it can stop waiting.

A read times out when nothing at all arrives. A byte now and then, or the comments by which a proxy keeps a
connection open, put that off for ever; so pieces have a time of their own, and the reply as a whole has one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Generic, TypeVar

T = TypeVar("T")


class _End:
    """Nothing more comes."""


class _Listener(Generic[T]):
    """The thread's side: pieces, then an error or the end."""

    def __init__(self, start: Callable[[], Iterator[T]]) -> None:
        self.pieces: SimpleQueue[T | BaseException | _End] = SimpleQueue()
        self.given_up = Event()
        self._start = start

    def listen(self) -> None:
        try:
            for piece in self._start():
                if self.given_up.is_set():
                    return  # the stream is dropped here, and its connection with it
                self.pieces.put(piece)
        # Whatever ends the thread belongs to the one who waits.
        except BaseException as error:  # noqa: BLE001
            self.pieces.put(error)
        else:
            self.pieces.put(_End())


def heard(start: Callable[[], Iterator[T]], *, piece: float, whole: float) -> Iterator[T]:
    """The pieces of the stream that `start` begins, as they come. `piece` and `whole`: seconds of real time.

    Raises: TimeoutError when a piece is longer in coming than `piece`, or the stream goes on for longer than
    `whole`; and what the stream raises."""
    listener = _Listener(start)
    Thread(target=listener.listen, name="acr-listening", daemon=True).start()
    ends = time.monotonic() + whole
    try:
        while True:
            left = ends - time.monotonic()
            if left <= 0:
                raise TimeoutError
            try:
                said = listener.pieces.get(timeout=min(piece, left))
            except Empty:
                raise TimeoutError from None
            if isinstance(said, _End):
                return
            if isinstance(said, BaseException):
                raise said
            yield said
    finally:
        listener.given_up.set()
