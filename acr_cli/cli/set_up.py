"""`acr config init`: what is here, what may be used of it, and what a run may cost."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from acr_cli.cli.table import heading, say, show_table
from acr_cli.cli.terminal import asks
from acr_cli.cli.words import number, usd
from acr_cli.errors import UsageError
from acr_cli.settings import BY_NAME, PROJECT_FILE, Settings, parse

if TYPE_CHECKING:
    from rich.console import Console

    from acr_cli.cli.invocation import Invocation
    from acr_cli.cli.proposals import Proposal


def set_up(invocation: Invocation, *, yes: bool) -> int:
    """Look, ask, write; the exit code. Raises: UsageError where nobody can be asked."""
    from acr_cli.cli.edit_config import create, set_key
    from acr_cli.cli.proposals import accept, found

    settings, file, out = invocation.settings(), invocation.config_file, invocation.out
    proposals = [p for p in found(settings) if p.name not in settings.providers]
    budget_is_open = "max_cost" not in settings.origins
    if (proposals or budget_is_open) and not yes and not asks():
        names = ", ".join(proposal.name for proposal in proposals)
        what = f"Found {names}" if names else "There is a budget to choose"
        raise UsageError(
            f"{what}, and nobody is here to be asked.",
            hint="--yes accepts all that is found, and the default budget.",
        )
    _show_machine(out, settings)
    _show_models(out, proposals)
    say(out)
    there = file.exists()
    accepted = accept(proposals, file, yes=yes)
    create(file)
    say(out, f"{'kept' if there else 'wrote'} {file}")
    for name in accepted:
        say(out, f"accepted {name}")
    without = not (proposals or settings.models or settings.providers)
    if budget_is_open and not yes:
        set_key(file, "max_cost", _budget("max_cost", "for one run", f"{settings.max_cost:g}"))
        if not without and (month := _budget("max_cost_month", "a month, all runs together", "")):
            set_key(file, "max_cost_month", month)
    settings = invocation.settings()
    _show_budget(out, settings)
    if without:
        say(out, "No provider's key and no local server was found. " + _WITHOUT)
    else:
        say(
            out,
            f"one repository may allow less: `acr config set --project allow MODEL` writes {PROJECT_FILE}",
        )
    return 0


_WITHOUT = "Failing tests can be repaired without any model: `acr fix`."


def _show_machine(out: Console, settings: Settings) -> None:
    """Where tests can run, and who commits."""
    from acr_cli.cli.checks import TELL_GIT, bubblewrap, docker, identity, sandbox

    checks = {check.name: check for check in (docker(settings), bubblewrap(settings))}
    chosen = sandbox(settings, checks)
    heading(out, "This machine")
    rows = [["sandbox", chosen.says], ["", chosen.hint]]
    who = identity()
    rows += [["git", who or "does not know who you are"]]
    rows += [["", "" if who else f"`acr fix --commit` needs it: {TELL_GIT}"]]
    show_table(out, ["", ""], [row for row in rows if row[1]], indent=2)


def _show_models(out: Console, proposals: Sequence[Proposal]) -> None:
    """What was found and is not accepted yet, with prices."""
    from acr_cli.models.catalogue import SHORT_LISTS
    from acr_cli.models.keys import KEY_VARIABLES

    if proposals:
        heading(out, "Found")
        rows = []
        for proposal in proposals:
            for model, price in zip(proposal.models, proposal.prices, strict=True):
                known = price.known and not price.per_second
                cost = [f"{price.input:g}", f"{price.output:g}"] if known else ["this machine", ""]
                window = number(model.context_window) if model.context_window else ""
                rows.append([proposal.name, model.id, *cost, window, proposal.evidence])
        show_table(out, ["provider", "=model", ">USD/M in", ">out", ">context", "by"], rows, indent=2)
    for provider, names in KEY_VARIABLES.items():
        if provider not in SHORT_LISTS and (variable := next((n for n in names if os.environ.get(n)), "")):
            say(out, f"  {variable} is set: `acr models add {provider}/NAME` adds a model of {provider}.")


def _show_budget(out: Console, settings: Settings) -> None:
    """What may be spent, and how to change it."""
    say(out, f"a run may cost {usd(settings.max_cost)} at most: `acr config set max_cost USD` changes it")
    month = settings.max_cost_month
    all_runs = "any sum" if math.isinf(month) else f"{usd(month)} at most"
    say(out, f"all runs of a month may cost {all_runs}: `acr config set max_cost_month USD` changes it")


def _budget(key: str, what: str, usual: str) -> str:
    """What may be spent, as it was typed, or the usual; asked again until it can be read."""
    while True:
        sys.stderr.write(f"At most how many USD {what}? [{usual or 'no limit'}] ")
        sys.stderr.flush()
        line = sys.stdin.readline()
        text = line.strip() or usual
        try:
            if text:
                parse(BY_NAME[key], text, key, UsageError)
        except UsageError as error:
            sys.stderr.write(f"{error.message}\n")
            if not line:
                return usual
            continue
        return text.removeprefix("$")
