"""One container for one command, and the volume that its tree lies in."""

from __future__ import annotations

import contextlib
import io
import os
import secrets
import tarfile
import tempfile
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from acr_cli.errors import PathRefused, SandboxBroken
from acr_cli.protocols import CommandResult, Limits
from acr_cli.sandbox import owner
from acr_cli.sandbox.disk import Disk, said, watching
from acr_cli.sandbox.engine import Engine, best_effort, broken
from acr_cli.sandbox.files import SANDBOX_ID, add_file, add_folder, mtime_after, only_file
from acr_cli.sandbox.output import HeadAndTail

if TYPE_CHECKING:
    from docker.models.containers import Container
    from docker.types import CancellableStream

ROOT = "/acr"
HOME = "/home/acr"
RUN_LABEL, OWNER_LABEL, HOME_LABEL = "acr.run", "acr.owner", "acr.home"
REPOSITORY_LABEL = "acr.repository"
_KILLED = 137
_REMOVED = ("gone", "removing", "dead")  # states of a container that is being removed, by an engine's words
_LAST_WORDS = 10.0  # seconds for the output that is still on its way
_CHUNK = 1 << 20
_USER = f"{SANDBOX_ID}:{SANDBOX_ID}"
_SMALLEST_MEMORY = 6 * 1024**2  # the engine's own


@dataclass(frozen=True, kw_only=True, slots=True)
class Labels:
    """Says whose the containers and volumes of a run are."""

    run: str
    home: str

    def __call__(self) -> dict[str, str]:
        return {RUN_LABEL: self.run, OWNER_LABEL: str(owner.current()), HOME_LABEL: self.home}

    def name(self) -> str:
        run = "".join(c if c.isalnum() and c.isascii() else "-" for c in self.run)
        return f"acr-{run}-{secrets.token_hex(4)}"


class Volume:
    """A volume mounted at /acr, and a container that never runs, through which files go in and out."""

    def __init__(self, engine: Engine, labels: Labels, image: str) -> None:
        self.engine, self.labels, self.image = engine, labels, image
        self.name = labels.name()
        self._disk: Disk | None = None

    def __enter__(self) -> Volume:
        try:
            with broken("make a volume"):
                self.engine.client.volumes.create(name=self.name, labels=self.labels())
                self._holder = self.engine.client.containers.create(
                    self.image,
                    command=["true"],
                    entrypoint=[],
                    name=f"{self.name}-files",
                    labels=self.labels(),
                    network_mode="none",
                    mounts=[self.mount()],
                    healthcheck={"test": ["NONE"]},
                )
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def remove(self) -> None:
        remove_container(self.engine, f"{self.name}-files")
        with best_effort():
            self.engine.client.api.remove_volume(self.name, force=True)

    def mount(self) -> Any:
        from docker.types import Mount

        return Mount(target=ROOT, source=self.name, type="volume", no_copy=True)

    def disk(self) -> Disk | None:
        """What commands write here, from the first call on; None where the engine's files are not seen."""
        if self._disk is None:
            with broken("look at a volume"):
                folder = Path(self.engine.client.volumes.get(self.name).attrs.get("Mountpoint") or "")
            # Far away, in a machine of its own, or closed to this user.
            if folder.is_absolute() and os.access(folder, os.R_OK | os.X_OK):
                self._disk = Disk((folder,))
        return self._disk

    @contextlib.contextmanager
    def filling(self) -> Iterator[tarfile.TarFile]:
        """An archive that is unpacked at /acr when the context is left; paths in it are relative to /acr."""
        with tempfile.TemporaryFile() as file:
            with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
                yield archive
                end = file.tell()
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


def remove_container(engine: Engine, name: str) -> None:
    """Kill and remove, with the unnamed volumes that its image asked for; one that is gone is no error."""
    with best_effort():
        engine.client.api.remove_container(name, force=True, v=True)


# --- one command ------------------------------------------------------------------------------------------


def walls(engine: Engine, limits: Limits) -> dict[str, Any]:
    """What every command of a session runs behind. Pure."""
    memory = max(limits.memory_bytes, _SMALLEST_MEMORY)
    return {
        "user": _USER,
        "read_only": True,
        "cap_drop": ["ALL"],
        # exec: tests compile programs there and run them, which the engine forbids by default.
        "tmpfs": {
            "/tmp": f"rw,exec,nosuid,nodev,mode=1777,size={memory}",  # noqa: S108  the container's own
            # Podman knows no owner here: anybody inside may write, and nobody but our user is.
            HOME: f"rw,exec,nosuid,nodev,mode=0777,size={memory}",
        },
        **bounds(engine, limits),
    }


