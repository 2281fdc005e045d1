"""The nouns of the loop: frozen, keyword-only records that every part shares.

Units: money in USD, time in seconds, sizes in bytes, scores and probabilities in [0, 1], prices in USD per
million tokens. Paths are POSIX, relative to the root of the repository.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

SCHEMA = 1
"""Version of every JSON shape that acr prints or keeps."""


class Dimension(StrEnum):
    """The ten coding dimensions of CodeRouterBench (arXiv 2606.22902)."""

    CODE_GENERATION = "code_generation"
    ALGORITHM = "algorithm"
    BUG_FIXING = "bug_fixing"
    CODE_COMPLETION = "code_completion"
    CODE_REFACTORING = "code_refactoring"
    DATA_SCIENCE = "data_science"
    MULTI_LANGUAGE = "multi_language"
    CODE_UNDERSTANDING = "code_understanding"
    TEST_GENERATION = "test_generation"
    AGENTIC_PROGRAMMING = "agentic_programming"


class StepKind(StrEnum):
    """What a step is for; only edit and test steps can have executable evidence of their own."""

    PLAN = "plan"
    EDIT = "edit"
    TEST = "test"
    REVIEW = "review"


class Status(StrEnum):
    """How a run ended; the exit code follows from it (see `EXIT_CODES`)."""

    FIXED = "fixed"
    NOT_FIXED = "not_fixed"
    NOTHING_TO_FIX = "nothing_to_fix"
    CHANGED_UNVERIFIED = "changed_unverified"
    PLANNED = "planned"  # --plan-only
    BUDGET = "budget"
    INTERRUPTED = "interrupted"
    REFUSED = "refused"
    ERROR = "error"


EXIT_CODES: Mapping[Status, int] = {
    Status.FIXED: 0,
    Status.NOTHING_TO_FIX: 0,
    Status.PLANNED: 0,
    Status.NOT_FIXED: 1,
    Status.BUDGET: 6,
    Status.CHANGED_UNVERIFIED: 8,
    Status.REFUSED: 9,
    Status.INTERRUPTED: 130,
}
"""Exit code by status; for `Status.ERROR` the error's own code counts."""


# --- candidates -------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Price:
    """What a candidate costs. `None` for tokens means unpriced, which a cap on cost refuses."""

    input: float | None = None  # USD per million tokens
    output: float | None = None
    cached_input: float | None = None  # None: as input
    per_second: float = 0.0  # USD a second of work: local models and repair
    per_attempt: float | None = None  # USD an attempt, where that is known beforehand
    source: str = "unpriced"  # "config" | "litellm" | "loopback" | "builtin" | "unpriced"

    @property
    def known(self) -> bool:
        return self.input is not None and self.output is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """One choice of the router: a model x endpoint x reasoning effort, or a built-in backend."""

    id: str  # unique and stable: "anthropic/claude-opus-4-6", "...@high" with an effort, "builtin/repair"
    backend: str  # "agent" | "repair" | the name of a third-party backend
    model: str = ""  # litellm's name; empty for backends that call none
    family: str = ""
    base_url: str | None = None
    api_key_env: str | None = None
    effort: str | None = None
    edit_format: str = "auto"
    price: Price = field(default_factory=Price)
    local: bool = False  # answers from this machine
    context_window: int | None = None  # tokens
    tools: bool | None = None  # function calling; None: not known


# --- task and step ----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """What the user wants. With neither text nor log it is simply: the tests fail."""

    text: str = ""
    log: str = ""
    test_command: str | None = None
    context: str = ""  # what was said and done before, for whoever takes the steps

    @property
    def is_wish(self) -> bool:
        return bool(self.text.strip())


@dataclass(frozen=True, kw_only=True, slots=True)
class CaseResult:
    """One test case. `id` is the runner's own name, for pytest its node id."""

    id: str
    outcome: str  # "passed" | "failed" | "error" | "skipped"
    message: str = ""  # first line of the failure
    exception: str = ""  # exception type
    detail: str = ""  # traceback and captured output, cut
    file: str = ""
    seconds: float = 0.0
    is_build: bool = False  # no test but a build: verdicts heed it, and users are not told it as a test

    @property
    def passed(self) -> bool:
        return self.outcome == "passed"

    @property
    def failed(self) -> bool:
        return self.outcome in ("failed", "error")


