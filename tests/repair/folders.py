"""A sandbox that is a folder and a tree that is a folder: small, real, and without any isolation."""

from __future__ import annotations

import difflib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from acr_cli.protocols import CommandResult, Limits, Recipe


class FolderSession:
    """A session on a copied folder; commands run on the host."""

    def __init__(self, workdir: Path, scratch: Path) -> None:
        self.workdir = str(workdir)
        self.scratch = str(scratch)

    def run(
        self,
        command: Sequence[str] | str,
        *,
        environment: Mapping[str, str] | None = None,
        limits: Limits | None = None,
    ) -> CommandResult:
        argv = ["sh", "-c", command] if isinstance(command, str) else list(command)
        started = time.monotonic()
        seconds = (limits or Limits()).seconds
        try:
            done = subprocess.run(
                argv,
                cwd=self.workdir,
                env={**os.environ, **(environment or {})},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=seconds,
                check=False,
            )
        except FileNotFoundError:
            return CommandResult(exit_code=127, output="not found", seconds=0.0)
        except subprocess.TimeoutExpired:
            return CommandResult(exit_code=137, output="", seconds=seconds, timed_out=True)
        output = done.stdout.decode("utf-8", "replace")
        return CommandResult(exit_code=done.returncode, output=output, seconds=time.monotonic() - started)

    def put(self, files: Mapping[str, bytes]) -> None:
        for path, data in files.items():
            target = Path(self.workdir, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)

    def get(self, path: str) -> bytes | None:
        target = Path(self.workdir, path)
        return target.read_bytes() if target.is_file() else None


class FolderSandbox:
    """Copies the tree into a temporary folder for each session."""

    name = "folder"

    def prepare(self, recipe: Recipe, tree: Path) -> None:
        pass

    @contextmanager
    def open(self, tree: Path) -> Iterator[FolderSession]:
        with tempfile.TemporaryDirectory(prefix="acr-folder-") as place:
            workdir, scratch = Path(place, "tree"), Path(place, "scratch")
            shutil.copytree(tree, workdir, symlinks=True)
            scratch.mkdir()
            yield FolderSession(workdir, scratch)

    def sweep(self) -> tuple[str, ...]:
        return ()

    def describe(self) -> str:
        return "a folder of the host"


class FolderTree:
    """A folder whose states are kept in memory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._states: list[dict[str, str]] = []

    def path(self, relative: str) -> Path:
        return self.root / relative

    def files(self) -> tuple[str, ...]:
        found = (path for path in self.root.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
        return tuple(sorted(path.relative_to(self.root).as_posix() for path in found))

    def checkpoint(self) -> str:
        self._states.append(self._texts())
        return str(len(self._states) - 1)

    def changed(self, since: str) -> tuple[str, ...]:
        before, now = self._states[int(since)], self._texts()
        return tuple(sorted(path for path in {**before, **now} if before.get(path) != now.get(path)))

    def diff(self, since: str) -> str:
        before, now = self._states[int(since)], self._texts()
        return "".join(
            line
            for path in self.changed(since)
            for line in difflib.unified_diff(
                before.get(path, "").splitlines(True),
                now.get(path, "").splitlines(True),
                f"a/{path}",
                f"b/{path}",
            )
        )

    def restore(self, checkpoint: str, paths: Sequence[str] = ()) -> None:
        for path in paths or self.changed(checkpoint):
            self.path(path).write_text(self._states[int(checkpoint)][path], encoding="utf-8")

    def apply(self, patch: str) -> None:
        raise NotImplementedError

    def _texts(self) -> dict[str, str]:
        return {path: self.path(path).read_text(encoding="utf-8") for path in self.files()}


class OpenBudget:
    """A budget with time left and no cap on money."""

    def __init__(self, seconds: float = 600.0) -> None:
        self.remaining_seconds = seconds
        self.spent_usd = 0.0
        self.remaining_usd = float("inf")

    def check(self) -> None:
        pass

    def reserve(self, usd: float) -> None: ...

    def affords(self, usd: float | None) -> None:
        pass

    def charge(self, usd: float) -> None:
        self.spent_usd += usd

    def count_step(self) -> None:
        pass
