"""The backend `builtin/repair`: failing tests in, the smallest change that makes them pass out."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from acr_cli.events import Emit, Progress, ToolCalled
from acr_cli.protocols import Budget, Limits, Sandbox, Session, Tree
from acr_cli.records import Attempt, Candidate, Step, StepKind
from acr_cli.repair import hints as hints_of
from acr_cli.repair.answers import DriverFailed
from acr_cli.repair.campaign import Campaign, Found, Goal
from acr_cli.repair.hints import Hints
from acr_cli.repair.language import LanguageTable
from acr_cli.repair.mutators.table import MUTATORS
from acr_cli.repair.python import LANGUAGES
from acr_cli.repair.rank import propose
from acr_cli.repair.select import describe
from acr_cli.repair.source import Source, parse
from acr_cli.repair.suspects import Run, Suspicion, suspect
from acr_cli.repair.wire import Driver, read_command

SURVEY_SHARE = 0.35  # of the time limit, at most
MAX_FILES = 12  # the most suspicious ones
MAX_FILE_BYTES = 400_000
_DIGITS = 10  # of the number of a line
MAX_ASKED, MAX_ASKED_BYTES = 3_000, 30_000_000  # files that are asked how they import a name

_TEST_PATH = re.compile(r"(^|/)(tests?|testing)/|(^|/)(test_[^/]*|[^/]*_test|conftest|tests?)\.py$")


def is_test_path(path: str) -> bool:
    """Whether a path looks like a test or its configuration; used where no toolchain says so."""
    return _TEST_PATH.search(path) is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Outcome:
    """What a search came to."""

    found: tuple[Found, ...]
    tried: int
    why: str = ""  # one sentence where nothing was found


class Repair:
    """Search-based program repair without a language model, as a backend.

    `time_limit`: seconds of one attempt. `workers`: candidates tried at a time (None: one for each core, at
    most 4). `limits` bind what it runs, but for the time. `interpreter`: the sandbox's Python (None: found
    there). `protected`: says of a path whether it may not be changed (tests and their configuration)."""

    name = "repair"

    def __init__(
        self,
        *,
        emit: Emit,
        time_limit: float = 60.0,
        workers: int | None = None,
        limits: Limits | None = None,
        interpreter: str | None = None,
        protected: Callable[[str], bool] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.emit = emit
        self.time_limit = time_limit
        self.workers = workers if workers is not None else max(1, min(4, os.cpu_count() or 1))
        self.limits = limits or Limits()
        self.interpreter = interpreter
        self.protected = protected or is_test_path
        self.clock = clock

    def eligible(self, step: Step) -> bool:
        """Only failing tests in a language that has a table."""
        return step.kind is StepKind.EDIT and step.language in LANGUAGES and bool(step.failures)

    def attempt(
        self, step: Step, candidate: Candidate, tree: Tree, sandbox: Sandbox, budget: Budget
    ) -> Attempt:
        """Search for a change that makes the failing tests pass and breaks none; write it into the tree.

        Raises: BudgetExhausted, SandboxUnavailable."""
        budget.check()
        started = self.clock()
        since = tree.checkpoint()
        try:
            with sandbox.open(tree.root) as session:
                outcome, sources = self._search(step, tree, session, budget, started)
        except DriverFailed as broken:
            return Attempt(
                candidate=candidate.id,
                seconds=self.clock() - started,
                void=broken.message,
                summary=broken.message,
            )
        if not outcome.found:
            return Attempt(
                candidate=candidate.id,
                seconds=self.clock() - started,
                tried=outcome.tried,
                summary=outcome.why,
            )
        best, *others = outcome.found
        for path, text in _patched(best, sources).items():
            tree.path(path).write_bytes(text)
        return Attempt(
            candidate=candidate.id,
            patch=tree.diff(since),
            files=tree.changed(since),
            seconds=self.clock() - started,
            summary=_summary(best, len(others), outcome.tried, sources),
            alternatives=len(others),
            tried=outcome.tried,
        )

    def _search(
        self, step: Step, tree: Tree, session: Session, budget: Budget, started: float
    ) -> tuple[_Outcome, dict[str, Source]]:
        table = LANGUAGES[step.language]
        limit = min(self.time_limit, budget.remaining_seconds)
        files = [path for path in tree.files() if path.endswith(table.extensions)]
        tests = [path for path in files if self.protected(path)]
        command = read_command(step.test_command)
        driver = Driver(
            session,
            command=command,
            interpreter=self.interpreter,
            workers=self.workers,
            limits=self.limits,
        )
        self.emit(Progress(text="Looking at which lines the failing tests run"))
        targets = [case.id for case in step.failures]
        survey = driver.look(targets, tests, limit=SURVEY_SHARE * limit, each=_patience(step))
        goal = _goal(survey, limit)
        if goal is None:
            return _Outcome(found=(), tried=0, why=_no_goal(survey)), {}
        suspicion = _suspicion(survey)
        hints = _hints(survey, step)
        own = sorted(set(files) - set(tests))
        others = _texts(tree, [*own, *tests]) if "NameError" in hints.exceptions else {}
        suspects = [path for path in suspicion.paths() if path in set(own)][:MAX_FILES]
        sources = _sources(tree, suspects, table, survey, others)
        ranked = [r for source in sources.values() for r in propose(source, suspicion, hints, MUTATORS)]
        campaign = Campaign(
            driver=driver,
            sources=sources,
            goal=goal,
            deadline=started + limit,
            clock=self.clock,
            before_round=lambda tried: self._between_rounds(budget, tried, len(ranked)),
        )
        found = campaign.run(ranked)
        self._report(found, campaign.tried, sources)
        took = self.clock() - started
        if found:
            return _Outcome(found=found, tried=campaign.tried), sources
        why = _not_found(campaign.tried, len(ranked), took, up=took >= limit)
        if budget.remaining_seconds > 0 and (near := campaign.short()) is not None:
            what = describe([near.mutation], sources)
            why += (
                f" {what}: that alone makes {len(near.passed)} of {len(goal.targets)} pass and breaks none."
            )
        return _Outcome(found=found, tried=campaign.tried, why=why), sources

    def _between_rounds(self, budget: Budget, tried: int, proposed: int) -> None:
        budget.check()
        self.emit(Progress(text=f"Trying candidate patches ({tried} of up to {proposed} tried)"))

    def _report(self, found: tuple[Found, ...], tried: int, sources: dict[str, Source]) -> None:
        argument = f"{tried} candidate patches tried"
        result = describe(found[0].mutations, sources) if found else "none passes"
        self.emit(ToolCalled(name="repair", argument=argument, ok=bool(found), result=result))


def _sources(
    tree: Tree,
    paths: Sequence[str],
    table: LanguageTable,
    survey: Mapping[str, Any],
    others: Mapping[str, bytes],
) -> dict[str, Source]:
    """The files to change, parsed. `others`: those that are asked how they import a name."""
    sources = {}
    for path in paths:
        text = tree.path(path).read_bytes()
        if len(text) <= MAX_FILE_BYTES:
            imports = table.missing_imports(path, text, others) if others else ()
            sources[path] = parse(path, text, table, _types(survey, path), imports)
    return sources


def _texts(tree: Tree, paths: Sequence[str]) -> dict[str, bytes]:
    """The sources of a tree, as far as they are asked how they import a name."""
    texts, size = {}, 0
    for path in paths[:MAX_ASKED]:
        try:
            text = tree.path(path).read_bytes()
        except OSError:  # a link that leads nowhere
            continue
        size += len(text)
        if size > MAX_ASKED_BYTES:
            break
        texts[path] = text
    return texts


def _patience(step: Step) -> float:
    """Seconds that one traced test may take: tracing is slow, and a test that took very long hangs anyway."""
    longest = max((case.seconds for case in step.failures if case.seconds < 30), default=0.0)
    return min(12.0, max(3.0, 10 * longest))


def _goal(survey: Mapping[str, Any], limit: float) -> Goal | None:
    """The targets in the driver's ids; None when they cannot be found or do not fail there."""
    failing: Mapping[str, Any] = survey["failing"]
    own = [test for test in survey["targets"].values() if test]
    targets = [
        test for test in own if test not in failing or failing[test]["outcome"] not in ("passed", "skipped")
    ]
    if not own:
        targets = [test for test, seen in survey["others"].items() if seen["outcome"] in ("failed", "hung")]
    if not targets:
        return None
    passing = [test for test, seen in survey["others"].items() if seen["outcome"] == "passed"]
    passing += [test for test, seen in failing.items() if seen["outcome"] == "passed"]
    hung = any(seen["outcome"] == "hung" for seen in failing.values())
    seconds = survey["seconds"]
    timeout = max(0.5, 3 * seconds) if hung else max(1.0, 4 * seconds + 0.5)
    whole = sum(survey["others"][test]["seconds"] for test in passing if test in survey["others"])
    return Goal(
        targets=tuple(dict.fromkeys(targets)),
        must_pass=tuple(test for test in passing if test not in targets),
        timeout=min(timeout, limit / 3),
        # Collecting and reporting many tests can take longer than the tests themselves.
        full_timeout=min(max(3.0, 4 * (seconds + whole), 2 * survey["everything"]), limit),
    )


