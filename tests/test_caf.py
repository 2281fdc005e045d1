"""The loop with small real parts: a real tree, budget and policy; the others do as they are told."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from threading import Event as Flag

import pytest

from acr_cli.abreast import Place, side_by_side
from acr_cli.agent.budget import RunBudget, Shared
from acr_cli.caf import NOT_WORTH_IT, Loop, Parts
from acr_cli.course import Bid
from acr_cli.errors import BaselineCannotStart, BudgetExhausted, Interrupted, SandboxBroken, StoreError
from acr_cli.events import Event, Notice, PlanMade
from acr_cli.orchestrator.policies import open_policy
from acr_cli.progress import Trial
from acr_cli.protocols import Backend, Budget, Recipe, Sandbox, Session, Tree
from acr_cli.records import (
    JUDGE,
    OWN_TEST,
    Attempt,
    Baseline,
    Candidate,
    CaseResult,
    Choice,
    Context,
    Dimension,
    Evidence,
    Failed,
    Neighbour,
    Outcome,
    Passed,
    Price,
    RunResult,
    Status,
    Step,
    StepKind,
    SuiteReport,
    Tally,
    Task,
    Unverified,
    Usage,
    Verdict,
)
from acr_cli.worktree.tree import RunTree

GOOD, BAD, WORSE = "good\n", "bad\n", "worse\n"
COST = 0.10

# What a candidate does at a step: returns the attempt, or raises.
Deed = Callable[[Step, Tree, Budget], Attempt]


def candidate(name: str, *, backend: str = "scripted", model: str | None = None) -> Candidate:
    model = name if model is None else model
    return Candidate(id=name, backend=backend, model=model, family=name, price=Price(input=1.0, output=1.0))


def writes(content: str, name: str = "a.py") -> Deed:
    """Pays, and writes a file."""

    def deed(step: Step, tree: Tree, budget: Budget) -> Attempt:
        budget.affords(COST)
        tree.path(name).write_text(content)
        budget.charge(COST)
        return Attempt(candidate="", cost_usd=COST, seconds=1.0)

    return deed


def void(reason: str = "the provider is down") -> Deed:
    """Pays, changes something, and breaks."""

    def deed(step: Step, tree: Tree, budget: Budget) -> Attempt:
        tree.path("half.py").write_text("half")
        budget.charge(COST)
        return Attempt(candidate="", cost_usd=COST, void=reason)

    return deed


def plans(*steps: Step) -> Deed:
    def deed(step: Step, tree: Tree, budget: Budget) -> Attempt:
        budget.charge(COST)
        return Attempt(candidate="", cost_usd=COST, steps=steps)

    return deed


def raises(error: BaseException) -> Deed:
    def deed(step: Step, tree: Tree, budget: Budget) -> Attempt:
        tree.path("half.py").write_text("half")
        raise error

    return deed


def step(name: str = "edit", kind: StepKind = StepKind.EDIT, text: str = "") -> Step:
    return Step(id=name, kind=kind, text=text, dimension=Dimension.AGENTIC_PROGRAMMING, language="python")


class ScriptedBackend:
    """Does the deeds of each candidate in turn; knows the steps that it was given and the files it found."""

    name = "scripted"

    def __init__(self, deeds: Mapping[str, Sequence[Deed]], *, able: bool = True) -> None:
        self.deeds = {name: list(of) for name, of in deeds.items()}
        self.able = able
        self.seen: list[tuple[str, Step, Mapping[str, str]]] = []

    def eligible(self, step: Step) -> bool:
        return self.able

    def attempt(
        self, step: Step, candidate: Candidate, tree: Tree, sandbox: Sandbox, budget: Budget
    ) -> Attempt:
        files = {name: (tree.root / name).read_text() for name in tree.files()}
        self.seen.append((candidate.id, step, files))
        return replace(self.deeds[candidate.id].pop(0)(step, tree, budget), candidate=candidate.id)

    @property
    def order(self) -> list[str]:
        return [name for name, _, _ in self.seen]


class Nowhere:
    """A sandbox that nobody here uses."""

    name = "nowhere"

    def prepare(self, recipe: Recipe, tree: Path) -> None: ...

    def open(self, tree: Path) -> AbstractContextManager[Session]:
        raise AssertionError("no code runs in these tests")

    def sweep(self) -> tuple[str, ...]:
        return ()

    def describe(self) -> str:
        return "nowhere"


class ContentVerifier:
    """a.py must be good; edits to test_a.py are undone. `executable` False: nothing can be run."""

    def __init__(self, *, failing: bool = True, executable: bool = True) -> None:
        self.failing = failing
        self.executable = executable

    def baseline(self, task: Task, tree: Tree) -> Baseline:
        outcome = "failed" if self.failing else "passed"
        case = CaseResult(id="test_a", outcome=outcome)
        return Baseline(report=SuiteReport(cases=(case,)), targets=("test_a",) if self.failing else ())

    def check(self, step: Step, baseline: Baseline, attempt: Attempt, tree: Tree, since: str) -> Verdict:
        undone = tuple(name for name in tree.changed(since) if name.startswith("test_"))
        if undone:
            tree.restore(since, undone)
        if not self.executable:
            return Unverified(evidence=Evidence(u=0.3, reason="there are no tests."))
        content = tree.path("a.py").read_text()
        u = {GOOD: 1.0, BAD: 0.4}.get(content, 0.1)
        if content == GOOD:
            return Passed(evidence=Evidence(u=u, fixed=("test_a",), undone=undone, reason="test_a passes."))
        return Failed(
            evidence=Evidence(u=u, unfixed=("test_a",), undone=undone, reason=f"test_a: {content.strip()}.")
        )


class Memory:
    """Keeps outcomes in a list, or fails to."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []
        self.broken = False

    def remember(self, outcome: Outcome) -> None:
        if self.broken:
            raise StoreError("The disk is full.")
        self.outcomes.append(outcome)

    def neighbours(
        self, vector: Sequence[float], embedder: str, *, k: int = 10, threshold: float = 0.5
    ) -> tuple[Neighbour, ...]:
        return ()

    def tallies(self) -> tuple[Tally, ...]:
        return ()

    def settle(self) -> None: ...


