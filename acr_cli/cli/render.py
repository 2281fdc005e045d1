"""A run on the screen: one short line an event on stderr, the result on stdout.

Every event class has one method in `LINES`. A slow thing turns a spinner on a terminal and is one plain line
elsewhere. All that comes from models, tests and files is cleaned of control sequences first.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from acr_cli.cli.terminal import clean, one_line
from acr_cli.cli.words import changed_lines, count, listed, number, percent, seconds, usd
from acr_cli.events import (
    AttemptFinished,
    BaselineMeasured,
    ChoiceMade,
    Event,
    ModelText,
    Notice,
    PatchApplied,
    PlanMade,
    Progress,
    Remembered,
    RunFinished,
    RunStarted,
    SandboxReady,
    StepStarted,
    ToolCalled,
    VerdictReached,
)
from acr_cli.records import Evidence, Failed, Passed, RunResult, Status, Unverified, Void

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status as Spinner

DURING = (Progress, ModelText, ToolCalled, Notice)  # what may happen while something slow goes on
PAUSE = 10.0  # seconds between two lines of progress that differ in their numbers only
_NUMBERS = re.compile(r"\d[\d.,]*")
LABEL = 10  # columns of the word that a line begins with


class Screen:
    """Shows the events of one run on a console. `emit` never raises."""

    def __init__(
        self,
        console: Console,
        *,
        quiet: bool = False,
        verbose: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console
        self._quiet = quiet
        self._verbose = verbose
        self._spins = console.file.isatty() and not quiet
        self._spinner: Spinner | None = None
        self._steps: tuple[str, ...] = ()
        self._reply = ""
        self._clock = clock
        self._said: dict[str, float] = {}  # progress without its numbers -> when it was shown last

    def emit(self, event: Event) -> None:
        """Show an event; a screen that has gone away stops nothing."""
        show = LINES.get(type(event))
        if show is None or (self._quiet and not isinstance(event, Notice)):
            return
        try:
            if not isinstance(event, ModelText):
                self._end_of_reply()
            if not isinstance(event, DURING):
                self.close()
            show(self, event)
        except OSError:
            self._quiet = True

    def close(self) -> None:
        """Stop the spinner, if one turns."""
        if self._spinner is not None:
            self._spinner.stop()
            self._spinner = None

    # --- one method an event ---

    def _line(self, label: str, text: str, *, style: str = "", rest: str = "") -> None:
        from rich.text import Text

        line = Text.assemble((f"{label:<{LABEL}}", style or "bold"), clean(text))
        if rest:
            line.append("  " + clean(rest), "dim")
        self._console.print(line, soft_wrap=True)

    def _below(self, text: str, style: str = "dim") -> None:
        from rich.text import Text

        self._console.print(Text(" " * LABEL + clean(text), style), soft_wrap=True)

    def run_started(self, event: RunStarted) -> None:
        self._line("run", event.run, style="dim", rest=event.repository)

    def progress(self, event: Progress) -> None:
        text = one_line(f"{event.beside}: {event.text}" if event.beside else event.text)
        if not self._spins:
            self._say_at_times(text)
        elif self._spinner is None:
            self._spinner = self._console.status(text, spinner_style="dim")
            self._spinner.start()
        else:
            self._spinner.update(text)

    def _say_at_times(self, text: str) -> None:
        """A line of progress, unless one that differs in its numbers only has just been shown."""
        kind, now = _NUMBERS.sub("0", text), self._clock()
        if now - self._said.get(kind, -math.inf) >= PAUSE:
            self._said[kind] = now
            self._below(text)

    def notice(self, event: Notice) -> None:
        if self._quiet and event.level != "warning":
            return
        warning = event.level == "warning"
        self._line("warning" if warning else "note", event.text, style="yellow" if warning else "dim")

    def sandbox(self, event: SandboxReady) -> None:
        self._line("sandbox", event.sandbox, rest=one_line(event.reason))

    def baseline(self, event: BaselineMeasured) -> None:
        baseline = event.baseline
        why = f"{baseline.test_command}  ({baseline.reason})" if baseline.reason else baseline.test_command
        cases = baseline.report.cases
        if not cases:
            self._line("baseline", "no tests", rest=one_line(why))
            return
        failing = len(baseline.report.failing())
        said = f"{number(failing)} of {count(len(cases), 'test')} fail{'s' if failing == 1 else ''}"
        self._line("baseline", said if failing else f"{count(len(cases), 'test')} pass", rest=one_line(why))
        shown = baseline.failures()[:5]
        for case in shown:
            self._below(one_line(f"{case.id}  {case.exception} {case.message}".rstrip()))
        if (more := len(baseline.targets) - len(shown)) > 0:
            self._below(f"and {more} more")

    def plan(self, event: PlanMade) -> None:
        self._steps = tuple(step.id for step in event.steps)
        if len(event.steps) > 1:
            self._line("plan", count(len(event.steps), "step"))
            for position, step in enumerate(event.steps, start=1):
                self._below(one_line(f"{position}. {step.kind}  {step.text}"))

    def step(self, event: StepStarted) -> None:
        step = event.step
        if len(self._steps) < 2 and not self._verbose:
            return
        place = f"{self._steps.index(step.id) + 1}/{len(self._steps)} " if step.id in self._steps else ""
        self._line("step", f"{place}{step.kind}", rest=one_line(step.text or "make the failing tests pass"))

    def choice(self, event: ChoiceMade) -> None:
        choice = event.choice
        again = f" (attempt {event.attempt})" if event.attempt > 1 else ""
        forecast = choice.forecast(choice.candidate)
        expected = ""
        if forecast is not None:
            cost = f" for about {usd(forecast.cost_usd)}" if forecast.cost_usd else ""
            expected = f"expects {percent(forecast.p_success)}{cost}"
        self._line("choice", f"{choice.candidate}{again}", style="bold cyan", rest=expected)
        self._below(one_line(choice.reason, 300))
        if self._spins:
            self.progress(Progress(text=f"{choice.candidate} is at work"))
        if self._verbose:
            for each in choice.forecasts:
                votes = "  ".join(f"{v.voter} {v.value:.2f} x {v.weight:.2g}" for v in each.votes)
                self._below(f"{each.candidate}  score {each.score:.3f}  {votes}")

    def text(self, event: ModelText) -> None:
        if not (self._spins or self._verbose):
            return
        *lines, self._reply = (self._reply + event.text).split("\n")
        for line in lines:
            self._below(line)

    def _end_of_reply(self) -> None:
        if self._reply:
            reply, self._reply = self._reply, ""
            self._below(reply)

    def tool(self, event: ToolCalled) -> None:
        mark = "·" if event.ok else "x"
        who = f"{event.beside}: " if event.beside else ""
        self._below(one_line(f"{mark} {who}{event.name}  {event.argument}  {event.result}"))

    def attempt(self, event: AttemptFinished) -> None:
        attempt = event.attempt
        spent = [usd(attempt.cost_usd), seconds(attempt.seconds)]
        tokens = attempt.usage.input_tokens + attempt.usage.output_tokens
        if tokens:
            spent.insert(1, f"{number(tokens)} tokens")
        if attempt.tried:
            spent.append(f"{number(attempt.tried)} tried")
        if attempt.void:
            what = "came to nothing"  # the verdict says why
        elif attempt.files:
            what = f"{changed_lines(attempt.patch)} in {listed(attempt.files)}"
        else:
            what = one_line(attempt.summary) or "nothing changed"
        self._line("attempt", what, style="yellow" if attempt.void else "bold", rest=", ".join(spent))
        if attempt.files and attempt.summary and not attempt.void:
            self._below(one_line(attempt.summary))

    def verdict(self, event: VerdictReached) -> None:
        match event.verdict:
            case Passed(evidence=evidence):
                self._line("verified", evidence_line(evidence), style="bold green")
            case Failed(evidence=evidence):
                self._line("failed", evidence_line(evidence), style="bold red")
            case Unverified(evidence=evidence):
                self._line("unverified", evidence_line(evidence), style="bold yellow")
            case Void(reason=reason):
                self._line("void", one_line(reason), style="bold yellow")
                return
        if evidence.undone:
            self._below(f"undone: {listed(evidence.undone)} (tests and their configuration stay as they are)")
        for finding in evidence.findings:
            self._below(one_line(f"look at this: {finding.text}", 300))
        if evidence.flaky:
            self._below(f"flaky, counted neither way: {listed(evidence.flaky)}")
        for note in evidence.notes:
            if self._verbose or note.startswith("Partial"):
                self._below(one_line(note, 300))

    def remembered(self, event: Remembered) -> None:
        if self._verbose:
            self._line("memory", f"outcome {event.outcome}", style="dim")

    def applied(self, event: PatchApplied) -> None:
        how = f"committed as {event.commit[:12]}" if event.commit else "left uncommitted"
        self._line("applied", listed(event.files), style="bold green", rest=how)

    def finished(self, _event: RunFinished) -> None:
        self.close()


LINES: Mapping[type[Event], Callable[[Screen, Any], None]] = {
    RunStarted: Screen.run_started,
    Progress: Screen.progress,
    Notice: Screen.notice,
    SandboxReady: Screen.sandbox,
    BaselineMeasured: Screen.baseline,
    PlanMade: Screen.plan,
    StepStarted: Screen.step,
    ChoiceMade: Screen.choice,
    ModelText: Screen.text,
    ToolCalled: Screen.tool,
    AttemptFinished: Screen.attempt,
    VerdictReached: Screen.verdict,
    Remembered: Screen.remembered,
    PatchApplied: Screen.applied,
    RunFinished: Screen.finished,
}


def evidence_line(evidence: Evidence) -> str:
    """What was executed and what it showed, in one line. Pure."""
    parts = []
    targets = len(evidence.fixed) + len(evidence.unfixed)
    if targets == 1:
        parts.append(f"the failing test {'now passes' if evidence.fixed else 'still fails'}")
    elif targets:
        parts.append(f"{len(evidence.fixed)} of {targets} failing tests now pass")
    if targets:
        parts.append(f"broke {listed(evidence.broken)}" if evidence.broken else "nothing broke")
    elif evidence.broken:
        parts.append(f"broke {listed(evidence.broken)}")
    if evidence.reason and not (targets and not evidence.unfixed and not evidence.broken):
        parts.append(evidence.reason.rstrip("."))
    return one_line(", ".join(parts) or "no executable evidence", 300) + f" (u {evidence.u:.2f})"


# --- the result -------------------------------------------------------------------------------------------

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


def show_result(console: Console, result: RunResult) -> None:
    """Summary, diff and receipt; of a run that an error ended, what is left to say besides the error."""
    from rich.text import Text

    if result.error_id and not result.patch and not result.receipt.paid_usd:
        return  # the error, on stderr, says all
    headline, style = HEADLINES[result.status]
    summary = clean(result.summary).strip()
    if result.status is Status.FIXED and summary:
        console.print(Text.assemble((headline, style), f" {summary}"), soft_wrap=True)
    elif not result.error_id:
        first, _, rest = (summary or headline).partition("\n")
        console.print(Text(first, style), soft_wrap=True)
        if rest:
            console.print(Text(rest), soft_wrap=True)
    if result.patch:
        console.print()
        show_patch(console, result.patch)
    console.print()
    for label, text in receipt_lines(result):
        console.print(Text.assemble((f"{label:<{LABEL}}", "dim"), clean(text)), soft_wrap=True)
    if result.hint and not result.error_id:
        console.print(Text(clean(result.hint)), soft_wrap=True)


def show_patch(console: Console, patch: str) -> None:
    """A unified diff, coloured by line; what it holds is shown, never obeyed."""
    from rich.text import Text

    for line in patch.splitlines():
        console.print(Text(clean(line), _diff_style(line)), soft_wrap=True)


def _diff_style(line: str) -> str:
    if line.startswith(("diff --git", "index ", "--- ", "+++ ", "new file", "deleted file", "rename ")):
        return "bold"
    return {"@": "cyan", "+": "green", "-": "red"}.get(line[:1], "")


def receipt_lines(result: RunResult) -> list[tuple[str, str]]:
    """The receipt: what was paid, what always-strongest would have cost, and the evidence. Pure."""
    receipt = result.receipt
    usage = receipt.usage
    paid = [usd(receipt.paid_usd), seconds(receipt.seconds)]
    if usage.calls:
        tokens = number(usage.input_tokens + usage.output_tokens)
        paid.insert(1, f"{tokens} tokens in {count(usage.calls, 'call')}")
    lines = [("paid", ", ".join(paid))]
    if receipt.strongest and receipt.strongest_usd is not None:
        lines.append(
            ("instead", f"about {usd(receipt.strongest_usd)} with {receipt.strongest} alone (estimate)")
        )
    lines.extend(
        ("step", f"{step.kind} by {step.model}, {count(step.attempts, 'attempt')}, {usd(step.cost_usd)}")
        for step in result.steps
        if step.model
    )
    if result.evidence is not None:
        lines.append(("evidence", evidence_line(result.evidence)))
    if result.run:
        then = "`acr undo` reverses it" if result.applied else ""
        if result.patch and not result.applied and not result.hint:
            then = f"`acr apply {result.run}` applies it"
        lines.append(("run", f"{result.run}{': ' if then else ''}{then}"))
    return lines
