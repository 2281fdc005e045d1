"""The volume that a session's tree lies in.

Files go in and out through a container of its own, which runs only to say what lies in the volume, where this
user cannot see the engine's files.
"""

from __future__ import annotations

import contextlib
import io
import os
import tarfile
import tempfile
import threading
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import IO, Any

from acr_cli.errors import PathRefused, SandboxBroken
from acr_cli.interrupts import uninterrupted
from acr_cli.protocols import Limits
from acr_cli.sandbox.containers import PATIENCE, ROOT, Labels, making, remove_container, walls
from acr_cli.sandbox.disk import Disk, Folders, Size
from acr_cli.sandbox.engine import FULL, Engine, best_effort, broken
from acr_cli.sandbox.files import add_file, add_folder, mtime_after, only_file
from acr_cli.sandbox.watcher import PROGRAM, Blind, Watcher

_CHUNK = 1 << 20
_BLOCK = 4096
_LIMITS = Limits(memory_bytes=128 * 1024**2, pids=16)


class Volume:
    """A volume mounted at /acr, and the container through which files go in and out."""

    def __init__(self, engine: Engine, labels: Labels, image: str) -> None:
        self.engine, self.labels, self.image = engine, labels, image
        self.name = labels.name()
        self.unwatched = False  # the image has no programs to look with
        self._holder_name = f"{self.name}-files"
        self._disk: Disk | None = None
        self._far = False
        self._lock = threading.Lock()
        self._removed = False
        self._running: set[str] = set()
        self._watcher: Watcher | None = None
        self._put = Size(bytes=0, files=0)  # by acr itself

    def __enter__(self) -> Volume:
        try:
            with broken("make a volume"):
                with making(self._remove_volume):
                    self.engine.client.volumes.create(name=self.name, labels=self.labels())
                with making(partial(remove_container, self.engine, self._holder_name)):
                    self._holder = self.engine.client.containers.create(
                        self.image,
                        **PROGRAM,
                        name=self._holder_name,
                        labels=self.labels(),
                        network_mode="none",
                        mounts=[self.mount()],
                        healthcheck={"test": ["NONE"]},
                        **walls(self.engine, _LIMITS),
                    )
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def remove(self) -> None:
        """With the containers of commands that another thread still waits for; from now on none begins."""
        with uninterrupted(patience=PATIENCE):
            with self._lock:
                self._removed = True
            if self._watcher is not None:
                self._watcher.close()
            for name in (*self._running, self._holder_name):
                remove_container(self.engine, name)
            self._remove_volume()

    def _remove_volume(self) -> bool:
        with best_effort():
            self.engine.client.api.remove_volume(self.name)
            return True
        return False

    @contextlib.contextmanager
    def beginning(self, container: str) -> Iterator[None]:
        """While the container of a command is made; without the volume the engine would make another.

        Raises: SandboxBroken when it is gone."""
        with self._lock:
            if self._removed:
                raise SandboxBroken("The session of this command has ended.")
            self._running.add(container)
            yield

    def over_with(self, container: str) -> None:
        """The container is removed."""
        self._running.discard(container)

    def mount(self) -> Any:
        from docker.types import Mount

        return Mount(target=ROOT, source=self.name, type="volume", no_copy=True)

    def begin(self) -> None:
        """Before a command: note what lies here, where this user sees it. Raises: SandboxBroken."""
        if self._disk is not None or self._far:
            return
        with broken("look at a volume"):
            folder = Path(self.engine.client.volumes.get(self.name).attrs.get("Mountpoint") or "")
        # Far away, in a machine of its own, or closed to this user.
        if folder.is_absolute() and os.access(folder, os.R_OK | os.X_OK):
            self._disk = Disk(Folders(folder, hint=FULL))
        else:
            self._far = True

    def over(self, limits: Limits) -> bool:
        """Whether the commands together have written more than allowed. Raises: SandboxBroken."""
        if self.unwatched:
            return False
        try:
            if self._disk is None:
                # Only now, so that commands that are soon over do not wait for it.
                self._watcher = Watcher(self.engine, self._holder_name)
                self._disk = Disk(self._watcher, begun=self._put)
            return self._disk.over(limits)
        except Blind:
            self.unwatched = True
            return False

    @contextlib.contextmanager
    def filling(self) -> Iterator[tarfile.TarFile]:
        """An archive that is unpacked at /acr when the context is left; paths in it are relative to /acr."""
        with tempfile.TemporaryFile() as file:
            with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
                yield archive
                end = file.tell()
                self._put = _with(self._put, archive)
            # Without the padding to a whole record, on which Podman hangs up.
            file.truncate(end + 2 * tarfile.BLOCKSIZE)
            file.seek(0)
            self._unpack(file)

    def _unpack(self, file: IO[bytes]) -> None:
        with broken("take files"):
            self._holder.put_archive(ROOT, iter(lambda: file.read(_CHUNK), b""))

    def put(self, files: Mapping[tuple[str, ...], bytes]) -> None:
        """Write files, each under its path's components below /acr; the mode of what stands there is kept."""
        with self.filling() as archive:
            made: set[tuple[str, ...]] = set()
            for parts, data in files.items():
                if self._folders(parts) is None:
                    raise PathRefused(f"{'/'.join(parts[1:])!r} cannot be written: a link is in the way.")
                for depth in range(2, len(parts)):
                    folder = parts[:depth]
                    if folder not in made and self._status(folder) is None:
                        add_folder(archive, "/".join(folder))
                    made.add(folder)
                before = self._status(parts) or _Status(mode=0o644, mtime=0.0)
                changed = mtime_after(before.mtime)
                add_file(archive, "/".join(parts), data, mode=before.mode & 0o777 | 0o600, mtime=changed)

    def get(self, parts: Sequence[str]) -> bytes | None:
        """A regular file's bytes, or None; no link is followed."""
        import docker.errors

        if not self._folders(parts):
            return None
        with broken("read a file"):
            try:
                stream, _ = self._holder.get_archive(f"{ROOT}/{'/'.join(parts)}", chunk_size=_CHUNK)
            except docker.errors.NotFound:
                return None
            with contextlib.closing(_Stream(stream)) as file:
                return only_file(file)

    def _folders(self, parts: Sequence[str]) -> bool | None:
        """Whether the folders on the way to a path are all there; None where one is a link or a file."""
        for depth in range(2, len(parts)):
            status = self._status(parts[:depth])
            if status is None:
                return False
            if not status.mode & _GO_FOLDER:
                return None
        return True

    def _status(self, parts: Sequence[str]) -> _Status | None:
        """What stands at a path; None when there is nothing."""
        import docker.errors

        with broken("look at a file"):
            try:
                stream, status = self._holder.get_archive(f"{ROOT}/{'/'.join(parts)}")
            except docker.errors.NotFound:
                return None
        _Stream(stream).close()
        known = status or {}
        return _Status(mode=int(known["mode"]), mtime=_seconds(str(known["mtime"])))


def _with(before: Size, archive: tarfile.TarFile) -> Size:
    """What lies in a volume once an archive is unpacked there, in blocks as file systems have them."""
    members = archive.getmembers()
    blocks = sum(1 if member.isdir() else -(-member.size // _BLOCK) for member in members)
    return Size(bytes=before.bytes + blocks * _BLOCK, files=before.files + len(members))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Status:
    mode: int  # as Go's FileMode: permissions in the low nine bits, kinds in the high ones
    mtime: float


_GO_FOLDER = 1 << 31


def _seconds(stamp: str) -> float:
    """Unix time of an RFC 3339 stamp with up to nine decimals. Pure."""
    whole = stamp[:19]
    return datetime.fromisoformat(whole).replace(tzinfo=UTC).timestamp()


class _Stream(io.RawIOBase):
    """A stream of pieces as a file that can be read forwards."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._left:
            self._left = next(self._pieces, b"")
        size = min(len(buffer), len(self._left))
        buffer[:size] = self._left[:size]
        self._left = self._left[size:]
        return size

    def close(self) -> None:
        """Let go of an answer that is not read to its end."""
        if isinstance(self._pieces, Generator):
            self._pieces.close()
        super().close()
