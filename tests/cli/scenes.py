"""Runs made by hand, as lists of events and results, for what the screen and JSON make of them."""

from __future__ import annotations

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
from acr_cli.records import (
    Attempt,
    Baseline,
    CaseResult,
    Choice,
    Dimension,
    Evidence,
    Failed,
    Forecast,
    Neighbour,
    Passed,
    Receipt,
    Rung,
    RunResult,
    Signal,
    Status,
    Step,
    StepKind,
    StepReport,
    SuiteReport,
    Try,
    Unverified,
    Usage,
    Void,
    Vote,
)

CASES = (
    CaseResult(id="tests/test_a.py::test_low", outcome="passed"),
    CaseResult(
        id="tests/test_a.py::test_high",
        outcome="failed",
        message="assert 9 == 10",
        exception="AssertionError",
    ),
)
BASELINE = Baseline(
    report=SuiteReport(cases=CASES, exit_code=1),
    targets=("tests/test_a.py::test_high",),
    test_command="pytest -q",
    reason="pyproject.toml names pytest",
    language="python",
)
STEP = Step(
    id="s1",
    kind=StepKind.EDIT,
    text="",
    dimension=Dimension.AGENTIC_PROGRAMMING,
    language="python",
    failures=BASELINE.failures(),
)
PATCH = """\
diff --git a/a.py b/a.py
index 0000001..0000002 100644
--- a/a.py
+++ b/a.py
@@ -1,3 +1,3 @@ def clamp(x, low, high):
 def clamp(x, low, high):
-    return min(x, high - 1)
+    return min(x, high)
"""


def choice(candidate: str, reason: str) -> Choice:
    weak = Forecast(
        candidate="openai/weak",
        p_success=0.4,
        p_low=0.2,
        p_high=0.6,
        cost_usd=0.002,
        score=0.71,
        votes=(
            Vote(voter="prior", value=0.4, weight=0.5, note="family weak"),
            Vote(voter="price", value=0.9, weight=0.2),
        ),
    )
    strong = Forecast(
        candidate="openai/strong",
        p_success=0.8,
        p_low=0.7,
        p_high=0.9,
        cost_usd=0.21,
        score=0.66,
        votes=(Vote(voter="prior", value=0.8, weight=0.5), Vote(voter="price", value=0.1, weight=0.2)),
        note="no prior: starts neutral",
    )
    return Choice(
        candidate=candidate,
        propensity=0.95,
        policy="acrouter",
        reason=reason,
        forecasts=(weak, strong),
        neighbours=(
            Neighbour(
                id="o1",
                similarity=0.81,
                candidate="openai/weak",
                passed=False,
                u=0.2,
                cost_usd=0.001,
                text="a bound",
            ),
        ),
        ladder=(
            Rung(candidate="openai/weak", p_cumulative=0.4, cost_cumulative_usd=0.002),
            Rung(candidate="openai/strong", p_cumulative=0.88, cost_cumulative_usd=0.212),
        ),
    )


USAGE = Usage(input_tokens=1200, output_tokens=345, calls=2)
FAILED = Evidence(u=0.25, unfixed=("tests/test_a.py::test_high",), reason="test_high still fails.")
PASSED = Evidence(
    u=0.97,
    signals=(Signal(name="targets", value=1.0, weight=1.0),),
    fixed=("tests/test_a.py::test_high",),
    undone=("tests/test_a.py",),
)

ESCALATION: tuple[Event, ...] = (
    RunStarted(run="20260102-000000-abcd", repository="/home/ada/clamp"),
    SandboxReady(sandbox="docker", reason="Docker 28, python:3.12"),
    Progress(text="running the tests"),
    BaselineMeasured(baseline=BASELINE),
    PlanMade(steps=(STEP,)),
    StepStarted(step=STEP),
    ChoiceMade(step="s1", attempt=1, choice=choice("openai/weak", "cheapest with a fair chance.")),
    ModelText(text="I look at\na.py"),
    ModelText(text=" first.\nThen"),
    ToolCalled(name="read", argument="a.py", ok=True, result="12 lines"),
    ToolCalled(name="edit", argument="b.py", ok=False, result="no such file"),
    AttemptFinished(
        step="s1",
        attempt=Attempt(
            candidate="openai/weak",
            patch=PATCH,
            files=("a.py",),
            usage=USAGE,
            cost_usd=0.0021,
            seconds=4.2,
            summary="Changed the bound.",
        ),
    ),
    VerdictReached(step="s1", candidate="openai/weak", verdict=Failed(evidence=FAILED)),
    Remembered(outcome="o7"),
    ChoiceMade(step="s1", attempt=2, choice=choice("openai/strong", "openai/weak has failed here.")),
    AttemptFinished(
        step="s1", attempt=Attempt(candidate="openai/strong", void="the provider did not answer")
    ),
    VerdictReached(step="s1", candidate="openai/strong", verdict=Void(reason="the provider did not answer")),
    AttemptFinished(
        step="s1",
        attempt=Attempt(
            candidate="builtin/repair", patch=PATCH, files=("a.py",), cost_usd=0.001, seconds=75, tried=1234
        ),
    ),
    VerdictReached(step="s1", candidate="builtin/repair", verdict=Passed(evidence=PASSED)),
    PatchApplied(files=("a.py",), commit=""),
    Notice(level="warning", text="the tests are weak: 3 other patches pass too"),
)