@dataclass(frozen=True, kw_only=True, slots=True)
class SuiteReport:
    """What one run of the tests said."""

    cases: tuple[CaseResult, ...] = ()
    exit_code: int = 0
    timed_out: bool = False
    output: str = ""  # head and tail of what the command printed
    seconds: float = 0.0
    fault: str = ""  # why the tests could not start: collection or import error, missing tool; else ""
    left_out: tuple[str, ...] = ()  # of several projects, those that could not be tested, and why
    partial: bool = False  # it stopped by itself when its time was up: `cases` are those that ran until then
    canaries: tuple[
        CaseResult, ...
    ] = ()  # tests that must fail, added to tell a true report from a forged one
    again: tuple[
        tuple[str, bool], ...
    ] = ()  # tests that the runner ran again at once: whether they passed then

    def failing(self) -> tuple[str, ...]:
        return tuple(case.id for case in self.cases if case.failed)

    def passing(self) -> tuple[str, ...]:
        return tuple(case.id for case in self.cases if case.passed)


@dataclass(frozen=True, kw_only=True, slots=True)
class Baseline:
    """The tests before any change, and which of them are to be made to pass."""

    report: SuiteReport
    targets: tuple[str, ...] = ()  # ids of failing tests to fix
    test_command: str = ""  # as shown to the user; "" when the repository has no tests
    reason: str = ""  # why this command
    language: str = ""
    own: tuple[str, ...] = ()  # targets of tests that acr wrote in this run
    flaky: tuple[str, ...] = ()  # tests that flip without a change: they count neither way

    @property
    def has_tests(self) -> bool:
        return bool(self.report.cases)

    def failures(self) -> tuple[CaseResult, ...]:
        wanted = set(self.targets)
        return tuple(case for case in self.report.cases if case.id in wanted)


@dataclass(frozen=True, kw_only=True, slots=True)
class Lesson:
    """A failed attempt at the same step, for the next candidate: the last failure, not the transcript."""

    candidate: str
    patch: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One routed unit of work with a fresh conversation."""

    id: str
    kind: StepKind
    text: str  # what is to be done; empty for "make the failing tests pass"
    dimension: Dimension
    language: str
    files: tuple[str, ...] = ()  # where to look first
    failures: tuple[CaseResult, ...] = ()  # the failing target tests
    test_command: str = ""
    lessons: tuple[Lesson, ...] = ()  # what was tried on this step before, and why it failed
    check: str = ""  # how it will be verified, in a few words for people
    known: str = ""  # of a plan that is made anew: what was done, and what came to light


# --- context and choice -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Neighbour:
    """A past outcome near the task at hand."""

    id: str
    similarity: float  # cosine
    candidate: str
    passed: bool
    u: float
    cost_usd: float
    text: str = ""


OWN_TEST = "own_test"
"""The kind of verifier where all targets are tests that acr wrote: less is known by them."""

JUDGE = "judge"
"""The kind of verifier where a model gave its opinion and nothing was executed that could show it."""

SCORES = "scores"
"""The kind of verifier whose u is what an attempt is worth, also of one that failed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tally:
    """Own outcomes of one candidate that share all that a policy tells apart (Void ones are not kept).

    Numbers but `outcomes` may be discounted by age: an outcome of h half-lives ago counts 2^-h."""

    candidate: str
    dimension: str
    language: str = ""
    verifier: str = "tests"  # kind of verifier
    failed_before: tuple[str, ...] = ()  # who had failed on the same step already, sorted
    passed: float = 0.0
    failed: float = 0.0
    cost_usd: float = 0.0  # sum over all its outcomes, unverified ones included; so are the next three
    seconds: float = 0.0
    input_tokens: float = 0.0
    output_tokens: float = 0.0
    count: float = 0.0  # of outcomes, discounted as the sums are
    outcomes: int = 0  # of outcomes, never discounted
    u_passed: float = 0.0  # sums of u, for the kind of verifier `SCORES` alone
    u_failed: float = 0.0
    gains: tuple[tuple[str, float], ...] = ()
    """By voter, over verified outcomes: sum of log p_voter - log p_all, natural, where p is the probability
    that each had given to what then happened."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """C: all that the orchestrator may look at before it chooses."""

    text: str  # what is embedded
    vector: tuple[float, ...] = ()
    embedder: str = ""
    kind: StepKind = StepKind.EDIT
    dimension: str = Dimension.AGENTIC_PROGRAMMING  # one of `Dimension`, but for foreign matrices
    language: str = ""
    repository: str = ""  # identity, see worktree
    size_tokens: int = 0  # rough prompt size
    has_failing_test: bool = False
    failed: tuple[str, ...] = ()  # candidate ids that already failed on this step, in order
    unavailable: tuple[str, ...] = ()  # candidate ids whose machinery broke in this run
    warm: tuple[str, ...] = ()  # candidate ids that answered in this run a short while ago
    attempts: int = 3  # how many candidates may still be tried on this step, the next one included
    verifier: str = "tests"  # kind of verifier that will judge the step
    neighbours: tuple[Neighbour, ...] = ()
    tallies: tuple[Tally, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Vote:
    """One voter's opinion of one candidate."""

    voter: str
    value: float  # [0, 1]
    weight: float
    note: str = ""  # where it comes from, for people


