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
from collections.abc import Iterator, Mapping
from pathlib import Path

LETTERS, TAG, PARTS = 11, 6, 3  # of a part, of the tag that each part begins with, of parts in a key
_MOST = 64 << 20  # bytes of a file that are read, and of what is unpacked from it


def drawn(*, tag: str = "") -> str:
    """A key that is nowhere else in the world; `tag`: of a key that it is looked for with."""
    tag = tag[:TAG] or "".join(secrets.choice("jkqvwxz") for _ in range(TAG))  # rare beside each other
    rest = LETTERS - TAG
    return "".join(
        tag + "".join(secrets.choice(string.ascii_lowercase) for _ in range(rest)) for _ in range(PARTS)
    )


KEY = drawn()
"""The key of the models that tests ask: it goes into one header of their requests, and nowhere else."""

STRAY = drawn(tag=KEY)
"""The key of a provider that no test asks. It goes nowhere at all."""

VARIABLES: Mapping[str, str] = {"KEY_OF_THE_TESTS": KEY, "COHERE_API_KEY": STRAY}
"""In the environment of every test: none of them proposes a provider."""


class Search:
    """What is looked for: some bytes that every text with a key has, and then more that no other text has."""

    def __init__(self, *keys: str) -> None:
        """`keys` have one tag."""
        tag = keys[0][:TAG].encode()
        # Parts begin at 0, 11 and 22: of any base64 text of a key, one begins where four characters do.
        self._tags = (tag, base64.b64encode(tag), tag.hex().encode(), tag.hex().upper().encode())
        self._parts = tuple(needle for key in keys for needle in _needles(key.encode()))

    def hits(self, data: bytes | mmap.mmap) -> bool:
        """Whether bytes hold a part of a key."""
        if all(data.find(tag) < 0 for tag in self._tags):
            return False
        return any(data.find(part) >= 0 for part in self._parts)


def _needles(key: bytes) -> tuple[bytes, ...]:
    """What a text that has the key, or a third of it, has too. Pure."""
    parts = [key[start : start + LETTERS] for start in range(0, len(key), LETTERS)]
    # A base64 text depends on what stands before by 0 to 2 bytes; its ends depend on the neighbours.
    packed = [base64.b64encode(b"\0" * shift + key)[4:28] for shift in range(3)]
    return (*parts, *packed, parts[0].hex().encode(), parts[0].hex().upper().encode())


OURS = Search(KEY, STRAY)


def told(data: bytes | mmap.mmap, search: Search = OURS) -> bool:
    """Whether bytes hold a key, packed or not."""
    return search.hits(data) or any(search.hits(plain) for plain in _unpacked(data))


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


def holding(folder: Path, search: Search = OURS) -> Iterator[Path]:
    """Files and links below a folder whose name, target or content has a key. Links are not followed."""
    for place, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = os.path.join(place, name)  # noqa: PTH118  thousands of times
            if search.hits(os.fsencode(name)) or _in_file(path, search):
                yield Path(path)


def _in_file(path: str, search: Search) -> bool:
    try:
        found = os.lstat(path)
        if stat.S_ISLNK(found.st_mode):
            return search.hits(os.fsencode(os.readlink(path)))  # noqa: PTH115
        if not stat.S_ISREG(found.st_mode) or not found.st_size:
            return False
        with open(path, "rb") as file:  # noqa: PTH123
            if found.st_size <= 1 << 16:
                return told(file.read(), search)
            with mmap.mmap(file.fileno(), min(found.st_size, _MOST), access=mmap.ACCESS_READ) as data:
                return told(data, search)
    except (OSError, ValueError):  # gone meanwhile, or shortened
        return False
