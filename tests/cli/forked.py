"""Calls of acr with standard streams that are closed, full, or read by nobody: each in a process of its own.

`python -m tests.cli.forked FOLDER`: FOLDER holds `home` and `repo`, which every call begins with as they
are, and `calls.json`, a list of [name, words, streams]; `results.json` is name -> streams -> what came of it.
The program is loaded once: a process for each call is forked off that, and ends as Python does.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from acr_cli.cli.app import COMMANDS
from acr_cli.cli.main import main
from acr_cli.worktree.runs import list_runs

AS_USUAL = "as usual"
STREAMS: dict[str, str] = {
    AS_USUAL: "",
    "output full": "1 full",
    "nobody reads the output, unbuffered": "1 unread, bare",
    "all closed": "0 closed, 1 closed, 2 closed",
}
"""What is done to the standard streams, by name."""


def called(folder: Path, words: list[str], streams: str) -> dict[str, Any]:
    """One call: its exit code, what it wrote, and what it made of the user's files. Does not return in the
    process that makes the call."""
    for name in ("home", "repo"):
        shutil.rmtree(folder / "now" / name, ignore_errors=True)
        shutil.copytree(folder / name, folder / "now" / name, symlinks=True)
    child = os.fork()
    if child == 0:
        _connect(folder, STREAMS[streams])
        os.chdir(folder / "now" / "repo")
        sys.argv = ["acr", *words]
        sys.exit(main())
    _, status = os.waitpid(child, 0)
    return {
        "code": os.waitstatus_to_exitcode(status),
        "out": (folder / "out").read_text(),
        "err": (folder / "err").read_text(),
        "made": dict(_made(folder / "now")),
        "logs": [path.read_text() for path in (folder / "now" / "home").glob("logs/*")],
    }


def _connect(folder: Path, streams: str) -> None:
    """In the new process: the standard streams as Python would find them."""
    for number, place in enumerate((Path(os.devnull), folder / "out", folder / "err")):
        opened = os.open(place, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    for each in filter(None, streams.split(", ")):
        if each.endswith("full"):
            os.dup2(os.open("/dev/full", os.O_WRONLY), int(each[0]))
        elif each.endswith("unread"):
            read, write = os.pipe()
            os.dup2(write, int(each[0]))
            os.close(read)
    os.closerange(3, 64)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if f"{number} closed" in streams:
            os.close(number)
            setattr(sys, name, None)
            continue
        raw = io.FileIO(number, "w" if number else "r", closefd=False)
        if number == 0:
            buffered: Any = io.BufferedReader(raw)
        else:
            buffered = raw if "bare" in streams else io.BufferedWriter(raw)
        text = io.TextIOWrapper(
            buffered, "utf-8", write_through="bare" in streams, line_buffering=number == 2
        )
        setattr(sys, name, text)


def _made(now: Path) -> Iterator[tuple[str, str]]:
    """Files of the repository and of the config by name, with content where that is always the same; runs."""
    for number, run in enumerate(list_runs(now / "home")):
        yield f"run {number}", str(run.describe().get("status"))
    for path in (now / "home" / "config.toml", *sorted((now / "repo").glob("*"))):
        if path.is_file():
            yield path.name, path.read_text() if path.suffix in (".toml", ".py", ".txt") else ""


def _load() -> None:
    """Import what any command would import first."""
    import_module("acr_cli.build")
    for name in ("rich.progress", "rich.table"):
        import_module(name)
    for name, _ in COMMANDS.values():
        import_module(name)


if __name__ == "__main__":
    where = Path(sys.argv[1])
    _load()
    results: dict[str, dict[str, Any]] = {}
    for name, given, kind in json.loads((where / "calls.json").read_text()):
        results.setdefault(name, {})[kind] = called(where, given, kind)
    (where / "results.json").write_text(json.dumps(results))
