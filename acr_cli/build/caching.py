"""What acr keeps and could make again: listed, and removed unless a run that is at work may need it."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import Timeout

from acr_cli.build.recording import RECORDING
from acr_cli.errors import AcrError
from acr_cli.sandbox import caches
from acr_cli.sandbox.caches import Kept
from acr_cli.settings import Settings
from acr_cli.worktree.beginning import BEGINNING
from acr_cli.worktree.repository import open_repository
from acr_cli.worktree.runs import RunFolder, list_runs, sweep_runs

_HEAVY = ("transcripts", RECORDING, BEGINNING)  # of a run; its patch, events, result and receipt stay


@dataclass(frozen=True, kw_only=True, slots=True)
class Freed:
    """What pruning came to."""

    removed: tuple[Kept, ...]
    left: tuple[tuple[Kept, str], ...]  # what stayed although it was chosen, and why

    @property
    def bytes(self) -> int:
        return sum(kept.bytes for kept in self.removed)


def cached(settings: Settings) -> list[Kept]:
    """All that is kept, the largest first."""
    found = [
        *caches.in_engine(settings.home, os.environ),
        *caches.in_folders(settings.home),
        *_of_runs(settings.home),
        *_traces(settings.home),
    ]
    return sorted(found, key=lambda kept: (-kept.bytes, kept.name))


def prune(settings: Settings, chosen: Sequence[Kept]) -> Freed:
    """Remove these; what a run that is at work may use stays."""
    sweep_runs(settings.home)
    owners = _at_work(settings.home)
    left = [
        (kept, "a run is at work")
        for kept in chosen
        if kept.owner and (owners is None or kept.owner in owners)
    ]
    free = [kept for kept in chosen if kept not in {each for each, _ in left}]
    removed = []
    in_engine = [kept for kept in free if not kept.place.startswith("/")]
    gone = caches.remove_from_engine([kept.place for kept in in_engine], os.environ) if in_engine else set()
    for kept in free:
        why = (
            _removed(settings.home, kept)
            if kept not in in_engine
            else ""
            if kept.place in gone
            else "it is in use"
        )
        if why:
            left.append((kept, why))
        else:
            removed.append(kept)
    return Freed(removed=tuple(removed), left=tuple(left))


def _removed(home: Path, kept: Kept) -> str:
    """Why it could not be removed; "" if it was."""
    try:
        if kept.kind == "run":
            with RunFolder(path=home / "runs" / kept.name).at_rest():
                for name in _HEAVY:
                    _remove(Path(kept.place) / name)
        else:
            caches.remove_folder(kept.place)
    except AcrError:
        return "a run is at work"
    except OSError as error:
        return (error.strerror or str(error)).lower()
    return ""


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _of_runs(home: Path) -> Iterator[Kept]:
    for run in list_runs(home):
        places = [run.path / name for name in _HEAVY]
        size = sum(map(caches.size_of, places))
        if any(os.path.lexists(place) for place in places):
            used = float(run.describe().get("time") or 0.0)
            yield Kept(kind="run", name=run.id, bytes=size, used=used, place=str(run.path))


def _traces(home: Path) -> Iterator[Kept]:
    for trace in sorted((home / "logs").glob("crash-*.txt")):
        status = trace.lstat()
        yield Kept(
            kind="trace", name=trace.name, bytes=status.st_size, used=status.st_mtime, place=str(trace)
        )


def _at_work(home: Path) -> frozenset[str] | None:
    """The owners of what runs that are at work may use; None where that cannot be known of one of them."""
    owners = set()
    for run in list_runs(home):
        if run.describe().get("status") != "running":
            continue
        with suppress(Timeout), run.lock():
            continue  # nobody holds it
        try:
            owners.add(caches.owner_of(open_repository(Path(str(run.describe().get("repository")))).identity))
        except AcrError:
            return None
    return frozenset(owners)


def old_enough(kept: Sequence[Kept], seconds: float) -> list[Kept]:
    """Those that were not used for so long."""
    now = time.time()
    return [each for each in kept if now - each.used >= seconds]
