"""One container for one command, on the volume that its tree lies in."""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from acr_cli.errors import SandboxBroken
from acr_cli.interrupts import uninterrupted
from acr_cli.protocols import CommandResult, Limits
from acr_cli.sandbox import owner
from acr_cli.sandbox.disk import said, watching
from acr_cli.sandbox.engine import Engine, best_effort, broken
from acr_cli.sandbox.files import SANDBOX_ID
from acr_cli.sandbox.output import HeadAndTail

if TYPE_CHECKING:
    from docker.models.containers import Container
    from docker.types import CancellableStream

    from acr_cli.sandbox.volumes import Volume

ROOT = "/acr"
HOME = "/home/acr"
RUN_LABEL, OWNER_LABEL, HOME_LABEL = "acr.run", "acr.owner", "acr.home"
REPOSITORY_LABEL = "acr.repository"
_KILLED = 137
PATIENCE = 10.0  # seconds of removing after which an interrupt ends even that
_LATE = 3.0  # seconds in which an engine makes a container that nobody waits for any more
_KILLED_BY_ENGINE = (137, 143)  # how a command ends when the engine itself is being stopped, among others
_STOPS = 0.5  # seconds in which an engine that has ended its containers ends too
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


@contextlib.contextmanager
def making(remove: Callable[[], bool]) -> Iterator[None]:
    """For a request that makes something. The engine goes on with one that is interrupted: what it makes then
    is waited for, a moment, and removed; `remove` says whether it was there."""
    try:
        yield
    except KeyboardInterrupt:
        with uninterrupted(patience=PATIENCE):
            until = time.monotonic() + _LATE
            while time.monotonic() < until and not remove():
                time.sleep(0.05)
        raise


def remove_container(engine: Engine, name: str) -> bool:
    """Kill and remove, with the unnamed volumes that its image asked for; whether there was one."""
    with best_effort():
        engine.client.api.remove_container(name, force=True, v=True)
        return True
    return False


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
        with broken("run a command"), volume.beginning(name), making(partial(remove_container, engine, name)):
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
        with broken("run a command"):
            result = _run(volume, container, limits)
        yield container, result
    finally:
        with uninterrupted(patience=PATIENCE):
            remove_container(engine, name)
        volume.over_with(name)


def _run(volume: Volume, container: Container, limits: Limits) -> CommandResult:
    import docker.errors

    volume.begin()
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
        with watching(lambda: volume.over(limits), lambda: _stop(container)) as written:
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
    elif in_time and int(state["ExitCode"]) in _KILLED_BY_ENGINE and not state.get("OOMKilled"):
        time.sleep(_STOPS)
        volume.engine.client.ping()
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


def _stop(container: Container) -> None:
    """Kill, for the thread that watches: who waits for the command is told of an engine that is gone."""
    with best_effort():
        _kill(container)


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
