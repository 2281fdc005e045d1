"""Names of files in a run's tree: which stay in it, and which every system can hold and tells apart."""

from __future__ import annotations

import os
import re
import unicodedata
from pathlib import Path, PurePosixPath

from acr_cli.errors import PathRefused

_MAX_NAME = 255
_IGNORED_BY_HFS = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
_UNPORTABLE = re.compile(r'[\\<>:"|?*]|[. ]$')
_WINDOWS_DEVICES = re.compile(
    r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9\u00b9\u00b2\u00b3]) *(\..*)?", re.IGNORECASE
)


def checked_parts(relative: str) -> tuple[str, ...]:
    """The parts of a path that stays in the tree. Pure.

    Raises: PathRefused."""
    if any(ord(c) < 32 or ord(c) == 127 for c in relative):
        raise PathRefused(f"{relative!r} holds a control character.")
    path = PurePosixPath(relative)
    parts = path.parts
    if path.is_absolute() or ".." in parts or not parts or re.match(r"[A-Za-z]:", relative):
        raise PathRefused(f"{relative!r} is not a path inside the repository; give one relative to its root.")
    if any(is_gits_own(part) for part in parts):
        raise PathRefused(f"{relative!r} is git's own; it may not be touched.")
    if any("\ud800" <= c <= "\udc7f" or "\udd00" <= c <= "\udfff" for c in relative):
        raise PathRefused(f"{relative!r} holds what is no character.")
    if any(len(os.fsencode(part)) > _MAX_NAME for part in parts):
        raise PathRefused(f"{relative!r} is too long a name.")
    return parts


def is_gits_own(part: str) -> bool:
    """Whether a name is `.git`, also as a file system that ignores case, some characters or what follows a
    colon would read it. Pure."""
    plain = _IGNORED_BY_HFS.sub("", part).casefold().split(":")[0].rstrip(". ")
    return plain in (".git", "git~1")


def not_there(root: Path, path: Path) -> tuple[Path, tuple[str, ...]]:
    """The folder that a new path begins in, and its parts that are new: a repository's own folders may have
    whatever names they have."""
    folder = root
    for depth, part in enumerate(path.parts):
        if not os.path.lexists(folder / part):
            return folder, path.parts[depth:]
        folder /= part
    return folder.parent, path.parts[-1:]


def is_portable(name: str) -> bool:
    """Whether the name of a file or folder can be had on every system, and be read by who sees it. Pure."""
    return not (
        _UNPORTABLE.search(name)
        or _WINDOWS_DEVICES.fullmatch(name)
        or any(unicodedata.category(c) in ("Cf", "Co", "Zl", "Zp") for c in name)  # what nobody sees
    )


def twin(folder: Path, new: str) -> str:
    """The other name in a folder that a file system could take a new one for; "" where there is none."""
    there = folder.iterdir() if folder.is_dir() else ()
    return next((each.name for each in there if _folded(each.name) == _folded(new)), "")


def _folded(name: str) -> str:
    """A name as file systems compare it that ignore case and how accents are written. Pure."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
