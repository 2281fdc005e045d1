"""Two invented keys, drawn anew for each session, and the search for them in all that acr writes and sends.

A key is lower-case letters alone: no shape that redaction knows, and the same text in JSON, in URLs and in
shells. It is searched for in parts, so that a line break or a shortened copy hides nothing, in base64, in hex
and in what is compressed with gzip, zlib (objects of git) or zip.
"""

from __future__ import annotations

import base64
import io
import mmap
import os
import secrets
import stat
import string
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

PART = 11  # letters: no text has them in this order by chance
_PARTS = 3
_MOST = 64 << 20  # bytes of a file that are read, and of what is unpacked from it


def drawn() -> str:
    """A key that is nowhere else in the world."""
    return "".join(secrets.choice(string.ascii_lowercase) for _ in range(PART * _PARTS))


KEY = drawn()
"""The key of the models that tests ask: it goes into one header of their requests, and nowhere else."""

STRAY = drawn()
"""The key of a provider that no test asks. It goes nowhere at all."""

VARIABLES: Mapping[str, str] = {"KEY_OF_THE_TESTS": KEY, "COHERE_API_KEY": STRAY}
"""In the environment of every test: none of them proposes a provider."""


def needles(key: str) -> tuple[bytes, ...]:
    """What a text that has the key, or a third of it, has too. Pure."""
    raw = key.encode()
    parts = [raw[start : start + PART] for start in range(0, len(raw), PART)]
    # A base64 text depends on what stands before by 0 to 2 bytes; its ends depend on the neighbours.
    packed = [base64.b64encode(b"\0" * shift + raw)[4:28] for shift in range(3)]
    texts = [*parts, *packed, parts[0].hex().encode(), parts[0].hex().upper().encode()]
    return tuple(texts)


_NEEDLES = (*needles(KEY), *needles(STRAY))


def told(data: bytes | mmap.mmap, sought: Iterable[bytes] = _NEEDLES) -> bool:
    """Whether bytes hold a key, packed or not."""
    return _holds(data, sought) or any(_holds(plain, sought) for plain in _unpacked(data))


def _holds(data: bytes | mmap.mmap, sought: Iterable[bytes]) -> bool:
    return any(data.find(needle) >= 0 for needle in sought)


def _unpacked(data: bytes | mmap.mmap) -> Iterator[bytes]:
    """What is compressed as a whole, and the members of a zip archive."""
    head = bytes(data[:2])
    if head == b"\x1f\x8b" or (head[:1] == b"\x78" and head[1:] in b"\x01\x5e\x9c\xda"):
        try:
            yield zlib.decompressobj(47).decompress(bytes(data[:_MOST]), _MOST)
        except zlib.error:
            return
    elif head == b"PK":
        try:
            with zipfile.ZipFile(io.BytesIO(bytes(data[:_MOST]))) as archive:
                for member in archive.infolist():
                    if member.file_size < _MOST:
                        yield archive.read(member)
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, zlib.error):
            return


def holding(folder: Path, sought: Iterable[bytes] = _NEEDLES) -> Iterator[Path]:
    """Files and links below a folder whose name, target or content has a key. Links are not followed."""
    for place, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = os.path.join(place, name)  # noqa: PTH118  thousands of times
            if _holds(os.fsencode(name), sought) or _in_file(path, sought):
                yield Path(path)


def _in_file(path: str, sought: Iterable[bytes]) -> bool:
    try:
        found = os.lstat(path)
        if stat.S_ISLNK(found.st_mode):
            return _holds(os.fsencode(os.readlink(path)), sought)  # noqa: PTH115
        if not stat.S_ISREG(found.st_mode) or not found.st_size:
            return False
        with open(path, "rb") as file:  # noqa: PTH123
            if found.st_size <= 1 << 16:
                return told(file.read(), sought)
            with mmap.mmap(file.fileno(), min(found.st_size, _MOST), access=mmap.ACCESS_READ) as data:
                return told(data, sought)
    except (OSError, ValueError):  # gone meanwhile, or shortened
        return False
