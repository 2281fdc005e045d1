"""Lines of files that match a pattern: found by ripgrep where the machine has it, by grep, or by comparing.

None of the three can be sent into endless backtracking by a pattern. Files are always named one by one, so
that a program looks into no folder, follows no link and reads no ignore file of its own.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from acr_cli.errors import BadReply

PROGRAMS = ("rg", "grep")
"""In the order in which they are taken."""

_BATCH = 500  # files for one call of a program
_SECONDS = 20.0
_IN_ONE_FILE = 60  # lines
_LONGEST = 300  # characters of a line
_READABLE = 1_000_000  # bytes; a longer file is left out where no program is at hand
_OPTIONS = {
    "rg": [
        *("--no-config", "--no-messages", "--no-heading", "--color=never", "--no-ignore", "--hidden"),
        *("--no-mmap", "-nH0", f"-m{_IN_ONE_FILE}", "--max-columns=2000", "--max-columns-preview"),
    ],
    "grep": ["-nIHsZ", f"-m{_IN_ONE_FILE}", "-E"],
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Hit:
    """One line that matches; `number` from 1."""

    path: str
    number: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.number}:{self.text[:_LONGEST]}"


def search(
    root: Path, paths: Sequence[str], pattern: str, *, most: int, programs: Sequence[str] = PROGRAMS
) -> list[Hit]:
    """Hits in the order of the paths, about the first `most` of them or some more; a pattern that is no
    regular expression is taken literally. Raises: BadReply, for the model to read."""
    if not pattern or "\0" in pattern:
        raise BadReply("There is nothing to search for in the pattern.")
    if re.search(r"[\ud800-\udfff]", pattern):
        raise BadReply("The pattern holds what is no character.")
    paths = [path for path in paths if path.isprintable()]  # no other can be opened
    program = next((found for name in programs if (found := shutil.which(name))), None)
    if program is None:
        return _compared(root, paths, pattern, most)
    hits = _all(program, root, paths, pattern, most, literally=False)
    if hits is None:
        hits = _all(program, root, paths, pattern, most, literally=True)
    return hits or []


def _all(
    program: str, root: Path, paths: Sequence[str], pattern: str, most: int, *, literally: bool
) -> list[Hit] | None:
    """None for a pattern that the program cannot read."""
    hits: list[Hit] = []
    for start in range(0, len(paths), _BATCH):
        some = _run(program, root, paths[start : start + _BATCH], pattern, literally=literally)
        if some is None:
            return None
        hits += some
        if len(hits) > most:
            break
    return hits


def _run(
    program: str, root: Path, paths: Sequence[str], pattern: str, *, literally: bool
) -> list[Hit] | None:
    name = Path(program).name
    options = [option for option in _OPTIONS[name] if not (literally and option == "-E")]
    if name == "grep" and not literally:
        pattern = pattern.replace(r"\d", "[0-9]").replace(r"\D", "[^0-9]")
    how = [*options, *(["-F"] if literally else []), "-e", pattern]
    argv = [program, *how, "--", *(f"./{path}" for path in paths)]
    environment = {"PATH": os.defpath, "LC_ALL": "C.UTF-8"}
    try:
        done = subprocess.run(
            argv, cwd=root, env=environment, capture_output=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise BadReply("The search took too long; name a narrower glob.") from None
    if done.returncode > 1 and not done.stdout:
        return None
    places = {path: place for place, path in enumerate(paths)}
    hits = [hit for line in done.stdout.split(b"\n") if (hit := _hit(line)) and hit.path in places]
    return sorted(hits, key=lambda hit: (places[hit.path], hit.number))


def _hit(line: bytes) -> Hit | None:
    path, _, rest = line.partition(b"\0")
    number, _, text = rest.partition(b":")
    if not number.isdigit():
        return None
    return Hit(
        path=os.fsdecode(path.removeprefix(b"./")),
        number=int(number),
        text=text.rstrip(b"\r").decode("utf-8", "replace"),
    )


def _compared(root: Path, paths: Sequence[str], pattern: str, most: int) -> list[Hit]:
    """Lines that hold one of the pattern's alternatives as it is written."""
    words = [re.sub(r"\\([^\w\s])", r"\1", part) for part in pattern.split("|") if part]
    hits: list[Hit] = []
    for path in paths:
        try:
            data = (root / path).read_bytes() if (root / path).stat().st_size <= _READABLE else b"\0"
        except OSError:
            continue
        if b"\0" in data[:8192]:
            continue
        lines = data.decode("utf-8", "replace").splitlines()
        found = (n for n, line in enumerate(lines, 1) if any(word in line for word in words))
        hits += [Hit(path=path, number=n, text=lines[n - 1]) for n in found][:_IN_ONE_FILE]
        if len(hits) > most:
            break
    return hits
