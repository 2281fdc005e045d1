"""How a run ended: what was wrong, what changed, what shows it, what it cost, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from acr_cli.cli.diff_shown import by_file, show_patch
from acr_cli.cli.flow import show
from acr_cli.cli.terminal import clean, one_line
from acr_cli.cli.words import count, listed, number, seconds, usd
from acr_cli.records import JUDGE, OWN_TEST, Evidence, RunResult, Status, Try

if TYPE_CHECKING:
    from rich.console import Console

LONG = 80  # lines of a diff that a terminal is still shown
MOST = 5  # lines of one kind

HEADLINES: Mapping[Status, tuple[str, str]] = {
    Status.FIXED: ("Fixed and verified.", "bold green"),
    Status.NOT_FIXED: ("Not fixed.", "bold red"),
    Status.NOTHING_TO_FIX: ("Nothing to fix.", "bold green"),
    Status.CHANGED_UNVERIFIED: ("A patch was made, but nothing proves it.", "bold yellow"),
    Status.PLANNED: ("The plan was made; nothing was changed.", "bold green"),
    Status.BUDGET: ("The budget is reached.", "bold yellow"),
    Status.INTERRUPTED: ("Interrupted; your files are as they were.", "bold yellow"),
    Status.REFUSED: ("The repository was refused.", "bold red"),
    Status.ERROR: ("It could not be done.", "bold red"),
}
"""What is said where a run has no sentence of its own; a fix is said in any case."""

WHOSE = {OWN_TEST: ", by a test that acr wrote", JUDGE: ", by the opinion of a model"}

Line = tuple[str, str]
"""A label and what it says."""


def show_result(console: Console, result: RunResult) -> None:
    """Summary, diff and receipt; of a run that an error ended, what is left to say besides the error."""
    if result.error_id and not result.patch and not result.receipt.paid_usd:
        return  # the error, on stderr, says all
    _headline(console, result)
    for label, text in change_lines(result):
        show(console, label, (text, ""), style="dim")
    if result.patch:
        console.print()
        lines = result.patch.count("\n")
        if console.is_terminal and lines > LONG:
            text = f"The diff has {number(lines)} lines: `acr runs show {result.run}` shows it."
            show(console, "", (text, "dim"))
        else:
            show_patch(console, result.patch)
    if below := receipt_lines(result):
        console.print()
    for label, text in below:
        show(console, label, (text, ""), style="dim")
    if result.hint and not result.error_id:
        show(console, "next", (result.hint, ""), style="bold")


def _headline(console: Console, result: RunResult) -> None:
    headline, style = HEADLINES[result.status]
    summary = clean(result.summary).strip()
    if result.error_id:
        return
    if result.status is Status.FIXED and summary:
        show(console, None, (headline, style), (summary, ""))
        return
    first, _, rest = (summary or headline).partition("\n")
    show(console, None, (first, style))
    for line in rest.splitlines():
        show(console, None, (line, ""))


def change_lines(result: RunResult) -> list[Line]:
    """What was wrong, and how much changed in which file. Pure."""
    lines = _capped("wrong", [one_line(each, 200) for each in result.wrong]) if result.patch else []
    return lines + _capped("changed", [f"{name} {lines}" for name, lines in by_file(result.patch)])


def receipt_lines(result: RunResult) -> list[Line]:
    """What shows that it works, who tried, what was paid and what always-strongest would have cost, what was
    not done, and how to undo. Pure."""
    if result.status is Status.NOTHING_TO_FIX and not result.receipt.paid_usd:
        return []
    proved = result.evidence is not None and result.status is not Status.PLANNED
    lines = evidence_lines(result.evidence) if result.evidence and proved else []
    if lines and result.evidence and _said_already(result.evidence, result):
        lines = lines[1:]
    if any(each.verdict in ("failed", "void") for each in result.tries):
        lines += _capped("tried", [_try(each, result.summary) for each in result.tries], most=2 * MOST)
    taken = [step for step in result.steps if step.model]
    if len(taken) > 1 or not result.tries:
        said = [f"{s.kind} by {s.model}, {count(s.attempts, 'attempt')}, {usd(s.cost_usd)}" for s in taken]
        lines += _capped("step", said, most=4 * MOST)
    lines += _capped("not done", [one_line(each.removeprefix("- ")) for each in result.left])
    lines += _cost(result)
    if result.run:
        then = "`acr undo` reverses it" if result.applied else ""
        if result.patch and not result.applied and not result.hint:
            then = f"`acr apply {result.run}` applies it"
        lines.append(("run", f"{result.run}{': ' if then else ''}{then}"))
    return lines


def _cost(result: RunResult) -> list[Line]:
    receipt = result.receipt
    paid = [usd(receipt.paid_usd), seconds(receipt.seconds)]
    if receipt.usage.calls:
        tokens = number(receipt.usage.input_tokens + receipt.usage.output_tokens)
        paid.insert(1, f"{tokens} tokens in {count(receipt.usage.calls, 'call')}")
    lines = [("paid", ", ".join(paid))]
    if receipt.strongest_usd is not None and _compares(result):
        text = f"about {usd(receipt.strongest_usd)} with {receipt.strongest} alone (estimate)"
        lines.append(("instead", text))
    return lines


def _compares(result: RunResult) -> bool:
    """Whether what the strongest candidate alone would have cost says something: others were used, and it has
    not failed itself. Pure."""
    strongest = result.receipt.strongest
    ends = {each.verdict for each in result.tries if each.candidate == strongest}
    used = {each.candidate for each in result.tries} | {step.model for step in result.steps if step.model}
    failed = bool(ends & {"failed", "void"}) and "passed" not in ends
    return bool(strongest) and bool(used - {strongest}) and not failed


def _said_already(evidence: Evidence, result: RunResult) -> bool:
    executed = evidence.fixed or evidence.broken or evidence.verifier == OWN_TEST
    if executed or not evidence.reason:
        return False
    return not result.patch or evidence.reason.rstrip(".") in result.summary


def _try(each: Try, summary: str) -> str:
    """ "openai/weak: failed, $0.002 in 12 s: the test still fails"; why not, where the summary says that."""
    spent = f"{usd(each.cost_usd)} in {seconds(each.seconds)}"
    why = one_line(each.reason.rstrip("."), 300) if each.verdict in ("failed", "void") else ""
    why = "" if each.reason.rstrip(".") in summary else why
    what = {"void": "came to nothing"}.get(each.verdict, each.verdict)
    return f"{each.candidate}: {what}, {spent}{f': {why}' if why else ''}"


def evidence_lines(evidence: Evidence) -> list[Line]:
    """What was executed and what it showed, whose test it was, and what to look at. Pure."""
    lines = [("evidence", evidence_line(evidence) + WHOSE.get(evidence.verifier, ""))]
    lines += _capped("look at", [one_line(finding.text, 300) for finding in evidence.findings])
    if evidence.undone:
        text = f"{listed(evidence.undone)} (tests and their configuration stay as they are)"
        lines.append(("undone", text))
    if evidence.flaky:
        lines.append(("flaky", f"{listed(evidence.flaky)} (counted neither way)"))
    return lines + _capped("partial", [note for note in evidence.notes if note.startswith("Partial")])


def evidence_line(evidence: Evidence) -> str:
    """What was executed and what it showed, in one line. Pure."""
    parts = []
    fixed, unfixed, broken = evidence.fixed, evidence.unfixed, evidence.broken
    targets = len(fixed) + len(unfixed)
    if targets == 1 and (fixed or not evidence.reason):
        parts.append("the failing test now passes" if fixed else "the failing test still fails")
    elif targets > 1:
        parts.append(f"{len(fixed)} of {targets} failing tests now pass")
    if broken:
        parts.append(f"broke {listed(broken)}")
    elif fixed:
        parts.append("nothing broke")
    if evidence.reason and (not targets or unfixed or broken):
        parts.append(evidence.reason.rstrip("."))
    return one_line(", ".join(parts) or "no executable evidence", 300) + f" (u {evidence.u:.2f})"


def _capped(label: str, said: Sequence[str], *, most: int = MOST) -> list[Line]:
    """One line each under one label, the first ones of many."""
    more = [f"and {number(len(said) - most)} more"] if len(said) > most else []
    return [("" if place else label, text) for place, text in enumerate([*said[:most], *more])]
