"""What sandboxes keep between runs, so that it can be listed and removed: images, environments, packages."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from acr_cli.errors import SandboxUnavailable
from acr_cli.sandbox.containers import HOME_LABEL, REPOSITORY_LABEL
from acr_cli.sandbox.files import remove_tree


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """One thing that is kept. It can be made again."""

    kind: str  # "image" | "packages" | "environment" | "map" | ...
    name: str
    bytes: int
    used: float  # Unix time of its last use, as far as it is known
    owner: str = ""  # of which repository, see `owner_of`; "": of none in particular
    place: str = ""  # path, or the engine's own name for it


def owner_of(repository: str) -> str:
    """A repository's identity as it stands in names of files and volumes."""
    return hashlib.sha256(os.fsencode(repository)).hexdigest()[:12]


def home_of(home: Path) -> str:
    """A home as it stands in labels: one home's leftovers are not another's."""
    return hashlib.sha256(os.fsencode(home.absolute())).hexdigest()[:16]


def packages_of(home: Path, repository: str) -> Path:
    """The folder of a repository's downloads, made where it is absent; none of another's is ever read."""
    folder = home.absolute() / "cache" / "packages" / owner_of(repository)
    folder.mkdir(parents=True, exist_ok=True)
    os.utime(folder)
    return folder


def note_use(home: Path, image: str) -> None:
    """Remember that an image was used now; an engine does not. A full disk remembers nothing."""
    marks = home / "cache" / "images"
    with contextlib.suppress(OSError):
        marks.mkdir(parents=True, exist_ok=True)
        (marks / image.replace(":", "-")).touch()


def in_folders(home: Path) -> Iterator[Kept]:
    """What lies below `cache` in the home: environments, packages, maps, all else by its folder's name."""
    kinds = {"envs": "environment", "packages": "packages", "maps": "map", "warm": "history"}
    for folder in _folders(home / "cache"):
        for entry in _entries(folder) if folder.name != "images" else ():
            if entry.suffix == ".lock":
                continue
            owned = folder.name in ("envs", "packages")
            yield Kept(
                kind=kinds.get(folder.name, folder.name),
                name=entry.name,
                bytes=size_of(entry),
                used=entry.lstat().st_mtime,
                owner=entry.name.partition("-")[0] if owned else "",
                place=str(entry),
            )


def remove_folder(place: str) -> None:
    """Raises: OSError. An environment that is just being made is waited for."""
    from filelock import FileLock

    path = Path(place)
    if path.is_dir() and not path.is_symlink():
        lock = path.with_name(f"{path.name}.lock")
        with FileLock(lock) if lock.exists() else contextlib.nullcontext():
            remove_tree(path)
        lock.unlink(missing_ok=True)
    else:
        path.unlink(missing_ok=True)


def in_engine(home: Path, environ: Mapping[str, str]) -> list[Kept]:
    """Images and volumes of packages that runs of this home have made; none where no engine answers."""
    from acr_cli.sandbox.engine import best_effort, connect

    try:
        engine = connect(environ)
    except SandboxUnavailable:
        return []
    found: list[Kept] = []
    labelled: dict[str, Any] = {"label": f"{HOME_LABEL}={home_of(home)}"}
    with contextlib.closing(engine.client), best_effort():
        sizes = {
            str(image.id): int(image.attrs.get("Size") or 0) for image in engine.client.images.list(all=True)
        }
        for image in engine.client.images.list(filters=labelled):
            own = int(image.attrs.get("Size") or 0) - sizes.get(str(image.attrs.get("Parent") or ""), 0)
            mark = home / "cache" / "images" / str(image.id).replace(":", "-")
            used = mark.stat().st_mtime if mark.exists() else _seconds(str(image.attrs.get("Created", "")))
            names = [tag for tag in image.tags if tag]
            found.append(
                Kept(
                    kind="image",
                    name=names[0] if names else str(image.short_id),
                    bytes=max(0, own),
                    used=used,
                    owner=owner_of(str(image.labels.get(REPOSITORY_LABEL, ""))),
                    place=str(image.id),
                )
            )
        for usage in engine.client.df().get("Volumes") or []:
            labels = usage.get("Labels") or {}
            if labels.get(HOME_LABEL) == home_of(home) and REPOSITORY_LABEL in labels:
                size = int((usage.get("UsageData") or {}).get("Size") or 0)
                found.append(
                    Kept(
                        kind="packages",
                        name=str(usage["Name"]),
                        bytes=max(0, size),
                        used=_seconds(str(usage.get("CreatedAt", ""))),
                        owner=owner_of(str(labels[REPOSITORY_LABEL])),
                        place=f"volume {usage['Name']}",
                    )
                )
    return found


def remove_from_engine(places: list[str], environ: Mapping[str, str]) -> set[str]:
    """Remove images and volumes by `Kept.place`; those that are gone now. What a container uses stays."""
    import docker.errors
    import requests

    from acr_cli.sandbox.engine import connect

    try:
        engine = connect(environ)
    except SandboxUnavailable:
        return set()
    gone = set()
    with contextlib.closing(engine.client):
        for place in places:
            with contextlib.suppress(docker.errors.APIError, requests.exceptions.RequestException):
                if place.startswith("volume "):
                    engine.client.api.remove_volume(place.removeprefix("volume "))
                else:
                    for tag in engine.client.images.get(place).tags:
                        engine.client.images.remove(tag)
                    with contextlib.suppress(docker.errors.ImageNotFound):  # the last tag took it along
                        engine.client.images.remove(place)
                gone.add(place)
    return gone


def size_of(path: Path) -> int:
    """Bytes of a file, or of all files below a folder; what goes away meanwhile counts nothing."""
    with contextlib.suppress(OSError):
        if not path.is_dir() or path.is_symlink():
            return path.lstat().st_size
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(folder, name)).st_size  # noqa: PTH118  many
    return total


def _folders(place: Path) -> list[Path]:
    return sorted(p for p in place.iterdir() if p.is_dir()) if place.is_dir() else []


def _entries(place: Path) -> list[Path]:
    return sorted(place.iterdir())


def _seconds(stamp: str) -> float:
    """Unix time of what an engine says; now where it says nothing that can be read."""
    try:
        return datetime.fromisoformat(stamp[:19]).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return time.time()