class Watching:
    """An observer of the text alone."""

    def observe(self, step: Step, *, failed: Sequence[str], unavailable: Sequence[str]) -> Context:
        return Context(
            text=step.text, failed=tuple(failed), unavailable=tuple(unavailable), repository="repo"
        )


@dataclass(kw_only=True)
class Outline:
    """A planner with a fixed outline."""

    steps: tuple[Step, ...] = (step(),)

    def outline(self, task: Task, baseline: Baseline) -> tuple[Step, ...]:
        return self.steps


@dataclass(kw_only=True)
class World:
    """A loop and all that it is wired from."""

    folder: Path
    deeds: Mapping[str, Sequence[Deed]] = field(default_factory=dict)
    steps: tuple[Step, ...] = (step(),)
    parts: Mapping[str, object] = field(default_factory=dict)  # instead of the usual ones
    able: bool = True
    max_cost: float = 10.0
    max_steps: int = 20

    def __post_init__(self) -> None:
        source = self.folder / "source"
        source.mkdir(parents=True)
        (source / "a.py").write_text("broken\n")
        (source / "test_a.py").write_text("the test\n")
        self.tree = RunTree.copy(source, ["a.py", "test_a.py"], self.folder / "run")
        self.events: list[Event] = []
        self.memory = Memory()
        self.backend = ScriptedBackend(self.deeds, able=self.able)
        self.time = 0.0

    def clock(self) -> float:
        self.time += 1.0
        return self.time

    def fix(self, task: Task | None = None) -> RunResult:
        backends: Mapping[str, Backend] = {"scripted": self.backend}
        usual = Parts(
            tree=self.tree,
            sandbox=Nowhere(),
            planner=Outline(steps=self.steps),
            observer=Watching(),
            policy=open_policy("fixed", exploration=0.0),
            candidates=[candidate(name) for name in self.deeds],
            backends=backends,
            verifier=ContentVerifier(),
            store=self.memory,
            budget=RunBudget(
                max_cost=self.max_cost, max_steps=self.max_steps, max_time=1e9, clock=lambda: 0.0
            ),
            explain=lambda evidence: evidence.reason,
            emit=self.events.append,
            rng=Random(0),
            clock=self.clock,
        )
        return Loop("run1", replace(usual, **self.parts)).fix(task or Task())  # type: ignore[arg-type]

    @property
    def remembered(self) -> list[tuple[str, str, tuple[str, ...]]]:
        return [(o.candidate, o.verdict, o.failed_before) for o in self.memory.outcomes]


# --- one step ---------------------------------------------------------------------------------------------


def test_what_passes_at_once_ends_the_run_and_is_remembered(tmp_path: Path) -> None:
    world = World(folder=tmp_path, deeds={"weak": [writes(GOOD)], "strong": []})
    result = world.fix()
    assert (result.status, result.exit_code, result.verified) == (Status.FIXED, 0, True)
    assert result.summary == "test_a passes."
    assert result.files == ("a.py",)
    assert "+good" in result.patch
    assert world.remembered == [("weak", "passed", ())]
    (outcome,) = world.memory.outcomes
    assert (outcome.id, outcome.run, outcome.attempt, outcome.u) == ("run1.edit.1", "run1", 1, 1.0)
    assert (outcome.propensity, outcome.policy) == (1.0, "fixed")
    assert outcome.available == ("weak", "strong")
    assert (outcome.cost_usd, outcome.seconds, outcome.repository) == (COST, 1.0, "repo")
    assert outcome.teaches
    assert result.receipt.paid_usd == pytest.approx(COST)
    assert result.receipt.seconds > 0
    (report,) = result.steps
    assert (report.model, report.attempts, report.u) == ("weak", 1, 1.0)
    assert [event.type for event in world.events] == [
        "baseline", "plan", "step_started", "choice", "attempt", "verdict", "remembered",
    ]  # fmt: skip


def test_after_a_failure_the_next_one_starts_afresh_and_knows_what_failed(tmp_path: Path) -> None:
    world = World(folder=tmp_path, deeds={"weak": [writes(BAD)], "strong": [writes(GOOD)]})
    result = world.fix()
    assert result.status is Status.FIXED
    assert world.remembered == [("weak", "failed", ()), ("strong", "passed", ("weak",))]
    assert [outcome.id for outcome in world.memory.outcomes] == ["run1.edit.1", "run1.edit.2"]
    _, second, files = world.backend.seen[1]
    assert files == {"a.py": "broken\n", "test_a.py": "the test\n"}
    (lesson,) = second.lessons
    assert (lesson.candidate, lesson.reason) == ("weak", "test_a: bad.")
    assert "+bad" in lesson.patch
    assert "bad" not in result.patch
    (report,) = result.steps
    assert (report.attempts, report.cost_usd) == (2, pytest.approx(2 * COST))


