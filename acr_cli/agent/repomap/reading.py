"""Reads many files at once, in processes of their own: a grammar is foreign code that may hang or crash."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO

from acr_cli.agent.repomap.languages import language_of

MOST = 65_535
"""How often a name can be counted in one file."""

_BATCH = 64  # files
_PATIENCE = 20.0  # seconds for one batch, less for a part of it
_LEAST_PATIENCE = 3.0
_FEW = 400  # files that are not worth a second process
# -P: a repository's own modules, in the folder that we stand in, are never imported.
_COMMAND = (sys.executable, "-P", "-m", "acr_cli.agent.repomap")


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """What is kept of one content. `defined`, `used`: names as 64-bit numbers; `counts`: 16 bits a name."""

    digest: bytes
    generated: bool = False
    definitions: str = "[]"  # JSON: [line, text] for each definition
    defined: bytes = b""
    used: bytes = b""
    counts: bytes = b""


Rows = list[tuple[str, Row]]


def digest_of(path: str, source: bytes) -> str:
    """What a content is known by: its bytes, and the language that it is read as. Pure."""
    language = language_of(path)
    name = language.name if language else ""
    return hashlib.blake2b(name.encode() + b"\0" + source, digest_size=16).hexdigest()


def read_all(
    root: Path,
    paths: Sequence[str],
    *,
    processes: int | None = None,
    command: Sequence[str] = _COMMAND,
    patience: float = _PATIENCE,
) -> Iterator[tuple[str, Row]]:
    """Each file's row, in no order; files that vanished, or that a grammar broke on, are left out.

    `command` starts a reader, the root is its last argument; one that takes over `patience` seconds for
    a whole batch is ended."""
    batches = [paths[start : start + _BATCH] for start in range(0, len(paths), _BATCH)]
    number = processes or (1 if len(paths) <= _FEW else min(os.cpu_count() or 1, 8))
    waiting: SimpleQueue[Sequence[str]] = SimpleQueue()
    for batch in batches:
        waiting.put(batch)
    done: SimpleQueue[Rows] = SimpleQueue()
    starting = (*command, str(root))
    readers = [_Reader(starting, patience, waiting, done) for _ in range(min(number, len(batches)))]
    for reader in readers:
        reader.start()
    try:
        for _ in batches:
            yield from done.get()
    finally:
        for reader in readers:
            reader.stop()
        for reader in readers:
            reader.join()


class _Reader(threading.Thread):
    """Hands batches to a process of its own, and starts another where that one breaks."""

    def __init__(
        self,
        command: Sequence[str],
        patience: float,
        waiting: SimpleQueue[Sequence[str]],
        done: SimpleQueue[Rows],
    ) -> None:
        super().__init__(name="acr-map", daemon=True)
        self._command = command
        self._patience = patience
        self._waiting = waiting
        self._done = done
        self._stopped = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None

    def run(self) -> None:
        try:
            while not self._stopped.is_set():
                self._done.put(self._read(self._waiting.get_nowait()))
        except Empty:
            pass
        finally:
            self._end()

    def stop(self) -> None:
        """End soon; what is not read yet stays unread."""
        self._stopped.set()
        if self._process is not None:
            self._process.kill()

    def _read(self, batch: Sequence[str]) -> Rows:
        """The rows of a batch; the one file that breaks the grammar is found by halving, and left out."""
        try:
            return self._ask(batch)
        except (OSError, ValueError):
            self._end()
            half = len(batch) // 2
            if not half or self._stopped.is_set():
                return []
            return [*self._read(batch[:half]), *self._read(batch[half:])]

    def _ask(self, batch: Sequence[str]) -> Rows:
        """Raises: OSError, ValueError when the process has ended, or did not answer in time."""
        process = self._process or self._begin()
        seconds = max(_LEAST_PATIENCE, self._patience * len(batch) / _BATCH)
        watchdog = threading.Timer(seconds, process.kill)
        watchdog.daemon = True
        watchdog.start()
        try:
            _pipe(process.stdin).write(json.dumps(batch).encode() + b"\n")
            _pipe(process.stdin).flush()
            answers = json.loads(_pipe(process.stdout).readline())
        finally:
            watchdog.cancel()
        return [(path, _row(each)) for path, each in zip(batch, answers, strict=True) if each]

    def _begin(self) -> subprocess.Popen[bytes]:
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        return self._process

    def _end(self) -> None:
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            try:
                _pipe(pipe).close()
            except OSError:  # what was not written yet has nobody to go to
                continue
        self._process = None


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise OSError("the process has no pipe")
    return pipe


def _row(answer: list[object]) -> Row:
    digest, generated, shown, *names = answer
    defined, used, counts = (base64.b64decode(str(each)) for each in names)
    return Row(
        digest=bytes.fromhex(str(digest)),
        generated=bool(generated),
        definitions=str(shown),
        defined=defined,
        used=used,
        counts=counts,
    )