def bounds(engine: Engine, limits: Limits) -> dict[str, Any]:
    """The limits alone, for installing, which needs to write everywhere. Pure."""
    memory = max(limits.memory_bytes, _SMALLEST_MEMORY)
    return {
        "security_opt": ["no-new-privileges"],
        "mem_limit": memory,
        "memswap_limit": memory,
        "pids_limit": limits.pids,
        "nano_cpus": int(min(limits.cpus, engine.cpus) * 1e9),
        "init": engine.init,
    }


@contextlib.contextmanager
def finished(
    volume: Volume, argv: Sequence[str], *, limits: Limits, mounts: Sequence[Any] = (), **options: Any
) -> Iterator[tuple[Container, CommandResult]]:
    """A container that has run one command on the volume, and how it went; removed when the context is left.

    Raises: SandboxBroken."""
    from docker.types import LogConfig

    engine, name = volume.engine, volume.labels.name()
    try:
        with broken("run a command"):
            container = engine.client.containers.create(
                volume.image,
                # An entry point of the image would take the command for its arguments.
                entrypoint=argv[0],
                command=list(argv[1:]),
                name=name,
                labels=volume.labels(),
                mounts=[volume.mount(), *mounts],
                working_dir=f"{ROOT}/work",
                healthcheck={"test": ["NONE"]},
                # Read while it is written, and kept nowhere: a log file on the engine's disk could fill it.
                log_config=LogConfig(type=LogConfig.types.NONE),
                **options,
            )
            result = _run(volume, container, limits)
        yield container, result
    finally:
        remove_container(engine, name)


def _run(volume: Volume, container: Container, limits: Limits) -> CommandResult:
    import docker.errors

    disk = volume.disk()
    output = HeadAndTail(limits.output_bytes)
    stream = None
    begun = time.monotonic()
    try:
        try:
            stream = container.attach(stream=True, logs=False, stdout=True, stderr=True)
            container.start()
        except docker.errors.APIError as error:
            explanation = str(error.explanation or error)
            if code := _cannot_execute(explanation):
                return CommandResult(exit_code=code, output=explanation, seconds=0.0)
            raise
        reader = threading.Thread(target=_read, args=(stream, output), daemon=True)
        reader.start()
        with watching(lambda: disk is not None and disk.over(limits), lambda: _kill(container)) as written:
            in_time = _wait(volume.engine, container, limits.seconds)
        seconds = time.monotonic() - begun
        if not in_time:
            _kill(container)
        reader.join(_LAST_WORDS)
    finally:
        if stream is not None:
            _hang_up(stream)
    state = _state(container)
    if written.error is not None:
        raise written.error
    if written.over:
        output.add(said(limits))
    return CommandResult(
        exit_code=int(state["ExitCode"]) if in_time and not written.over else _KILLED,
        output=output.text(),
        seconds=seconds,
        timed_out=not in_time,
        out_of_memory=bool(state.get("OOMKilled")),
        out_of_disk=written.over,
        truncated=output.truncated,
    )


def _state(container: Container) -> Any:
    """How a container has ended.

    Raises: SandboxBroken when somebody else has removed it: what ended so says nothing of the command."""
    import docker.errors

    try:
        container.reload()
    except docker.errors.NotFound:
        status = "gone"
    else:
        status = container.attrs["State"].get("Status", "")
    if status in _REMOVED:
        raise SandboxBroken(
            "Somebody else has removed the container in which a command was running.",
            hint="Leave containers whose names begin with acr- alone while acr runs.",
        )
    return container.attrs["State"]


def _kill(container: Container) -> None:
    import docker.errors

    with contextlib.suppress(docker.errors.APIError):  # it may just have ended
        container.kill()
    container.wait(timeout=60)


def _cannot_execute(explanation: str) -> int:
    """As a shell would say it: 127 where there is no such program, 126 where it cannot run, else 0."""
    text = explanation.lower()
    if "executable file not found" in text or "no such file or directory" in text:
        return 127
    return 126 if "permission denied" in text or "exec format error" in text else 0


def _wait(engine: Engine, container: Container, seconds: float) -> bool:
    """Whether the command ended in time. An engine that no longer answers is an error, not a long command."""
    import requests

    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        try:
            container.wait(timeout=left)
            return True
        except (requests.exceptions.ConnectionError, requests.exceptions.ReadTimeout):
            # Both are how a time-out looks, and the first is also how a dead engine looks: it is asked.
            engine.client.ping()
    return False


def _hang_up(stream: CancellableStream[bytes]) -> None:
    """End the stream, and its reader with it; and close the connection, which its own `close` leaves open."""
    import docker.errors

    with contextlib.suppress(docker.errors.DockerException, OSError):
        stream.close()
    with contextlib.suppress(OSError):
        stream._response.close()  # type: ignore[attr-defined]  # noqa: SLF001  the only way


def _read(stream: Iterable[bytes], output: HeadAndTail) -> None:
    """The reader's whole life: until the container closes its output, or the stream is closed under it."""
    with contextlib.suppress(OSError, ValueError):
        for piece in stream:
            output.add(piece)
