"""Rests of providers that outlast a process: a small file that every run reads, and none has to believe.

Only what time alone heals is kept: an endpoint that is down, a limit on requests. A refused key or an unknown
model is mended by the user, and a server on this machine is started by the user: neither waits for a clock.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

_REMEMBERED = 3600.0  # seconds for which a rest that is over still doubles the next one
_LONGEST = 24 * 3600.0  # a rest beyond it is a clock that was set back
_LOCK_SECONDS = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Rest:
    """`name` is an endpoint's or a model's; it rests `until` (Unix time), for `seconds` in all."""

    name: str
    until: float
    seconds: float
    reason: str


class Rests:
    """The file of all rests. A disk that cannot be read or written is as if there were none.

    Where `heeded` is false nobody is kept waiting by it: with a single model, resting helps nobody."""

    def __init__(self, path: Path, *, now: Callable[[], float] = time.time, heeded: bool = True) -> None:
        self._path = path
        self._now = now
        self._heeded = heeded

    def known(self, names: Iterable[str]) -> Mapping[str, Rest]:
        """What is remembered of these, by name: rests that go on, and those that are lately over."""
        rests = self._read() if self._heeded else {}
        return {name: rests[name] for name in names if name in rests}

    def left(self, rest: Rest) -> float:
        """Seconds that it still goes on; not above 0 when it is over."""
        return rest.until - self._now()

    def begin(self, name: str, seconds: float, reason: str) -> None:
        self._change({name: Rest(name=name, until=self._now() + seconds, seconds=seconds, reason=reason)}, ())

    def end(self, names: Iterable[str]) -> None:
        """They have answered."""
        ended = set(names)
        if ended & self._read().keys():
            self._change({}, ended)

    def all(self) -> tuple[Rest, ...]:
        """Every rest that goes on, by name."""
        return tuple(rest for _, rest in sorted(self._read().items()) if self.left(rest) > 0)

    def _change(self, new: Mapping[str, Rest], ended: Iterable[str]) -> None:
        with suppress(OSError, Timeout):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(f"{self._path}.lock", timeout=_LOCK_SECONDS):
                rests = {**self._read(), **new}
                for name in ended:
                    rests.pop(name, None)
                written = self._path.with_name(f"{self._path.name}.{os.getpid()}")
                written.write_text(json.dumps([asdict(rest) for rest in rests.values()]))
                written.replace(self._path)

    def _read(self) -> dict[str, Rest]:
        """Those that are not long over, by name."""
        try:
            rows = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        rests = (_rest(row) for row in rows) if isinstance(rows, list) else ()
        return {rest.name: rest for rest in rests if rest and -_REMEMBERED < self.left(rest) < _LONGEST}


def resting(home: Path) -> tuple[Rest, ...]:
    """The endpoints and models that rest now, after failures in any run."""
    return Rests(rests_file(home)).all()


def rests_file(home: Path) -> Path:
    return home / "cache" / "rests.json"


def _rest(row: Any) -> Rest | None:
    try:
        rest = Rest(
            name=str(row["name"]),
            until=float(row["until"]),
            seconds=float(row["seconds"]),
            reason=str(row["reason"]),
        )
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    return rest if math.isfinite(rest.until) and math.isfinite(rest.seconds) else None