@dataclass(frozen=True, kw_only=True, slots=True)
class Forecast:
    """What is expected of one candidate."""

    candidate: str
    p_success: float
    p_low: float
    p_high: float
    cost_usd: float | None
    score: float
    votes: tuple[Vote, ...] = ()
    note: str = ""  # e.g. "no prior: starts neutral"


@dataclass(frozen=True, kw_only=True, slots=True)
class Rung:
    """One rung of the ladder of escalation, cheapest path first."""

    candidate: str
    p_cumulative: float
    cost_cumulative_usd: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """A: the candidate taken, how likely the policy was to take it, and why."""

    candidate: str
    propensity: float  # (0, 1], given the history
    policy: str
    reason: str
    explored: bool = False
    forecasts: tuple[Forecast, ...] = ()
    neighbours: tuple[Neighbour, ...] = ()
    ladder: tuple[Rung, ...] = ()

    def forecast(self, candidate: str) -> Forecast | None:
        return next((f for f in self.forecasts if f.candidate == candidate), None)


# --- attempt and verdict ----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """Tokens of one or many calls."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0  # part of input_tokens
    calls: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            calls=self.calls + other.calls,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """What a backend did at a step. The change itself is in the run's tree; `patch` is its diff."""

    candidate: str
    patch: str = ""  # unified git diff against the step's start; "" if nothing was changed
    files: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cost_usd: float = 0.0
    seconds: float = 0.0
    summary: str = ""  # one sentence of what was done or why not
    alternatives: int = 0  # other patches that pass the visible tests too: many mean weak tests
    tried: int = 0  # candidate patches tried (repair) or tool calls made (agent)
    void: str = ""  # why the machinery broke; "" if it did not
    steps: tuple[Step, ...] = ()  # what a plan step proposes


@dataclass(frozen=True, kw_only=True, slots=True)
class Signal:
    """One part of the verifier's score: u = sum of weight * value, the weights summing to 1."""

    name: str
    value: float  # [0, 1]
    weight: float
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """Something that looks like a way around the tests."""

    kind: str  # "forged_report" | "ends_early" | "special_case" | "test_framework" | "fewer_tests"
    text: str  # one sentence
    decides: bool = False  # whether it alone makes the verdict a failure; else it lowers u


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """What was executed and what it showed; shared by every verdict but Void."""

    u: float
    signals: tuple[Signal, ...] = ()
    fixed: tuple[str, ...] = ()  # targets that pass now
    unfixed: tuple[str, ...] = ()  # targets that do not
    broken: tuple[str, ...] = ()  # tests that passed before and do not now
    undone: tuple[str, ...] = ()  # edits to tests or test configuration that were undone
    report: SuiteReport | None = None
    reason: str = ""  # one sentence
    verifier: str = "tests"  # kind of verifier
    findings: tuple[Finding, ...] = ()
    flaky: tuple[str, ...] = ()  # tests that flip without a change: they count neither way
    notes: tuple[str, ...] = ()  # what was not checked, or only in part; a sentence each


