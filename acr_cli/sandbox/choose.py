"""Which sandbox: the one asked for, or the strongest that this machine has."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

from acr_cli.errors import SandboxUnavailable
from acr_cli.events import Emit, Notice, SandboxReady
from acr_cli.parts import load
from acr_cli.protocols import Limits, Sandbox

NAMES = ("auto", "docker", "bubblewrap", "none")


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What a sandbox is opened for. A third party's sandbox is a callable that takes one of these."""

    run_id: str
    home: Path
    image: str | None
    limits: Limits
    emit: Emit
    environ: Mapping[str, str]
    repository: Path | None  # the user's own working tree: its `.venv` may be used, read-only
    network: bool  # whether the tests may use the network


def open_sandbox(
    name: str,
    *,
    run_id: str,
    home: Path,
    image: str | None,
    limits: Limits,
    emit: Emit,
    environ: Mapping[str, str],
    repository: Path | None = None,
    network: bool = False,
) -> Sandbox:
    """The sandbox of this name: "auto", "docker", "bubblewrap", "none", or an installed one's.

    auto takes Docker when an engine answers within two seconds and has or can pull an image, else bubblewrap.
    Raises: SandboxUnavailable (with what to install), ConfigurationError for a name that nobody offers."""
    request = Request(
        run_id=run_id,
        home=home,
        image=image,
        limits=limits,
        emit=emit,
        environ=environ,
        repository=repository,
        network=network,
    )
    if name == "auto":
        sandbox, reason = _auto(request)
    else:
        reason = "as asked for"
        sandbox = cast("Sandbox", load("sandboxes", name, _BUILTIN)(request))
    emit(SandboxReady(sandbox=sandbox.name, reason=reason))
    return sandbox


_BUILTIN = {name: f"acr_cli.sandbox.choose:open_{name}" for name in NAMES[1:]}


def _auto(request: Request) -> tuple[Sandbox, str]:
    from acr_cli.sandbox.engine import EngineForbidden

    try:
        docker = open_docker(request)
    except SandboxUnavailable as error:
        without = error
    else:
        return (docker if request.image else _falling(docker, request)), "a Docker engine answers"
    if isinstance(without, EngineForbidden):
        request.emit(Notice(level="warning", text=f"{without.message} Looking for bubblewrap instead."))
    try:
        return open_bubblewrap(request), "no Docker engine answers"
    except SandboxUnavailable as error:
        raise SandboxUnavailable(
            f"There is no sandbox to run the tests in. {without.message} {error.message}",
            hint=f"{error.hint} Without either, --sandbox none runs the tests on this machine unconfined.",
        ) from error


def _falling(docker: Sandbox, request: Request) -> Sandbox:
    """Docker as long as it has the images; nobody has chosen it for certain."""
    from acr_cli.sandbox import programs
    from acr_cli.sandbox.falling import Falling

    return Falling(
        docker,
        partial(open_bubblewrap, request),
        able=lambda language: programs.there(language, request.environ, request.repository),
        emit=request.emit,
    )


def open_docker(request: Request) -> Sandbox:
    """Raises: SandboxUnavailable when no engine answers or this user may not use it."""
    from acr_cli.sandbox.docker import Docker
    from acr_cli.sandbox.engine import connect

    return Docker(
        engine=connect(request.environ),
        run_id=request.run_id,
        home=request.home,
        image=request.image,
        limits=request.limits,
        emit=request.emit,
        environ=request.environ,
        network=request.network,
    )


def open_bubblewrap(request: Request) -> Sandbox:
    """Raises: SandboxUnavailable when no bwrap runs here."""
    if sys.platform != "linux":
        raise SandboxUnavailable(
            "bubblewrap exists on Linux only.", hint="Install and start Docker, or use --sandbox none."
        )
    from acr_cli.sandbox.bubblewrap import INSTALL_HINT, Bubblewrap, find_program

    program, why_not = find_program(request.environ)
    if program is None:
        raise SandboxUnavailable(f"bubblewrap does not run here: {why_not}.", hint=INSTALL_HINT)
    if request.image:
        text = f"--image {request.image} is not used: bubblewrap runs the programs of this machine."
        request.emit(Notice(level="warning", text=text))
    return Bubblewrap(
        program=program,
        run_id=request.run_id,
        home=request.home,
        limits=request.limits,
        emit=request.emit,
        environ=request.environ,
        repository=request.repository,
        network=request.network,
    )


def open_none(request: Request) -> Sandbox:
    """The host, after a warning. Never fails."""
    from acr_cli.sandbox.host import Host

    text = (
        "No sandbox: the repository's tests, and code that a model has written, run on this machine with"
        " your rights, your files and your network."
    )
    request.emit(Notice(level="warning", text=text))
    return Host(
        run_id=request.run_id,
        home=request.home,
        limits=request.limits,
        emit=request.emit,
        environ=request.environ,
        repository=request.repository,
    )
