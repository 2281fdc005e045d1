"""Settings -> a wired loop: the only place that joins the folders."""

from acr_cli.build.fixing import run
from acr_cli.build.keeping import (
    apply_run,
    identity,
    memory,
    run_to_apply,
    run_to_undo,
    runs,
    statistics,
    undo_run,
)
from acr_cli.build.pooling import candidates, detect, probe
from acr_cli.build.routing import route
from acr_cli.build.sharing import export_memory, import_memory, reindex, settle, synchronise
from acr_cli.build.warming import warm

__all__ = [
    "apply_run",
    "candidates",
    "detect",
    "export_memory",
    "identity",
    "import_memory",
    "memory",
    "probe",
    "reindex",
    "route",
    "run",
    "run_to_apply",
    "run_to_undo",
    "runs",
    "settle",
    "statistics",
    "synchronise",
    "undo_run",
    "warm",
]
