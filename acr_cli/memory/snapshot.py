"""What was learnt from the journal up to some row, in one file, so that a new process need not read it all.

A cache and nothing more: it names the journal, its revision and the half-life that it was made from, and is
ignored when any of them differs, when the file is not whole, or when rows came and left since. The vectors
are mapped, not read. A damaged vector can hide a neighbour and cannot invent one: whoever is found is
compared again with the journal's own vector.

The file: a line of JSON (what follows, and its CRC-32), the sums as JSON, then for each shelf its sequences
(int64) and unit vectors (float32), both little-endian.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acr_cli.memory.search import VectorIndex
from acr_cli.memory.sums import Decay, Key, Sum, Sums, Weights
from acr_cli.memory.view import Span

if TYPE_CHECKING:
    import numpy as np

FILE = "snapshot.bin"
FORMAT = 1
HEAD = 1 << 20  # bytes of the first line at most
ALIGNMENT = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class Snapshot:
    """What was learnt from the rows of a span, evicted ones included."""

    span: Span
    sums: Sums
    vectors: VectorIndex


def write(folder: Path, snapshot: Snapshot, decay: Decay) -> None:
    """Replace the file whole. Raises: OSError."""
    import numpy as np

    sums = [[*key, asdict(entry)] for key, entry in snapshot.sums.items()]
    body = json.dumps(sums, separators=(",", ":")).encode()
    shelves = [shelf for shelf in snapshot.vectors.shelves() if shelf[2]]
    head: dict[str, Any] = {
        "format": FORMAT,
        "order": sys.byteorder,
        "span": asdict(snapshot.span),
        "half_life": decay.half_life,
        "body": [len(body), zlib.crc32(body)],
        "shelves": [[name, len(rows), int(parts[0].shape[1])] for name, rows, parts in shelves],
    }
    text = json.dumps(head, separators=(",", ":")).encode()
    handle, name = tempfile.mkstemp(prefix=f"{FILE}.", dir=folder)  # 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text + b" " + str(zlib.crc32(text)).encode() + b"\n")
            file.write(body)
            for _, sequences, parts in shelves:
                _pad(file)
                file.write(np.ascontiguousarray(sequences).tobytes())
                _pad(file)
                for part in parts:
                    file.write(np.ascontiguousarray(part).data)
        Path(name).replace(folder / FILE)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def _pad(file: Any) -> None:
    file.write(b"\0" * (-file.tell() % ALIGNMENT))


def remove(folder: Path) -> None:
    """Take it away, and what an interrupted `write` has left. Raises: OSError."""
    for path in folder.glob(f"{FILE}*"):
        path.unlink(missing_ok=True)


def read(folder: Path, decay: Decay) -> Snapshot | None:
    """What is there, or None where there is nothing, or nothing that was made as this process would."""
    path = folder / FILE
    found = _head(path)
    if found is None or found[0]["half_life"] != decay.half_life:
        return None
    head, start = found
    length, checksum = head["body"]
    try:
        with path.open("rb") as file:
            file.seek(start)
            body = file.read(length)
        if zlib.crc32(body) != checksum:
            return None
        sums = {Key(*key): _sum(entry) for *key, entry in json.loads(body)}
        vectors = _map(path, start + length, head["shelves"])
        return Snapshot(span=Span(**head["span"]), sums=sums, vectors=vectors)
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def _sum(entry: Mapping[str, Any]) -> Sum:
    return Sum(**{**entry, "weights": Weights(**entry["weights"])})


def _map(path: Path, offset: int, shelves: list[list[Any]]) -> VectorIndex:
    """Raises: ValueError, OSError when the file is too short."""
    import numpy as np

    vectors = VectorIndex()
    if not shelves:
        return vectors
    whole: np.ndarray[Any, np.dtype[np.uint8]] = np.memmap(path, dtype=np.uint8, mode="r")
    for embedder, rows, size in shelves:
        offset += -offset % ALIGNMENT
        sequences = whole[offset : offset + 8 * rows].view(np.int64)
        offset += 8 * rows
        offset += -offset % ALIGNMENT
        matrix = whole[offset : offset + 4 * rows * size].view(np.float32).reshape(rows, size)
        offset += 4 * rows * size
        vectors.load(embedder, sequences, matrix)
    if offset != len(whole):
        raise ValueError("the file has another length than its head says")
    return vectors


def _head(path: Path) -> tuple[dict[str, Any], int] | None:
    """The first line and where it ends."""
    try:
        with path.open("rb") as file:
            line = file.readline(HEAD)
        text, _, checksum = line.rstrip(b"\n").rpartition(b" ")
        if not line.endswith(b"\n") or int(checksum) != zlib.crc32(text):
            return None
        head = json.loads(text)
    except (OSError, ValueError):
        return None
    if not isinstance(head, dict) or (head.get("format"), head.get("order")) != (FORMAT, sys.byteorder):
        return None
    return head, len(line)
