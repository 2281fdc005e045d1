"""Interrupts held back, while something is done that must not be left half done."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from types import FrameType

_HELD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def uninterrupted(*, heed: bool = True, patience: float = inf) -> Iterator[None]:
    """Holds Ctrl-C, SIGTERM and SIGHUP back until the end of the block; without `heed` they come too late.

    What comes after `patience` seconds is held back no more. A mask would not do: another thread may take the
    signal, and Python handles it in this one."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []
    until = time.monotonic() + patience

    def note(number: int, frame: FrameType | None) -> None:
        before = handlers[signal.Signals(number)]
        if time.monotonic() > until and callable(before):
            before(number, frame)
        else:
            arrived.append(number)

    handlers = {held: signal.getsignal(held) for held in _HELD}
    try:
        for held in _HELD:  # inside, for one that comes in between leaves by the end of this block, too
            signal.signal(held, note)
        yield
    finally:
        for held, handler in handlers.items():
            signal.signal(held, handler or signal.SIG_DFL)
        for number in arrived if heed else ():
            signal.raise_signal(number)
