"""A run on the screen: one short line an event, on stderr; the result is in `report`.

Every event class has one method in `LINES`. What is slow is said by lines that turn on a terminal, and once
in a plain line elsewhere. All that comes from models, tests and files is cleaned of control sequences first.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from acr_cli.cli import flow
from acr_cli.cli.plan_shown import about, as_lines
from acr_cli.cli.report import evidence_line, evidence_lines
from acr_cli.cli.spinner import Spinner, kind_of
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
from acr_cli.records import Attempt, CaseResult, Evidence, Failed, Passed, StepKind, Unverified, Void

if TYPE_CHECKING:
    from rich.console import Console

DURING = (Progress, ModelText, ToolCalled, Notice)  # what may happen while something slow goes on
PAUSE = 10.0  # seconds between two lines of progress that differ in their numbers only
LOOKING = ("open", "search")  # tools that change nothing


class Screen:
    """Shows the events of one run on a console. `emit` never raises.

    Without `plans` a plan is not shown: it is the result."""

    def __init__(
        self,
        console: Console,
        *,
        quiet: bool = False,
        verbose: bool = False,
        plans: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console
        self._quiet = quiet
        self._verbose = verbose
        self._spinner = None
        if console.is_terminal and console.file.isatty() and not (quiet or console.is_dumb_terminal):
            self._spinner = Spinner(console, clock)
        self._plans = plans
        self._steps: tuple[str, ...] = ()
        self._kind = StepKind.EDIT  # of the step that is being taken
        self._at_work: dict[str, float] = {}  # candidates without a verdict -> since when
        self._expected: dict[str, float | None] = {}  # candidate -> what its attempt is to cost, USD
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
            if isinstance(event, PlanMade | StepStarted | PatchApplied | RunFinished):
                self._at_work.clear()
                self.close()
            elif self._spinner is not None and not isinstance(event, DURING):
                self._spinner.done("")
            show(self, event)
        except OSError:
            self._quiet = True

    def close(self) -> None:
        """Nothing turns any more."""
        if self._spinner is not None:
            self._spinner.stop()

    def _line(self, label: str, text: str, *, style: str = "bold", rest: str = "") -> None:
        flow.show(self._console, label, (text, ""), (rest, "dim"), style=style)

    def _below(self, text: str) -> None:
        flow.show(self._console, "", (text, "dim"))

    def _working(self) -> None:
        """Those who were chosen are at work, each on a line of its own where they are several."""
        if self._spinner is None:
            return
        several = len(self._at_work) > 1
        for candidate, since in self._at_work.items():
            if several:
                self._spinner.say(candidate, "at work", since=since)
            else:
                self._spinner.say("", f"{candidate} is at work", since=since)
        if several:
            self._spinner.done("")

    # --- one method an event ---

    def run_started(self, event: RunStarted) -> None:
        self._line("run", event.run, style="dim", rest=event.repository)

    def progress(self, event: Progress) -> None:
        if self._spinner is not None:
            self._spinner.say(event.beside, one_line(event.text))
        else:
            self._say_at_times(one_line(f"{event.beside}: {event.text}" if event.beside else event.text))

    def _say_at_times(self, text: str) -> None:
        """A line of progress, unless one that differs in its numbers only has just been shown."""
        kind, now = kind_of(text), self._clock()
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
        self._line("baseline", _standing(cases), rest=one_line(why))
        shown = baseline.failures()[:5]
        for case in shown:
            self._below(one_line(f"{case.id}  {case.exception} {case.message}".rstrip()))
        if (more := len(baseline.targets) - len(shown)) > 0:
            self._below(f"and {more} more")

    def plan(self, event: PlanMade) -> None:
        self._steps = tuple(step.id for step in event.steps)
        if len(event.steps) > 1 and self._plans:
            self._line("plan", count(len(event.steps), "step"))
            for line, step in zip(as_lines(event.steps), event.steps, strict=True):
                flow.show(self._console, "", (one_line(line), ""), (one_line(about(step)), "dim"))

    def step(self, event: StepStarted) -> None:
        step = event.step
        self._kind = step.kind
        if len(self._steps) < 2 and not self._verbose:
            return
        place = f"{self._steps.index(step.id) + 1}/{len(self._steps)} " if step.id in self._steps else ""
        what = step.text.partition("\n\n")[0] or "make the failing tests pass"
        self._line("step", f"{place}{step.kind}", rest=one_line(what))

    def choice(self, event: ChoiceMade) -> None:
        choice = event.choice
        again = f" (attempt {event.attempt})" if event.attempt > 1 else ""
        forecast = choice.forecast(choice.candidate)
        expected = ""
        self._expected[choice.candidate] = forecast.cost_usd if forecast else None
        if forecast is not None:
            cost = f"about {usd(forecast.cost_usd)}, " if forecast.cost_usd else ""
            expected = f"{cost}{percent(forecast.p_success)} likely to succeed"
        flow.show(
            self._console,
            "choice",
            (f"{choice.candidate}{again}", "bold cyan"),
            (expected, "dim"),
            (one_line(choice.reason, 300), "dim"),
        )
        if self._verbose:
            for each in choice.forecasts:
                votes = "  ".join(f"{v.voter} {v.value:.2f} x {v.weight:.2g}" for v in each.votes)
                self._below(f"{each.candidate}  score {each.score:.3f}  {votes}")
        self._at_work[choice.candidate] = self._clock()
        self._working()

    def text(self, event: ModelText) -> None:
        """What a model says, as it says it; without -v only that it does."""
        if not self._verbose:
            if self._spinner is not None and len(self._at_work) == 1:
                (candidate, since), *_ = self._at_work.items()
                self._spinner.say("", f"{candidate} is answering", since=since)
            return
        *lines, self._reply = (self._reply + event.text).split("\n")
        for line in lines:
            self._said_by_model(line)

    def _end_of_reply(self) -> None:
        if self._reply:
            reply, self._reply = self._reply, ""
            self._said_by_model(reply)

    def _said_by_model(self, line: str) -> None:
        from rich.text import Text

        self._console.print(Text(" " * flow.LABEL + clean(line), "dim"), soft_wrap=True)

    def tool(self, event: ToolCalled) -> None:
        """What changes something or went wrong; with -v, what was looked at as well."""
        doing = one_line(f"{event.name}  {event.argument}")
        if self._spinner is not None and not event.beside and len(self._at_work) == 1:
            self._working()
        if not self._verbose and event.ok and event.name in LOOKING:
            if self._spinner is not None:
                who = event.beside or next(iter(self._at_work), "")
                since = self._at_work.get(who)
                self._spinner.say(event.beside, f"{'' if event.beside else f'{who}: '}{doing}", since=since)
            return
        if event.name == "repair" and not self._verbose:
            return  # the attempt says the same
        mark = "·" if event.ok else "x"
        who = f"{event.beside}: " if event.beside else ""
        self._below(one_line(f"{mark} {who}{doing}  {event.result}"))

    def attempt(self, event: AttemptFinished) -> None:
        attempt = event.attempt
        if attempt.void:
            what = "came to nothing"  # the verdict says why
        elif attempt.steps:
            what = f"a plan of {count(len(attempt.steps), 'step')}"
        elif attempt.files:
            what = f"{changed_lines(attempt.patch)} in {listed(attempt.files)}"
        else:
            what = one_line(attempt.summary, 300) or "nothing changed"
        style = "yellow" if attempt.void else "bold"
        spent = ", ".join(self._spent(attempt))
        self._line("attempt", f"{self._whose(attempt.candidate)}{what}", style=style, rest=spent)
        said = one_line(attempt.summary, 300)
        if attempt.files and said and not attempt.void and said != f"Changed {', '.join(attempt.files)}.":
            self._below(said)
        if self._spinner is not None:
            self._spinner.done(attempt.candidate)

    def _spent(self, attempt: Attempt) -> list[str]:
        """What an attempt has cost, beside what it was to cost; and how much it did."""
        cost = usd(attempt.cost_usd)
        expected = self._expected.get(attempt.candidate)
        if expected and not attempt.void:
            cost += f" (about {usd(expected)} expected)"
        spent = [cost, seconds(attempt.seconds)]
        if tokens := attempt.usage.input_tokens + attempt.usage.output_tokens:
            spent.insert(1, f"{number(tokens)} tokens")
        if attempt.tried and not attempt.usage.calls:
            spent.append(f"{number(attempt.tried)} tried")
        return spent

    def _whose(self, candidate: str) -> str:
        """Whom a line is about, where several are at work."""
        return f"{candidate}: " if len(self._at_work) > 1 else ""

    def verdict(self, event: VerdictReached) -> None:
        whose = self._whose(event.candidate)
        if self._spinner is not None:
            self._spinner.done(event.candidate)
        match event.verdict:
            case Passed(evidence=evidence):
                self._line("verified", whose + evidence_line(evidence), style="bold green")
            case Failed(evidence=evidence):
                self._line("failed", whose + evidence_line(evidence), style="bold red")
            case Unverified() if self._kind is StepKind.PLAN:
                pass  # what it is worth shows later
            case Unverified(evidence=evidence) if self._kind is StepKind.TEST:
                self._line("test", whose + one_line(evidence.reason, 300))
            case Unverified(evidence=evidence):
                self._line("unproved", whose + evidence_line(evidence), style="bold yellow")
            case Void(reason=reason):
                self._line("void", whose + one_line(reason, 300), style="bold yellow")
        if not isinstance(event.verdict, Void):
            self._details(event.verdict.evidence)
        self._at_work.pop(event.candidate, None)
        if self._at_work and isinstance(event.verdict, Passed) and self._spinner is not None:
            for candidate in self._at_work:
                self._spinner.say(candidate, "is stopped, since it is not needed any more")

    def _details(self, evidence: Evidence) -> None:
        """What else is to be known of a verdict."""
        for label, text in evidence_lines(evidence)[1:]:
            self._below(one_line(f"{label}: {text}" if label else text, 300))
        for note in evidence.notes:
            if self._verbose and not note.startswith("Partial"):
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


def _standing(cases: Sequence[CaseResult]) -> str:
    """ "2 of 5 tests fail", "the build fails, 1 test passes": builds are told, not counted. Pure."""
    tests = [case for case in cases if not case.is_build]
    failing = sum(case.failed for case in tests)
    said = ["the build fails"] if any(case.failed and case.is_build for case in cases) else []
    if failing:
        said.append(f"{number(failing)} of {count(len(tests), 'test')} fail{'s' if failing == 1 else ''}")
    elif tests or not said:
        said.append(f"{count(len(tests), 'test')} pass{'es' if len(tests) == 1 else ''}")
    return ", ".join(said)