def test_all_fail_and_the_best_attempt_is_kept(tmp_path: Path) -> None:
    world = World(
        folder=tmp_path, deeds={"one": [writes(WORSE)], "two": [writes(BAD)], "three": [writes(WORSE)]}
    )
    result = world.fix()
    assert (result.status, result.exit_code, result.applied) == (Status.NOT_FIXED, 1, False)
    assert "+bad" in result.patch
    assert result.files == ("a.py",)
    assert result.evidence is not None
    assert result.evidence.u == 0.4
    assert result.summary == "Not fixed: test_a: bad."
    assert "acr apply run1" in result.hint
    assert [verdict for _, verdict, _ in world.remembered] == ["failed"] * 3
    assert (world.tree.root / "a.py").read_text() == "broken\n"


class Thrifty:
    """A policy for which nobody is worth a second attempt."""

    name = "thrifty"

    def choose(self, context: Context, candidates: Sequence[Candidate], rng: Random | None) -> Choice | None:
        return (
            None if context.failed else open_policy("fixed", exploration=0.0).choose(context, candidates, rng)
        )


def test_a_run_that_ends_because_going_on_does_not_pay_says_so(tmp_path: Path) -> None:
    deeds = {"weak": [writes(BAD)], "strong": [writes(GOOD)]}
    world = World(folder=tmp_path, deeds=deeds, parts={"policy": Thrifty()})
    assert world.fix().status is Status.NOT_FIXED
    assert world.remembered == [("weak", "failed", ())]
    assert [event.text for event in world.events if isinstance(event, Notice)] == [NOT_WORTH_IT]


def test_no_more_attempts_are_made_than_allowed(tmp_path: Path) -> None:
    deeds = {name: [writes(BAD)] for name in ("one", "two", "three")}
    world = World(folder=tmp_path, deeds=deeds, parts={"attempts": 2})
    assert world.fix().status is Status.NOT_FIXED
    assert world.backend.order == ["one", "two"]


def test_edits_to_tests_are_not_in_the_patch(tmp_path: Path) -> None:
    def cheat(one: Step, tree: Tree, budget: Budget) -> Attempt:
        tree.path("test_a.py").write_text("pass\n")
        return replace(writes(GOOD)(one, tree, budget), patch="all of it", files=("a.py", "test_a.py"))

    world = World(folder=tmp_path, deeds={"weak": [cheat]})
    result = world.fix()
    assert result.status is Status.FIXED
    assert result.files == ("a.py",)
    assert "test_a" not in result.patch
    assert result.evidence is not None
    assert result.evidence.undone == ("test_a.py",)


# --- void: the machinery broke ----------------------------------------------------------------------------


def test_a_void_attempt_counts_for_nothing_and_the_next_one_is_tried(tmp_path: Path) -> None:
    world = World(folder=tmp_path, deeds={"down": [void()], "strong": [writes(GOOD)]}, parts={"attempts": 1})
    result = world.fix()
    assert result.status is Status.FIXED
    assert world.remembered == [("strong", "passed", ())]
    (outcome,) = world.memory.outcomes
    assert (outcome.attempt, outcome.available) == (1, ("strong",))
    assert "half.py" not in world.backend.seen[1][2]
    assert world.backend.seen[1][1].lessons == ()
    assert result.receipt.paid_usd == pytest.approx(2 * COST)


def test_all_void_is_a_failure_of_the_providers(tmp_path: Path) -> None:
    world = World(folder=tmp_path, deeds={"a": [void("no key")], "b": [void("time-out")]})
    result = world.fix()
    assert (result.status, result.exit_code, result.error_id) == (Status.ERROR, 5, "provider")
    assert "a: no key; b: time-out" in result.summary
    assert "acr models test" in result.hint
    assert world.remembered == []
    assert "+half" in result.patch  # the work so far is kept
    assert [report.attempts for report in result.steps] == [0]
    assert world.tree.files() == ("a.py", "test_a.py")


def test_void_after_failures_is_not_fixed(tmp_path: Path) -> None:
    world = World(folder=tmp_path, deeds={"weak": [writes(BAD)], "down": [void()]})
    result = world.fix()
    assert (result.status, result.exit_code) == (Status.NOT_FIXED, 1)
    assert "+bad" in result.patch
    assert world.remembered == [("weak", "failed", ())]
    assert [report.attempts for report in result.steps] == [1]


# --- how else a run ends ----------------------------------------------------------------------------------


def test_there_is_nothing_to_fix_where_all_tests_pass(tmp_path: Path) -> None:
    world = World(folder=tmp_path, deeds={"weak": []}, parts={"verifier": ContentVerifier(failing=False)})
    result = world.fix()
    assert (result.status, result.exit_code, result.receipt.paid_usd) == (Status.NOTHING_TO_FIX, 0, 0.0)
    assert world.backend.seen == []


def test_a_wish_without_executable_evidence_is_changed_and_unverified(tmp_path: Path) -> None:
    world = World(
        folder=tmp_path,
        deeds={"weak": [writes("new\n")], "strong": []},
        parts={"verifier": ContentVerifier(failing=False, executable=False)},
    )
    result = world.fix(Task(text="Make it new"))
    assert (result.status, result.exit_code, result.verified) == (Status.CHANGED_UNVERIFIED, 8, False)
    assert "+new" in result.patch
    assert "acr apply run1" in result.hint
    assert world.remembered == [("weak", "unverified", ())]
    assert not world.memory.outcomes[0].teaches