def _no_goal(survey: Mapping[str, Any]) -> str:
    if not survey["collected"]:
        return "Repair found no tests that it can run in the sandbox; nothing was changed."
    return "Repair could not make the failing tests fail again in the sandbox; nothing was changed."


def _not_found(tried: int, proposed: int, seconds: float, *, up: bool) -> str:
    more = f" The time was up; `acr config set repair_time {60 * max(3, round(seconds / 20))}` gives it more."
    of = f" (of up to {max(tried, proposed):,})" if up else ""
    said = f"None of {tried:,} candidate patches{of} tried in {seconds:.0f} s makes the failing tests pass"
    if not proposed:
        said = "Repair found no line outside the tests that the failing tests run"
    return f"{said}; nothing was changed.{more if up else ''}"


def _suspicion(survey: Mapping[str, Any]) -> Suspicion:
    results = {**survey["others"], **survey["failing"]}
    failed = [seen for seen in survey["failing"].values() if seen["outcome"] in ("failed", "hung")]
    if not failed:
        failed = [seen for seen in survey["others"].values() if seen["outcome"] in ("failed", "hung")]
    failing = [Run(lines=seen.get("lines", {}), frames=_frames(seen)) for seen in failed]
    failing += [
        Run(lines=survey["imported"], frames=_frames(error))
        for error in survey["errors"]
        if error["collect_error"] in survey["targets"].values()
    ]
    passing = [Run(lines=seen.get("lines", {})) for seen in results.values() if seen["outcome"] == "passed"]
    return suspect(failing, passing, survey["imported"])


