"""The Docker engine: found, asked, its errors told in our words. The one file that opens a client.

The engine is the one that the user's own `docker` would take: DOCKER_HOST, else the current context. Where
neither says anything, and the usual socket is absent or forbidden, a rootless engine of the user's own or
Podman is taken, if one listens. Files go in and come out through the engine's API, so it may be far away.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from acr_cli.errors import AcrError, SandboxBroken, SandboxUnavailable
from acr_cli.redaction import without_keys

if TYPE_CHECKING:
    from docker import DockerClient

PROBE_SECONDS = 2.0
_NAMED_SECONDS = 10.0  # for an engine that the user has named, which may be far away
FULL = "Free some space where the engine keeps its files (docker system df), or use --sandbox bubblewrap."
_PATIENCE = 600  # seconds for one request: a commit or an upload may take minutes


@dataclass(frozen=True, kw_only=True)
class Engine:
    """A running engine, and what it can do."""

    client: DockerClient
    version: str
    cpus: int
    init: bool  # has an init that reaps and forwards signals
    bridge: bool  # has the usual network; else only that of its host


def network_mode(engine: Engine) -> str:
    """The network for what needs one: the usual, or the host's where the engine has no other. Pure."""
    return "bridge" if engine.bridge else "host"


def connect(environ: Mapping[str, str]) -> Engine:
    """The engine of DOCKER_HOST, else of the user's context; answers within a few seconds or not at all.

    Raises: SandboxUnavailable that says whether none answers or this user may not use it."""
    try:
        return _connect(environ)
    except SandboxUnavailable:
        for address in own_sockets(environ):
            with contextlib.suppress(SandboxUnavailable):
                return _connect({**environ, "DOCKER_HOST": address})
        raise


def own_sockets(environ: Mapping[str, str]) -> list[str]:
    """Where a rootless Docker or Podman of this user may listen, unless the user has named an engine."""
    if environ.get("DOCKER_HOST") or environ.get("DOCKER_CONTEXT"):
        return []
    config = Path(
        environ.get("DOCKER_CONFIG") or Path(environ.get("HOME", "/root"), ".docker"), "config.json"
    )
    with contextlib.suppress(OSError, ValueError, AttributeError):
        if json.loads(config.read_text()).get("currentContext", "default") != "default":
            return []
    running = environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    places = (f"{running}/docker.sock", f"{running}/podman/podman.sock", "/run/podman/podman.sock")
    return [f"unix://{place}" for place in places if Path(place).is_socket()]


def _connect(environ: Mapping[str, str]) -> Engine:
    import docker

    patience = _NAMED_SECONDS if environ.get("DOCKER_HOST") else PROBE_SECONDS
    try:
        # The constructor asks the engine for its version: it is the probe.
        client = docker.from_env(timeout=int(patience), version="auto", environment=dict(environ))
    except Exception as error:
        # A broken context file raises a bare Exception there, an ssh address whatever its transport does.
        raise _unreachable(error, environ) from error
    try:
        info = client.info()
        networks = client.networks.list(names=["bridge"])
    except Exception as error:
        client.close()
        raise _unreachable(error, environ) from error
    client.api.timeout = _PATIENCE
    return Engine(
        client=client,
        version=str(info.get("ServerVersion", "")),
        cpus=int(info.get("NCPU") or 1),
        init=bool(info.get("InitBinary")),
        bridge=any(network.name == "bridge" for network in networks),
    )


def _unreachable(error: Exception, environ: Mapping[str, str]) -> SandboxUnavailable:
    where = without_keys(environ.get("DOCKER_HOST", "")) or "the usual socket or the current context"
    if "permission denied" in _all_words(error).lower():
        return EngineForbidden(
            f"A Docker engine is there, but this user may not use it: permission denied ({where}).",
            hint="Add the user to the group docker and log in again, or use --sandbox bubblewrap.",
        )
    return SandboxUnavailable(
        f"No Docker engine answers ({where}): {_shortly(error)}.",
        hint="Start Docker, or use --sandbox bubblewrap.",
    )


class EngineForbidden(SandboxUnavailable):
    """An engine runs, and this user has no right to its socket."""


def _all_words(error: BaseException | None) -> str:
    words = []
    while error is not None:
        words.append(f"{error} {error.args}")
        error = error.__cause__ or error.__context__
    return " ".join(words)


def _shortly(error: object) -> str:
    return " ".join(str(error).split())[:200].rstrip(".")


@contextlib.contextmanager
def broken(what: str, *, but: type[Exception] = AcrError) -> Iterator[None]:
    """Errors of the engine while `what` is done become ours, `but` these, which the caller tells.

    Raises: SandboxBroken."""
    import docker.errors
    import requests

    try:
        yield
    except (AcrError, but):
        raise
    except docker.errors.ImageNotFound as error:
        raise SandboxBroken(
            f"An image has been removed while acr needed it: {_shortly(error.explanation or error)}.",
            hint="The next run, or one that goes on, makes it again.",
        ) from error
    except docker.errors.APIError as error:
        why = _shortly(error.explanation or error)
        full = "no space left on device" in why.lower()
        raise SandboxBroken(
            f"The Docker engine could not {what}: {why}.", hint=FULL if full else ""
        ) from error
    except (docker.errors.DockerException, requests.exceptions.RequestException, OSError) as error:
        raise SandboxBroken(
            f"The Docker engine went away while it was to {what}: {_shortly(error)}.",
            hint="Start Docker again, or use --sandbox bubblewrap.",
        ) from error


def best_effort() -> contextlib.suppress:
    """For removing: what is gone is no error, and what an absent engine still holds is swept later."""
    import docker.errors
    import requests

    return contextlib.suppress(docker.errors.DockerException, requests.exceptions.RequestException, OSError)