def test_nobody_who_may_take_the_step_is_an_error_with_a_way_out(tmp_path: Path) -> None:
    world = World(folder=tmp_path, deeds={"repair": []}, able=False)
    result = world.fix(Task(text="Add a button"))
    assert (result.status, result.exit_code, result.error_id) == (Status.ERROR, 3, "no-eligible-model")
    assert "needs a language model" in result.summary
    assert "acr config init" in result.hint


def test_without_any_model_a_failure_says_how_to_add_one(tmp_path: Path) -> None:
    world = World(
        folder=tmp_path, deeds={"r": [writes(BAD)]}, parts={"candidates": [candidate("r", model="")]}
    )
    assert "acr models add" in world.fix().hint


def test_a_baseline_that_cannot_start_pays_nobody(tmp_path: Path) -> None:
    class Broken(ContentVerifier):
        def baseline(self, task: Task, tree: Tree) -> Baseline:
            raise BaselineCannotStart("numpy is missing.", hint="--setup")

    world = World(folder=tmp_path, deeds={"weak": []}, parts={"verifier": Broken()})
    result = world.fix()
    assert (result.status, result.exit_code, result.error_id) == (Status.ERROR, 4, "baseline-cannot-start")
    assert (result.summary, result.hint, result.receipt.paid_usd) == ("numpy is missing.", "--setup", 0.0)


def test_a_budget_that_ends_in_the_middle_keeps_receipt_steps_and_best_attempt(tmp_path: Path) -> None:
    world = World(folder=tmp_path, deeds={"weak": [writes(BAD)], "strong": [writes(GOOD)]}, max_cost=0.15)
    result = world.fix()
    assert (result.status, result.exit_code, result.error_id) == (Status.BUDGET, 6, "budget")
    assert result.receipt.paid_usd == pytest.approx(COST)
    assert "+bad" in result.patch
    (report,) = result.steps
    assert (report.attempts, report.cost_usd) == (1, pytest.approx(COST))
    assert "--max-cost" in result.hint
    assert world.remembered == [("weak", "failed", ())]


def test_no_more_steps_are_taken_than_allowed(tmp_path: Path) -> None:
    world = World(
        folder=tmp_path, deeds={"weak": [writes(GOOD)] * 2}, steps=(step("one"), step("two")), max_steps=1
    )
    result = world.fix()
    assert (result.status, result.exit_code) == (Status.BUDGET, 6)
    assert "--max-steps" in result.hint
    assert [report.model for report in result.steps] == ["weak"]


def test_a_sandbox_that_breaks_in_the_middle_ends_the_run_with_what_there_is(tmp_path: Path) -> None:
    world = World(
        folder=tmp_path,
        deeds={"weak": [writes(BAD)], "strong": [raises(SandboxBroken("The engine is gone."))]},
    )
    result = world.fix()
    assert (result.status, result.exit_code, result.summary) == (Status.ERROR, 4, "The engine is gone.")
    assert "+bad" in result.patch


def test_what_was_made_when_the_sandbox_broke_is_kept(tmp_path: Path) -> None:
    world = World(
        folder=tmp_path, deeds={"first": [raises(SandboxBroken("The engine is gone."))], "next": []}
    )
    result = world.fix()
    assert (result.status, result.exit_code, result.summary) == (Status.ERROR, 4, "The engine is gone.")
    assert "+half" in result.patch


def test_a_store_that_fails_is_said_and_the_run_goes_on(tmp_path: Path) -> None:
    world = World(folder=tmp_path, deeds={"weak": [writes(BAD)], "strong": [writes(GOOD)]})
    world.memory.broken = True
    assert world.fix().status is Status.FIXED
    notices = [event for event in world.events if isinstance(event, Notice)]
    assert [n.level for n in notices] == ["warning", "warning"]
    assert notices[0].text == "This outcome was not remembered: The disk is full."


# --- interrupts -------------------------------------------------------------------------------------------


class Interrupting:
    """Another part, but for one method, at which Ctrl-C is pressed."""

    def __init__(self, part: object, method: str, error: BaseException) -> None:
        self._part, self._method, self._error = part, method, error

    def __getattr__(self, name: str) -> object:
        if name == self._method:
            return self._raise
        return getattr(self._part, name)

    def _raise(self, *arguments: object, **named: object) -> object:
        raise self._error


PRESSED = [
    ("tree", "checkpoint"), ("verifier", "baseline"), ("planner", "outline"), ("observer", "observe"),
    ("policy", "choose"), ("backend", "attempt"), ("verifier", "check"), ("store", "remember"),
    ("tree", "restore"), ("tree", "diff"), ("explain", ""), ("emit", ""),
]  # fmt: skip


