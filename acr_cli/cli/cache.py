"""`acr cache`: what acr keeps and could make again: images, environments, packages, maps, old transcripts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from acr_cli.cli.app import Leaf, group
from acr_cli.cli.invocation import Invocation
from acr_cli.cli.terminal import asks, confirmed
from acr_cli.cli.words import age, count, size
from acr_cli.errors import UsageError
from acr_cli.records import SCHEMA

if TYPE_CHECKING:
    from acr_cli.sandbox.caches import Kept

app = group("What acr keeps on disk and could make again.")

DAYS_30 = "30d"


@app.command("list", cls=Leaf)
def list_(
    ctx: typer.Context, as_json: bool = typer.Option(False, "--json", help="One thing a line, as data.")
) -> int:
    """List images, environments, packages, maps and the heavy parts of runs, the largest first."""
    from acr_cli.build.caching import cached
    from acr_cli.cli import shapes
    from acr_cli.cli.table import say, show_table

    invocation: Invocation = ctx.obj
    found = cached(invocation.settings())
    if as_json:
        for kept in found:
            shapes.write({"type": "cached", "schema": SCHEMA, **asdict(kept)})
    elif not found:
        say(invocation.out, "Nothing is kept.")
    else:
        rows = [[kept.kind, kept.name, size(kept.bytes), age(time.time() - kept.used)] for kept in found]
        show_table(invocation.out, ["kind", "name", ">size", ">unused for"], rows)
        total = size(sum(kept.bytes for kept in found))
        say(invocation.out, f"{total} in all; `acr cache prune` removes what was not used for 30 days.")
    return 0


@app.command(cls=Leaf)
def prune(
    ctx: typer.Context,
    older_than: str = typer.Option(
        None, metavar="DURATION", help="Only what was not used for so long: 12h, 7d; default 30d."
    ),
    all_: bool = typer.Option(False, "--all", help="However lately it was used."),
    yes: bool = typer.Option(False, "--yes", help="Without asking."),
    as_json: bool = typer.Option(False, "--json", help="What was removed as data."),
) -> int:
    """Remove what was not used for 30 days; a later run makes anew what it needs.

    Runs keep their patches, events and results, and can still be applied and undone; they can no longer go on
    or be replayed. What a run that is at work may use stays.
    """
    from acr_cli.build.caching import cached, old_enough
    from acr_cli.build.caching import prune as remove
    from acr_cli.cli import shapes
    from acr_cli.cli.table import say
    from acr_cli.settings import BY_NAME, parse

    invocation: Invocation = ctx.obj
    if all_ and older_than:
        raise UsageError("--all and --older-than contradict each other.", hint="Leave one of them away.")
    settings = invocation.settings()
    least = 0.0 if all_ else parse(BY_NAME["max_time"], older_than or DAYS_30, "--older-than", UsageError)
    chosen = old_enough(cached(settings), least)
    if chosen and not yes:
        what = _told(chosen)
        if not asks():
            raise UsageError(f"Removing {what} needs your consent.", hint="--yes gives it.")
        if not confirmed(f"Remove {what}?"):
            say(invocation.err, "Nothing was removed.")
            return 0
    freed = remove(settings, chosen)
    if as_json:
        shapes.write({
            "type": "pruned",
            "schema": SCHEMA,
            "bytes": freed.bytes,
            "removed": [asdict(kept) for kept in freed.removed],
            "left": [{**asdict(kept), "why": why} for kept, why in freed.left],
        })  # fmt: skip
        return 0
    say(invocation.out, f"Removed {_told(freed.removed)}." if freed.removed else "Nothing was to be removed.")
    for kept, why in freed.left:
        say(invocation.out, f"{kept.kind} {kept.name} stays: {why}.")
    return 0


def _told(kept: Sequence[Kept]) -> str:
    """ "2 images and 1 map, 1.2 GiB"."""
    names = {"packages": "package cache", "history": "kept history"}
    kinds = dict.fromkeys(each.kind for each in kept)
    counts = [count(sum(each.kind == kind for each in kept), names.get(kind, kind)) for kind in kinds]
    shown = ", ".join(counts[:-1]) + (" and " if len(counts) > 1 else "") + counts[-1]
    return f"{shown}, {size(sum(each.bytes for each in kept))}"
