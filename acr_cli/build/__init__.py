"""Settings -> a wired loop: the only place that joins the folders.

A module of this folder is imported when one of its functions is asked for: most commands need few of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from acr_cli.build.fixing import run
    from acr_cli.build.keeping import (
        apply_run,
        identity,
        memory,
        paid,
        run_to_apply,
        run_to_undo,
        run_unasked,
        runs,
        statistics,
        undo_run,
    )
    from acr_cli.build.pooling import candidates, detect, probe, run_budget
    from acr_cli.build.replaying import replay
    from acr_cli.build.resuming import ended, flags_of, resume
    from acr_cli.build.routing import route
    from acr_cli.build.sharing import Settling, export_memory, import_memory, reindex, settle, synchronise
    from acr_cli.build.warming import warm

_WHERE = {
    "fixing": ("run",),
    "keeping": (
        *("apply_run", "identity", "memory", "paid", "run_to_apply", "run_to_undo", "runs"),
        *("run_unasked", "statistics", "undo_run"),
    ),
    "pooling": ("candidates", "detect", "probe", "run_budget"),
    "replaying": ("replay",),
    "resuming": ("ended", "flags_of", "resume"),
    "routing": ("route",),
    "sharing": ("Settling", "export_memory", "import_memory", "reindex", "settle", "synchronise"),
    "warming": ("warm",),
}


def __getattr__(name: str) -> Any:
    for module, names in _WHERE.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Settling",
    "apply_run",
    "candidates",
    "detect",
    "ended",
    "export_memory",
    "flags_of",
    "identity",
    "import_memory",
    "memory",
    "paid",
    "probe",
    "reindex",
    "replay",
    "resume",
    "route",
    "run",
    "run_budget",
    "run_to_apply",
    "run_to_undo",
    "run_unasked",
    "runs",
    "settle",
    "statistics",
    "synchronise",
    "undo_run",
    "warm",
]