@pytest.mark.parametrize("error", [KeyboardInterrupt(), Interrupted("Stopped.")], ids=["ctrl-c", "sigterm"])
@pytest.mark.parametrize(("part", "method"), PRESSED)
def test_an_interrupt_at_any_part_ends_the_run_as_interrupted(
    tmp_path: Path, part: str, method: str, error: BaseException
) -> None:
    world = World(folder=tmp_path, deeds={"weak": [writes(BAD)], "strong": [writes(GOOD)]})
    interrupting = Interrupting(None, "", error)._raise
    parts: dict[str, dict[str, object]] = {
        "tree": {"tree": Interrupting(world.tree, method, error)},
        "verifier": {"verifier": Interrupting(ContentVerifier(), method, error)},
        "planner": {"planner": Interrupting(Outline(), method, error)},
        "observer": {"observer": Interrupting(Watching(), method, error)},
        "policy": {"policy": Interrupting(open_policy("fixed", exploration=0.0), method, error)},
        "backend": {"backends": {"scripted": Interrupting(world.backend, method, error)}},
        "store": {"store": Interrupting(world.memory, method, error)},
        "explain": {"explain": interrupting},
        "emit": {"emit": interrupting},
    }
    world.parts = parts[part]
    result = world.fix()
    assert (result.status, result.exit_code, result.applied) == (Status.INTERRUPTED, 130, False)


# --- plans ------------------------------------------------------------------------------------------------


def test_a_plan_proposes_steps_that_are_taken_in_order(tmp_path: Path) -> None:
    first, second = step("first", text="one"), step("second", StepKind.TEST, text="two")
    world = World(
        folder=tmp_path,
        deeds={"m": [plans(first, second), writes(GOOD), writes("x\n", "b.py")]},
        steps=(step("plan", StepKind.PLAN), step("last")),
        parts={"verifier": ContentVerifier()},
    )
    world.backend.deeds["m"].append(writes(GOOD))
    result = world.fix(Task(text="Do it"))
    assert [one.id for _, one, _ in world.backend.seen] == ["plan", "first", "second", "last"]
    assert result.status is Status.FIXED
    assert result.files == ("a.py", "b.py")
    assert [event.steps for event in world.events if isinstance(event, PlanMade)][1] == (first, second)
    plan, *others = result.steps
    assert (plan.u, plan.attempts) == (None, 1)
    assert len(others) == 3
    shared = [outcome for outcome in world.memory.outcomes if outcome.shared_credit]
    assert [(o.step, o.verdict, o.kind, o.teaches) for o in shared] == [("plan", "passed", "plan", False)]
    assert world.memory.outcomes[-1] is shared[0]  # once the run's end is known


@pytest.mark.parametrize(
    ("deed", "verdicts"),
    [
        (writes(GOOD), ["passed"]),
        (writes(BAD), ["failed", "failed"]),
        (raises(KeyboardInterrupt()), ["unverified"]),
    ],
)
def test_a_plan_is_remembered_with_what_the_run_came_to(
    tmp_path: Path, deed: Deed, verdicts: list[str]
) -> None:
    deeds = {"m": [plans(step("one")), deed, plans(step("two")), deed]}
    world = World(folder=tmp_path, deeds=deeds, steps=(step("plan", StepKind.PLAN),))
    world.fix()
    assert [o.verdict for o in world.memory.outcomes if o.shared_credit] == verdicts


def test_a_step_that_fails_is_planned_anew_once_with_what_is_known_then(tmp_path: Path) -> None:
    deeds = {
        "m": [
            plans(step("one", text="first"), step("two", text="second"), step("three")),
            writes("x\n", "b.py"),
            writes(BAD),
            plans(step("four")),
            writes(WORSE),
        ]
    }

    class Patient(ContentVerifier):
        def check(self, step: Step, baseline: Baseline, attempt: Attempt, tree: Tree, since: str) -> Verdict:
            if step.id == "one":
                return Unverified(evidence=Evidence(u=0.5, reason="nothing broke."))
            return super().check(step, baseline, attempt, tree, since)

    plan = step("plan", StepKind.PLAN, text="all")
    world = World(folder=tmp_path, deeds=deeds, steps=(plan,), parts={"verifier": Patient()})
    result = world.fix(Task(text="all"))
    assert result.status is Status.NOT_FIXED
    seen = world.backend.seen
    assert [one.id for _, one, _ in seen] == ["plan", "one", "two", "planr", "four"]
    _, again, files = seen[3]
    assert (files["a.py"], files["b.py"]) == ("broken\n", "x\n")  # what failed is undone, what was done stays
    assert "- edit: first" in again.known
    assert "this step failed: second" in again.known
    assert [(one.candidate, one.reason) for one in again.lessons] == [("m", "test_a: bad.")]


def test_what_a_review_finds_is_planned_for_once(tmp_path: Path) -> None:
    def reviews(said: str) -> Deed:
        return lambda _step, _tree, _budget: Attempt(candidate="", summary=said)

    deeds = {
        "m": [
            plans(step("one"), step("look", StepKind.REVIEW)),
            writes(GOOD),
            reviews("b.py is missing."),
            plans(step("two"), step("again", StepKind.REVIEW)),
            writes("x\n", "b.py"),
            reviews("c.py is missing."),
        ]
    }

    class Reading(ContentVerifier):
        def check(self, step: Step, baseline: Baseline, attempt: Attempt, tree: Tree, since: str) -> Verdict:
            if step.kind is StepKind.REVIEW:
                return Unverified(evidence=Evidence(u=0.0, reason="nothing to run.", verifier="none"))
            return super().check(step, baseline, attempt, tree, since)

    plan = step("plan", StepKind.PLAN, text="all")
    world = World(folder=tmp_path, deeds=deeds, steps=(plan,), parts={"verifier": Reading()})
    result = world.fix(Task(text="all"))
    assert [one.id for _, one, _ in world.backend.seen] == ["plan", "one", "look", "planr", "two", "again"]
    assert "b.py is missing." in world.backend.seen[3][1].known
    # A review has nothing to run and takes nothing from what the edits have shown.
    assert (result.status, result.files) == (Status.FIXED, ("a.py", "b.py"))