SIDE_BY_SIDE: tuple[Event, ...] = (
    ChoiceMade(step="s1", attempt=1, choice=choice("openai/weak", "best value.")),
    ChoiceMade(step="s1", attempt=2, choice=choice("openai/strong", "side by side with openai/weak")),
    ToolCalled(name="edit", argument="a.py", ok=True, result="applied", beside="openai/strong"),
    Progress(text="verifying: pytest -q", beside="openai/weak"),
    AttemptFinished(
        step="s1",
        attempt=Attempt(candidate="openai/weak", patch=PATCH, files=("a.py",), cost_usd=0.002, seconds=3),
    ),
    VerdictReached(step="s1", candidate="openai/weak", verdict=Failed(evidence=FAILED)),
    Notice(level="warning", text="`acr config set repair_time 300` gives the search for a patch more time."),
)

HOSTILE = "\x1b]0;owned\x07\x1b[2Jred\x1b[31m \x9b31m\r\x08\u202eevil"

HOSTILE_RUN: tuple[Event, ...] = (
    Notice(level="info", text=HOSTILE),
    Progress(text=HOSTILE),
    ToolCalled(name=HOSTILE, argument=HOSTILE, ok=True, result=HOSTILE),
    ModelText(text=HOSTILE + "\n"),
    BaselineMeasured(
        baseline=Baseline(
            report=SuiteReport(cases=(CaseResult(id=HOSTILE, outcome="failed", message=HOSTILE),)),
            targets=(HOSTILE,),
        )
    ),
    AttemptFinished(step="s1", attempt=Attempt(candidate=HOSTILE, files=(HOSTILE,), summary=HOSTILE)),
    VerdictReached(step="s1", candidate=HOSTILE, verdict=Unverified(evidence=Evidence(u=0, reason=HOSTILE))),
    PatchApplied(files=(HOSTILE,), commit=HOSTILE),
)


def result(**changes: object) -> RunResult:
    fields: dict[str, object] = {
        "run": "20260102-000000-abcd",
        "status": Status.FIXED,
        "exit_code": 0,
        "receipt": Receipt(
            paid_usd=0.0031, strongest="openai/strong", strongest_usd=0.21, usage=USAGE, seconds=81.4
        ),
        "patch": PATCH,
        "files": ("a.py",),
        "applied": True,
        "evidence": PASSED,
        "steps": (
            StepReport(
                kind=StepKind.EDIT,
                dimension=Dimension.AGENTIC_PROGRAMMING,
                model="builtin/repair",
                reason="openai/weak has failed here.",
                attempts=2,
                u=0.97,
                cost_usd=0.0031,
            ),
        ),
        "summary": "Changed 1 line of a.py.",
    }
    return RunResult(**{**fields, **changes})  # type: ignore[arg-type]


RESULTS = {
    "fixed": result(),
    "unverified": result(
        status=Status.CHANGED_UNVERIFIED,
        exit_code=8,
        applied=False,
        evidence=Evidence(u=0.5, reason="The repository has no tests."),
        summary="A patch was made but not verified: the repository has no tests.",
        hint="Look at it and take it with `acr apply 20260102-000000-abcd`.",
    ),
    "failed": result(
        status=Status.NOT_FIXED,
        exit_code=1,
        applied=False,
        evidence=FAILED,
        wrong=("tests/test_a.py::test_high: AssertionError assert 9 == 10",),
        tries=(
            Try(
                candidate="openai/weak",
                kind=StepKind.EDIT,
                verdict="failed",
                reason="test_high still fails.",
                cost_usd=0.002,
                seconds=3,
            ),
            Try(
                candidate="builtin/repair",
                kind=StepKind.EDIT,
                verdict="failed",
                reason="None of 90 candidate patches makes the failing test pass.",
                seconds=60,
            ),
            Try(candidate="openai/strong", kind=StepKind.EDIT, verdict="void", reason="it did not answer"),
        ),
        left=("- test: cover it; test generation",),
        summary="Not fixed: test_high still fails.",
        hint="The best attempt is kept: `acr apply 20260102-000000-abcd` shows it and asks.",
    ),
    "nothing": result(
        status=Status.NOTHING_TO_FIX,
        patch="",
        files=(),
        applied=False,
        evidence=None,
        steps=(),
        summary="",
        receipt=Receipt(paid_usd=0.0),
    ),
}
FINISHED = RunFinished(result=RESULTS["fixed"])