def _frames(seen: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    frames = [(path, line) for path, line in seen.get("frames", ())]
    # The lines of a loop that does not end count like frames; where it was stopped is chance.
    late = [(path, line) for path, lines in seen.get("late", {}).items() for line in lines]
    return tuple(frames + late)


def _hints(survey: Mapping[str, Any], step: Step) -> Hints:
    seen = [result for result in survey["failing"].values() if result["outcome"] in ("failed", "hung")]
    failures = [(s.get("exception", ""), s.get("message", "")) for s in [*seen, *survey["errors"]]]
    if not failures:
        failures = [(case.exception, case.message) for case in step.failures]
    return hints_of.read(failures, hung=any(s["outcome"] == "hung" for s in seen))


def _types(survey: Mapping[str, Any], path: str) -> dict[int, dict[str, frozenset[str]]]:
    found = {}
    for place, names in survey["types"].items():
        file, _, line = place.rpartition(":")
        if file == path and line.isascii() and line.isdigit() and len(line) < _DIGITS:
            found[int(line)] = {name: frozenset(kinds) for name, kinds in names.items()}
    return found


def _patched(found: Found, sources: Mapping[str, Source]) -> dict[str, bytes]:
    texts: dict[str, bytes] = {}
    for mutation in sorted(found.mutations, key=lambda m: -m.start):
        texts[mutation.path] = mutation.apply(texts.get(mutation.path, sources[mutation.path].text))
    return texts


def _summary(best: Found, others: int, tried: int, sources: dict[str, Source]) -> str:
    what = describe(best.mutations, sources)
    also = {0: "no other one passed", 1: "1 other one passed too"}.get(others, f"{others} others passed too")
    return f"{what}; {tried} candidate patches tried, {also}."