@dataclass(frozen=True, kw_only=True, slots=True)
class Passed:
    """All targets pass, nothing broke."""

    evidence: Evidence


@dataclass(frozen=True, kw_only=True, slots=True)
class Failed:
    """Executable evidence against the attempt."""

    evidence: Evidence


@dataclass(frozen=True, kw_only=True, slots=True)
class Unverified:
    """A change without executable evidence for it: teaches cost only."""

    evidence: Evidence


@dataclass(frozen=True, kw_only=True, slots=True)
class Void:
    """The machinery broke: teaches nothing about quality and is never stored as a failure."""

    reason: str


VERDICT_NAMES: Mapping[type, str] = {
    Passed: "passed",
    Failed: "failed",
    Unverified: "unverified",
    Void: "void",
}
"""The name of each kind of verdict in JSON and in memory."""

Verdict = Passed | Failed | Unverified | Void


# --- outcome and report -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """M: context + choice + verdict, as memory keeps it."""

    id: str
    run: str
    step: str
    attempt: int  # number of the attempt within its step, from 1
    time: float  # Unix time, UTC
    text: str
    vector: tuple[float, ...]
    embedder: str
    kind: str
    dimension: str
    language: str
    repository: str
    candidate: str
    family: str
    price: Price
    available: tuple[str, ...]  # candidates that could have been chosen
    failed_before: tuple[str, ...]  # candidates that had already failed on this step
    policy: str
    propensity: float
    verdict: str  # "passed" | "failed" | "unverified"
    verifier: str
    u: float
    signals: tuple[Signal, ...]
    cost_usd: float
    usage: Usage
    seconds: float
    shared_credit: bool = False  # plan and review steps: cost and the run's outcome, no quality
    votes: tuple[tuple[str, float], ...] = ()  # by voter, for this candidate, each in [0, 1]
    p_success: float | None = None  # what all voters together expected of it; None: nothing
    acr_version: str = ""

    @property
    def teaches(self) -> bool:
        """Whether voters may read its quality."""
        return not self.shared_credit and self.verdict in ("passed", "failed")

    @property
    def passed(self) -> bool:
        return self.verdict == "passed"


@dataclass(frozen=True, kw_only=True, slots=True)
class StepReport:
    """One line of the receipt."""

    kind: StepKind
    dimension: Dimension
    model: str  # the last candidate
    reason: str
    attempts: int
    u: float | None
    cost_usd: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Try:
    """One candidate's attempt at a step, for people: what came of it, and why."""

    candidate: str
    kind: StepKind
    verdict: str  # its name in `VERDICT_NAMES`
    reason: str = ""  # one sentence
    cost_usd: float = 0.0
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Receipt:
    """What was paid, and an estimate of what the strongest candidate alone would have cost."""

    paid_usd: float
    strongest: str = ""
    strongest_usd: float | None = None
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class RunResult:
    """How a run ended; the last line of `acr fix --json`."""

    run: str
    status: Status
    exit_code: int
    receipt: Receipt
    patch: str = ""
    files: tuple[str, ...] = ()
    applied: bool = False
    evidence: Evidence | None = None
    steps: tuple[StepReport, ...] = ()
    summary: str = ""
    hint: str = ""
    error_id: str = ""  # of the error that ended the run, "" if none did
    wrong: tuple[str, ...] = ()  # the failures that were to be mended, a line each
    tries: tuple[Try, ...] = ()  # in the order in which they ended
    left: tuple[str, ...] = ()  # steps that were not finished, a line each

    @property
    def verified(self) -> bool:
        return self.status is Status.FIXED