# --- tests that acr writes --------------------------------------------------------------------------------

OWN = "test_b"


class TestWriting(ContentVerifier):
    """test_b.py, once written, is a test that acr wrote: `first` is the verdict on it."""

    __test__ = False

    def __init__(self, first: Verdict) -> None:
        super().__init__(failing=False)
        self.first = first
        self.targets: list[tuple[str, ...]] = []

    def check(self, step: Step, baseline: Baseline, attempt: Attempt, tree: Tree, since: str) -> Verdict:
        if step.kind is StepKind.TEST:
            return self.first
        self.targets.append(baseline.targets)
        if not baseline.targets:
            return Unverified(evidence=Evidence(u=0.3, reason="nothing shows it."))
        if tree.path("a.py").read_text() == GOOD:
            return Passed(evidence=Evidence(u=0.8, fixed=baseline.own, verifier=OWN_TEST, reason="own."))
        return Failed(evidence=Evidence(u=0.2, unfixed=baseline.own, verifier=OWN_TEST, reason="own fails."))


def fails_as_it_should() -> Verdict:
    report = SuiteReport(
        cases=(CaseResult(id="test_a", outcome="passed"), CaseResult(id=OWN, outcome="failed"))
    )
    return Unverified(evidence=Evidence(u=0.0, unfixed=(OWN,), report=report, verifier=OWN_TEST))


def test_a_test_that_acr_wrote_is_the_aim_of_the_edit_and_taught_once_it_passes(tmp_path: Path) -> None:
    verifier = TestWriting(fails_as_it_should())
    world = World(
        folder=tmp_path,
        deeds={"m": [writes("a test\n", "test_b.py"), writes(BAD)], "n": [writes(GOOD)]},
        steps=(step("test", StepKind.TEST), step("edit")),
        parts={"verifier": verifier},
    )
    result = world.fix(Task(text="Make it good"))
    assert (result.status, result.exit_code) == (Status.FIXED, 0)
    assert result.evidence is not None
    assert (result.evidence.verifier, result.files) == (OWN_TEST, ("a.py", "test_b.py"))
    assert verifier.targets == [(OWN,), (OWN,)]
    assert [case.id for case in world.backend.seen[1][1].failures] == [OWN]
    known = {o.step + o.candidate: (o.verdict, o.u) for o in world.memory.outcomes}
    assert known == {"editm": ("failed", 0.2), "editn": ("passed", 0.8), "testm": ("passed", 0.8)}


def test_several_edits_are_measured_by_the_test_at_the_last_of_them(tmp_path: Path) -> None:
    verifier = TestWriting(fails_as_it_should())
    world = World(
        folder=tmp_path,
        deeds={"m": [writes("a test\n", "test_b.py"), writes("x\n", "b.py"), writes(GOOD)]},
        steps=(step("test", StepKind.TEST), step("one"), step("two")),
        parts={"verifier": verifier},
    )

    assert world.fix(Task(text="Make it good")).status is Status.FIXED
    assert verifier.targets == [(), (OWN,)]


NO_EVIDENCE = Evidence(u=0.0, reason="it passes before.", verifier=OWN_TEST)


@pytest.mark.parametrize(
    ("verdict", "tries"), [(Failed(evidence=NO_EVIDENCE), 2), (Unverified(evidence=NO_EVIDENCE), 1)]
)
def test_without_a_test_that_shows_something_the_run_goes_on(
    tmp_path: Path, verdict: Verdict, tries: int
) -> None:
    world = World(
        folder=tmp_path,
        deeds={name: [writes("t\n", "test_b.py"), writes("new\n")] for name in ("m", "n", "o")},
        steps=(step("test", StepKind.TEST), step("edit")),
        parts={"verifier": TestWriting(verdict)},
    )
    result = world.fix(Task(text="Make it new"))
    assert (result.status, result.exit_code) == (Status.CHANGED_UNVERIFIED, 8)
    assert "nothing shows it." in result.summary
    assert [one.kind for _, one, _ in world.backend.seen] == [StepKind.TEST] * tries + [StepKind.EDIT]


def test_plan_only_takes_the_plan_and_nothing_else(tmp_path: Path) -> None:
    world = World(
        folder=tmp_path,
        deeds={"m": [plans(step("one"))]},
        steps=(step("plan", StepKind.PLAN), step("last")),
        parts={"plan_only": True},
    )
    result = world.fix(Task(text="Do it"))
    assert (result.status, result.exit_code, result.patch) == (Status.PLANNED, 0, "")
    assert result.summary.count("\n- ") == 2
    assert [one.id for _, one, _ in world.backend.seen] == ["plan"]
    assert [len(event.steps) for event in world.events if isinstance(event, PlanMade)] == [2, 1]


def test_the_steps_of_a_run_build_on_each_other(tmp_path: Path) -> None:
    world = World(
        folder=tmp_path,
        deeds={"m": [writes(GOOD), writes(BAD)], "n": [writes("x\n", "b.py")]},
        steps=(step("one"), step("two")),
    )
    result = world.fix()
    assert result.status is Status.FIXED
    assert world.backend.order == ["m", "m", "n"]
    assert (
        world.backend.seen[2][2]["a.py"] == GOOD
    )  # the failed attempt at the second step was undone, no more
    assert result.files == ("a.py", "b.py")


