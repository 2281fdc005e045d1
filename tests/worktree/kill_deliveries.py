"""A program that kills deliveries before each thing that they do on disk, recovers, and prints what it found.

Arguments: an empty folder; "deliver", or "recover": then the recovery of a killed delivery is killed as well.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from acr_cli.worktree.delivery import Change, Content, content_of
from acr_cli.worktree.runs import RunFolder

BEFORE = {
    "a.py": b"a",
    "gone/b.py": b"b",
    "pkg/c.py": b"c",
    "swap/d.py": b"d",
    "flip": b"f",
    "other.py": b"o",
}
AFTER = {
    "a.py": b"A",
    "pkg/c.py": b"C",
    "new/er/n.py": b"n",
    "swap": b"s",
    "flip/g.py": b"g",
    "other.py": b"o",
}


CHANGES = {
    f"os.{name}" for name in ("rename", "remove", "link", "symlink", "mkdir", "rmdir", "chmod", "utime")
}


def contents(root: Path) -> dict[str, bytes]:
    files = {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    empty = {
        str(path.relative_to(root)): b"/"
        for path in root.rglob("*")
        if path.is_dir() and not any(path.iterdir())
    }
    return {**files, **empty}


def write(root: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)


def changes(root: Path) -> dict[str, Change]:
    def of(data: bytes | None) -> Content | None:
        return None if data is None else Content(mode="100644", data=data)

    names = sorted({*BEFORE, *AFTER} - {"other.py"})
    return {name: Change(before=of(BEFORE.get(name)), after=of(AFTER.get(name))) for name in names}


def killed_at(number: int, work: Callable[[], Any]) -> bool:
    """Whether the work, done in a child, was killed before its n-th change of something on disk."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    seen = 0

    def count(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal seen
        if event in CHANGES or (event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)):
            seen += 1
            if seen == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    work()
    os._exit(0)


def main(place: Path, *, twice: bool) -> None:
    root, run = place / "root", RunFolder(path=place / "run")
    folder = run.path
    found: dict[str, int] = {}
    number, again, going = 1, 1, True
    while going:
        for old in (root, folder):
            shutil.rmtree(old, ignore_errors=True)
        write(root, BEFORE)
        folder.mkdir()
        going = killed_at(number, lambda: run.deliver(root, changes(root), applied=True))
        if twice and going and killed_at(again, run.recover):
            again += 1
        else:
            number, again = number + (5 if twice else 1), 1
        recovered = run.recover()
        now = contents(root)
        word = {json.dumps(sorted(BEFORE)): "before", json.dumps(sorted(AFTER)): "after"}.get(
            json.dumps(sorted(now)), f"torn: {sorted(now)}"
        )
        if word in ("before", "after") and now != (BEFORE if word == "before" else AFTER):
            word = f"torn: {now}"
        if run.describe() != ({"applied": True} if word == "after" else {}):
            word += f", and the run says {run.describe()}"
        if left := sorted({path.name for path in folder.iterdir()} - {"run.json", "run.json.new"}):
            word += f", left in the run: {left}"
        if recovered and word != "after":
            word += ", reported as done"
        found[word] = found.get(word, 0) + 1
    assert content_of(root / "other.py") == Content(mode="100644", data=b"o")
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), twice=sys.argv[2] == "recover")
