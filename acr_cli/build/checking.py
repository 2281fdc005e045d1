"""What `acr doctor` tries for real: the sandbox's limits from inside, and what dead runs have left."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from acr_cli.errors import UsageError
from acr_cli.protocols import Limits, Sandbox
from acr_cli.settings import Settings

if TYPE_CHECKING:
    from acr_cli.protocols import Session
    from acr_cli.worktree.runs import RunFolder

MEMORY, PIDS = 96 * 1024**2, 24
"""The limits under which the probes run."""

# In plain sh, since an image may hold little else: a text that doubles up to 512 MiB; sixty shells, each in
# the one before; and the interfaces that something is routed to (those that a kernel makes everywhere lead
# nowhere).
_GREEDY = "x=12345678; i=0; while [ $i -lt 26 ]; do x=$x$x; i=$((i+1)); done; echo whole"
_MANY = "f() { if [ $1 -gt 0 ]; then (f $(($1-1)); :); else sleep 2; echo all; fi; }; f 60"
_NETWORK = (
    "{ read -r _; while read -r name _; do echo $name; done; } </proc/net/route;"
    " [ -r /proc/net/ipv6_route ] || exit 0;"
    " while read -r _ _ _ _ _ _ _ _ _ name; do echo $name; done </proc/net/ipv6_route"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Tried:
    """Which limits held when a command inside the sandbox tried to pass them."""

    sandbox: str
    memory: bool
    pids: bool
    network: bool  # whether there was none

    @property
    def loose(self) -> tuple[str, ...]:
        """The names of those that did not."""
        return tuple(name for name in ("memory", "pids", "network") if not getattr(self, name))


def try_limits(settings: Settings) -> Tried:
    """Run commands that use too much inside the configured sandbox; takes about two seconds.

    Raises: SandboxUnavailable."""
    limits = Limits(memory_bytes=MEMORY, pids=PIDS, seconds=20.0)
    with _opened(settings, limits) as (sandbox, session):
        memory = session.run(_GREEDY)
        many = session.run(_MANY)
        interfaces = session.run(_NETWORK).output.split()
    return Tried(
        sandbox=sandbox.name,
        memory=memory.out_of_memory or "whole" not in memory.output,
        pids="all" not in many.output,
        network=set(interfaces) <= {"lo"},
    )


@contextmanager
def _opened(settings: Settings, limits: Limits) -> Iterator[tuple[Sandbox, Session]]:
    from acr_cli.sandbox.choose import open_sandbox
    from acr_cli.sandbox.images import DEFAULT_IMAGES

    with tempfile.TemporaryDirectory() as folder:
        tree, home = Path(folder, "tree"), Path(folder, "home")
        tree.mkdir()
        sandbox = open_sandbox(
            settings.sandbox,
            run_id=f"doctor-{secrets.token_hex(4)}",
            home=home,
            image=settings.image or DEFAULT_IMAGES["python"],
            limits=limits,
            emit=lambda _: None,
            environ=os.environ,
        )
        with sandbox.open(tree) as session:
            yield sandbox, session


def leftovers(settings: Settings) -> tuple[RunFolder, ...]:
    """Runs whose process died before it could clean up."""
    from acr_cli.worktree.runs import is_unclean, list_runs

    found = []
    for run in filter(is_unclean, list_runs(settings.home)):
        try:
            with run.at_rest():
                found.append(run)
        except (UsageError, OSError):  # it is at work, or is another user's
            continue
    return tuple(found)


def sweep(settings: Settings) -> int:
    """Clean up after dead runs, their copies, containers and volumes; how many things were removed."""
    from acr_cli.errors import SandboxUnavailable
    from acr_cli.sandbox.choose import open_sandbox
    from acr_cli.worktree.runs import sweep_runs

    removed = len(sweep_runs(settings.home))
    try:
        sandbox = open_sandbox(
            settings.sandbox,
            run_id="doctor",
            home=settings.home,
            image=settings.image,
            limits=Limits(),
            emit=lambda _: None,
            environ=os.environ,
        )
    except SandboxUnavailable:
        return removed
    return removed + len(sandbox.sweep())