def test_what_is_kept_of_a_failed_run_is_the_patch_of_all_its_steps(tmp_path: Path) -> None:
    world = World(
        folder=tmp_path,
        deeds={"m": [writes(GOOD), writes(BAD, "b.py")]},
        steps=(step("one"), step("two")),
    )

    class Strict(ContentVerifier):
        def check(self, step: Step, baseline: Baseline, attempt: Attempt, tree: Tree, since: str) -> Verdict:
            if "b.py" in tree.files():
                return Failed(evidence=Evidence(u=0.2, reason="b.py is bad."))
            return super().check(step, baseline, attempt, tree, since)

    world.parts = {"verifier": Strict()}
    result = world.fix()
    assert (result.status, result.summary) == (Status.NOT_FIXED, "Not fixed: b.py is bad.")
    assert result.files == ("a.py", "b.py")
    assert "+good" in result.patch
    assert [report.u for report in result.steps] == [1.0, 0.2]


def test_a_step_that_changes_nothing_and_fails_has_its_own_evidence(tmp_path: Path) -> None:
    def nothing(one: Step, tree: Tree, budget: Budget) -> Attempt:
        return Attempt(candidate="")

    class Strict(ContentVerifier):
        def check(self, step: Step, baseline: Baseline, attempt: Attempt, tree: Tree, since: str) -> Verdict:
            if not tree.changed(since):
                return Failed(evidence=Evidence(u=0.0, reason="nothing was changed."))
            return super().check(step, baseline, attempt, tree, since)

    world = World(
        folder=tmp_path,
        deeds={"m": [writes(GOOD), nothing]},
        steps=(step("one"), step("two")),
        parts={"verifier": Strict()},
    )
    result = world.fix()
    assert (result.status, result.summary) == (Status.NOT_FIXED, "Not fixed: nothing was changed.")
    assert result.files == ("a.py",)  # what the step before it has come to is kept


def test_a_budget_that_ends_between_steps_keeps_what_was_done(tmp_path: Path) -> None:
    world = World(
        folder=tmp_path, deeds={"m": [writes(GOOD)] * 2}, steps=(step("one"), step("two")), max_cost=0.15
    )
    result = world.fix()
    assert (result.status, result.files) == (Status.BUDGET, ("a.py",))
    assert "+good" in result.patch


# --- side by side -----------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class Yard:
    """Places beside the run's own tree; knows which are there, and what was at work at the same time."""

    world: World
    places: list[str] = field(default_factory=list)
    most: int = 0
    left: int = 0  # how often somebody did not end by himself

    @contextmanager
    def place(self, name: str, number: int, stopped: Callable[[], bool]) -> Iterator[Place]:
        folder = self.world.folder / f"beside-{name}"
        budget = Shared(self.budget, stopped)
        self.places.append(name)
        self.most = max(self.most, len(self.places))
        try:
            yield Place(
                tree=self.world.tree.fork(folder),
                sandbox=Nowhere(),
                verifier=ContentVerifier(),
                backends={"scripted": self.world.backend},
                budget=budget,
                emit=self.world.events.append,
            )
        finally:
            shutil.rmtree(folder)
            self.places.remove(name)

    def leave(self) -> None:
        self.left += 1

    @property
    def budget(self) -> RunBudget:
        found = self.world.parts["budget"]
        assert isinstance(found, RunBudget)
        return found


def abreast(folder: Path, deeds: Mapping[str, Sequence[Deed]], *, cap: float = 10.0) -> tuple[World, Yard]:
    world = World(folder=folder, deeds=deeds)
    yard = Yard(world=world)
    budget = RunBudget(max_cost=cap, max_steps=20, max_time=1e9, clock=lambda: 0.0)
    world.parts = {"parallel": 3, "beside": yard, "budget": budget}
    return world, yard


def after(flag: Flag, deed: Deed) -> Deed:
    """Does it once the flag is set, at the next look at the budget."""

    def waiting(step: Step, tree: Tree, budget: Budget) -> Attempt:
        assert flag.wait(30)
        budget.check()
        return deed(step, tree, budget)

    return waiting


def telling(flag: Flag, deed: Deed) -> Deed:
    def told(step: Step, tree: Tree, budget: Budget) -> Attempt:
        try:
            return deed(step, tree, budget)
        finally:
            flag.set()

    return told


def until_cancelled(step: Step, tree: Tree, budget: Budget) -> Attempt:
    """Pays, and goes on until it is told to stop."""
    budget.charge(COST)
    tree.path("a.py").write_text("half")
    while True:
        budget.check()
        time.sleep(0.01)


def test_the_first_verified_success_side_by_side_ends_the_others(tmp_path: Path) -> None:
    deeds = {"one": [until_cancelled], "two": [writes(GOOD)], "three": [until_cancelled]}
    world, yard = abreast(tmp_path, deeds)
    result = world.fix()
    assert (result.status, result.files) == (Status.FIXED, ("a.py",))
    assert world.remembered == [("two", "passed", ())]  # who was cancelled has not failed
    assert result.receipt.paid_usd == pytest.approx(3 * COST)  # what was spent counts all the same
    assert result.steps[0].attempts == 1
    assert yard.places == []
    assert list(tmp_path.glob("beside-*")) == []
    assert (world.tree.root / "a.py").read_text() == GOOD


def test_when_all_fail_side_by_side_each_is_a_lesson_and_the_best_is_kept(tmp_path: Path) -> None:
    deeds = {"one": [writes(WORSE)], "two": [void()], "three": [writes(BAD)], "four": [writes(GOOD)]}
    world, yard = abreast(tmp_path, deeds)
    result = world.fix()
    assert result.status is Status.FIXED
    assert {(name, verdict) for name, verdict, _ in world.remembered} == {
        ("one", "failed"), ("three", "failed"), ("four", "passed"),
    }  # fmt: skip
    assert len({outcome.id for outcome in world.memory.outcomes}) == 3
    (last,) = [one for name, one, _ in world.backend.seen if name == "four"]
    assert {lesson.candidate for lesson in last.lessons} == {"one", "three"}
    assert yard.most <= 3


def test_a_success_counts_although_another_one_ran_out_of_money(tmp_path: Path) -> None:
    broke = Flag()
    deeds = {
        "one": [telling(broke, raises(BudgetExhausted("No money is left.")))],
        "two": [after(broke, writes(GOOD))],
    }
    world, _ = abreast(tmp_path, deeds)
    assert world.fix().status is Status.FIXED
    world, _ = abreast(
        tmp_path / "again", {"one": [raises(BudgetExhausted("No money."))], "two": [writes(BAD)]}
    )
    assert (world.fix().status, world.remembered) == (Status.BUDGET, [])


def test_an_interrupt_side_by_side_leaves_no_place_behind(tmp_path: Path) -> None:
    deeds = {"one": [raises(KeyboardInterrupt())], "two": [until_cancelled], "three": [until_cancelled]}
    world, yard = abreast(tmp_path, deeds)
    assert world.fix().status is Status.INTERRUPTED
    assert yard.places == []
    assert world.remembered == []


def test_what_each_is_about_to_spend_is_kept_for_it(tmp_path: Path) -> None:
    budget = RunBudget(max_cost=1.0, max_steps=1, max_time=1e9, clock=lambda: 0.0)
    one, two = (Shared(budget, lambda: False) for _ in range(2))
    one.affords(0.7)
    assert two.remaining_usd == pytest.approx(0.3)
    with pytest.raises(BudgetExhausted, match="others are spending"):
        two.affords(0.5)
    one.charge(0.1)
    two.affords(0.5)
    assert budget.spent_usd == pytest.approx(0.1)
    two.reserve(0.6)  # the most that it may cost
    assert one.remaining_usd == pytest.approx(0.3)
    with pytest.raises(BudgetExhausted, match="others are spending"):
        one.reserve(0.5)
    two.leave()  # a call that nobody waits for counts at its most, until it is known
    assert budget.spent_usd == pytest.approx(0.7)
    two.charge(0.4)
    assert budget.spent_usd == pytest.approx(0.5)


def test_who_does_not_stop_by_himself_is_left(tmp_path: Path) -> None:
    free = Flag()

    def deaf(step: Step, tree: Tree, budget: Budget) -> Attempt:
        assert free.wait(30)
        return Attempt(candidate="")

    world, yard = abreast(tmp_path, {"one": [deaf], "two": [writes(GOOD)]})
    bids = [
        Bid(
            context=Context(text=""),
            choice=Choice(candidate=name, propensity=1.0, policy="fixed", reason=""),
            candidate=candidate(name),
        )
        for name in ("one", "two")
    ]

    def attempt(bid: Bid, place: Place) -> Trial:
        done = world.backend.attempt(step(), bid.candidate, place.tree, place.sandbox, place.budget)
        verdict = Passed(evidence=Evidence(u=1.0))
        return Trial(
            number=1, step=step(), attempt=done, whole=done, verdict=verdict,
            context=bid.context, choice=bid.choice, candidate=bid.candidate,
        )  # fmt: skip

    try:
        (trial,) = side_by_side(bids, yard, attempt, patience=0.05)
    finally:
        free.set()
    assert (trial.candidate.id, yard.left) == ("two", 1)


# --- an opinion -------------------------------------------------------------------------------------------


class Opinionated:
    """A judge that likes everything; knows what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, tuple[str, ...]]] = []

    def review(
        self,
        task: Task,
        patch: str,
        evidence: Evidence,
        *,
        authors: Sequence[str],
        choice: Choice | None,
        budget: Budget,
    ) -> tuple[Evidence, Usage] | None:
        self.asked.append((patch, tuple(authors)))
        budget.charge(COST)
        return replace(evidence, u=0.6, reason="the judge likes it.", verifier=JUDGE), Usage(calls=2)


@pytest.mark.parametrize(
    ("content", "executable", "status", "asked"),
    [
        ("new\n", False, Status.CHANGED_UNVERIFIED, 1),
        (GOOD, True, Status.FIXED, 0),
        (BAD, True, Status.NOT_FIXED, 0),
    ],
)
def test_a_judge_is_asked_only_where_nothing_was_executed(
    tmp_path: Path, content: str, executable: bool, status: Status, asked: int
) -> None:
    judge = Opinionated()
    world = World(
        folder=tmp_path,
        deeds={"m": [writes(content)]},
        parts={"verifier": ContentVerifier(executable=executable), "judge": judge},
    )
    result = world.fix(Task(text="Make it new"))
    assert (result.status, len(judge.asked)) == (status, asked)
    assert [outcome.verifier for outcome in world.memory.outcomes] == ["tests"]  # an opinion teaches nothing
    if asked:
        assert judge.asked[0][1] == ("m",)
        assert (result.exit_code, result.summary.endswith("the judge likes it.")) == (8, True)
        assert result.receipt.paid_usd == pytest.approx(2 * COST)
        assert result.receipt.usage.calls == 2
