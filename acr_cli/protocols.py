"""The verbs of the loop: what each part must be able to do. Parts meet here and are joined in `build`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Protocol, runtime_checkable

from acr_cli.records import (
    Attempt,
    Baseline,
    Candidate,
    Choice,
    Context,
    Evidence,
    Neighbour,
    Outcome,
    Step,
    SuiteReport,
    Tally,
    Task,
    Usage,
    Verdict,
    Vote,
)

# --- sandbox ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandResult:
    """A command that ran in a sandbox. A failing command is data; a broken sandbox is `SandboxBroken`."""

    exit_code: int  # negative or 128 + n for a signal; 137 after a kill
    output: str  # stdout and stderr together, head and tail kept
    seconds: float
    timed_out: bool = False
    out_of_memory: bool = False
    out_of_disk: bool = False  # it wrote more than allowed, or filled the disk
    out_of_processes: bool = False  # it was ended for running more at once than allowed
    truncated: bool = False  # output was longer than what is kept


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What binds inside a sandbox."""

    memory_bytes: int = 2 * 1024**3
    pids: int = 512
    cpus: float = 2.0
    disk_bytes: int = 4 * 1024**3  # what all commands of a session together may add to their copy
    files: int = 1_000_000  # as above: files, folders and links
    seconds: float = 600.0
    output_bytes: int = 200_000  # kept, head and tail; more is dropped while the command runs on


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """What a sandbox needs to run one repository's tests; made by a toolchain, carried out by a sandbox."""

    language: str
    image: str | None = None  # base image for docker; None: the sandbox's default for the language
    dockerfile: str | None = None  # the repository's own, when the user asked for it
    setup: tuple[
        str, ...
    ] = ()  # shell commands that install dependencies, with network, in the copied manifests
    manifests: tuple[str, ...] = ()  # the files that `setup` reads; they key the cache
    installed: tuple[str, ...] = ()  # folders that `setup` fills, as a user's own install would: node_modules
    downloads: tuple[str, ...] = ()  # folders below $ACR_DEPENDENCIES of which a later `setup` can make use
    repository: str = ""  # identity: one repository's image never serves another
    environment: Mapping[str, str] = field(default_factory=dict)  # for tests
    unnamed: bool = False  # nobody names a dependency: `setup` adds what runs the tests, where it is missing
    also: tuple[Recipe, ...] = ()  # further languages of the tree, each with an environment of its own


class Session(Protocol):
    """One private copy of a tree inside a sandbox. Every `run` gets fresh processes on that copy: none
    outlives its command. Not thread-safe."""

    workdir: str  # where the copy is, as the commands see it
    scratch: str  # a writable folder outside the copy, as the commands see it; survives between runs

    def run(
        self,
        command: Sequence[str] | str,
        *,
        environment: Mapping[str, str] | None = None,
        limits: Limits | None = None,
    ) -> CommandResult:
        """Run argv, or a string by `sh -c`, in `workdir` without network.

        Raises: SandboxBroken."""
        ...

    def put(self, files: Mapping[str, bytes]) -> None:
        """Write files: keys are paths relative to `workdir`, or absolute below `scratch`."""
        ...

    def get(self, path: str) -> bytes | None:
        """A file's bytes (path as in `put`), or None where there is no regular file."""
        ...


@runtime_checkable
class Sandbox(Protocol):
    """Where foreign code runs."""

    name: str

    def prepare(self, recipe: Recipe, tree: Path) -> None:
        """Make the image or environment with the dependencies of `recipe` installed (cached).

        Raises: SandboxUnavailable when it cannot be made."""
        ...

    def open(self, tree: Path) -> AbstractContextManager[Session]:
        """A session on a private copy of `tree`; all of it is gone when the context is left."""
        ...

    def sweep(self) -> tuple[str, ...]:
        """Remove what runs that no longer live have left behind; the names of what was removed."""
        ...

    def describe(self) -> str:
        """One line for people: engine, version, image or interpreter."""
        ...


@runtime_checkable
class ServesLanguages(Protocol):
    """A sandbox that has prepared `Recipe.also` as well."""

    def of(self, language: str) -> Sandbox:
        """The sandbox as it was prepared for this language; itself for one that it was not asked for."""
        ...


# --- toolchains -------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class TestPlan:
    """How the tests of a repository are run. `argv` writes a report to `report` when it can."""

    __test__ = False  # not a test class, whatever its name says to a test runner

    command: str  # as a person would type it
    argv: tuple[str, ...]
    reason: str  # why this command: "pyproject.toml names pytest"
    report: str = ""  # path of the report inside the session's scratch; "" when the command writes none
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(
        default_factory=dict
    )  # to `put` before it runs: absolute paths in scratch
    below_root: bool = False  # all that is tested lies in folders: a toolchain that knows the root goes first
    language: str = ""  # whose environment it runs in; "": that of the recipe itself
    folder: str = ""  # of the project that it tests
    parts: tuple[TestPlan, ...] = ()  # several projects: these are run and read one by one, and `argv` is not


class Toolchain(Protocol):
    """One language's ways: detect, install, run the tests, read the report."""

    language: str
    extensions: tuple[str, ...]

    def recipe(self, tree: Path, *, setup: str | None) -> Recipe | None:
        """What a sandbox needs, or None when this toolchain does not know the tree. Reads files only."""
        ...

    def plan(self, tree: Path, *, command: str | None, tests: Sequence[str], scratch: str) -> TestPlan | None:
        """How to run all tests (`tests` empty) or these ids; `command` is the user's own. None: no tests."""
        ...

    def read(self, plan: TestPlan, report: bytes | None, result: CommandResult) -> SuiteReport:
        """The report as records; a fault is filled in where the tests could not start."""
        ...

    def protected(self, path: str) -> bool:
        """Whether a path is a test, a fixture or test configuration, which an attempt may not change."""
        ...

    def syntax_error(self, path: str, source: bytes) -> str | None:
        """Where the source does not parse ("line 3: ..."), or None."""
        ...


@runtime_checkable
class KeepsInlineTests(Protocol):
    """A toolchain of a language whose tests may stand in the file that they test."""

    def with_tests_of(self, path: str, before: bytes, after: bytes, *, new_tests: bool) -> bytes:
        """`after` with its tests as in `before`; where `new_tests` is set, further ones stay. Pure."""
        ...


@runtime_checkable
class Guards(Protocol):
    """A toolchain whose runs can hold a canary: a test that must fail, so that a report without it, or one in
    which it passes, is forged or broken."""

    def guarded(
        self, tree: Path, plan: TestPlan, *, name: str, seconds: float, again: Sequence[str] = ()
    ) -> TestPlan | None:
        """The plan with a canary whose id holds `name`; None where none can be added.

        A runner that can do so ends by itself when no test has begun within `seconds` (0: no bound), reports
        what ran until then, and prints `name` and `STOPPED` in one line. At its end it runs quick tests that
        failed, and those of the ids `again`, once more, and prints `name` and "passed again: ID" or "failed
        again: ID" for each. Pure but for reading the tree."""
        ...


STOPPED = "stopped, as its time was up"


@runtime_checkable
class ReachesFurther(Protocol):
    """A toolchain of several projects, of which only those are tested that a change can reach."""

    def reached(self, tree: Path, paths: Sequence[str], *, scratch: str) -> tuple[Recipe, TestPlan] | None:
        """What tests the projects that hold these paths or depend on one that does, and were not yet planned.

        The plan is of these projects alone; the recipe is of everything that was planned so far."""
        ...


# --- the tree of a run ------------------------------------------------------------------------------------


class Tree(Protocol):
    """The run's own copy of the user's working tree."""

    root: Path

    def path(self, relative: str) -> Path:
        """The absolute path of a file in the tree, checked: no escape, no `.git`, no link out.

        Raises: PathRefused."""
        ...

    def files(self) -> tuple[str, ...]:
        """All files of the tree (regular files and links), sorted; no `.git`."""
        ...

    def checkpoint(self) -> str:
        """Remember the present state; the id goes to `diff` and `restore`."""
        ...

    def delete(self, relative: str) -> None:
        """Remove a file, or a link itself; no error where there is none.

        Raises: PathRefused, OSError."""
        ...

    def diff(self, since: str) -> str:
        """Unified git diff (binary-safe) from a checkpoint to now; "" when equal.

        Raises: TreeDamaged where a file of the checkpoint is gone, and by none of these methods."""
        ...

    def changed(self, since: str) -> tuple[str, ...]:
        """Paths that differ from the checkpoint, sorted."""
        ...

    def restore(self, checkpoint: str, paths: Sequence[str] = ()) -> None:
        """Bring back the checkpoint: all of it, or just these paths (new ones are removed)."""
        ...

    def apply(self, patch: str) -> None:
        """Apply a unified diff to the tree, all or nothing.

        Raises: PatchConflict, PathRefused."""
        ...


# --- who acts ---------------------------------------------------------------------------------------------


class Budget(Protocol):
    """The caps of a run; hard, checked before every call."""

    def check(self) -> None:
        """Raises: BudgetExhausted when a cap of money, steps or time is reached."""
        ...

    def affords(self, usd: float | None) -> None:
        """Before a call of this estimated cost (None: unpriced). Raises: BudgetExhausted."""
        ...

    def reserve(self, usd: float) -> None:
        """Keep the most that the next call may cost, until it is charged, also from other processes.

        Raises: BudgetExhausted."""
        ...

    def charge(self, usd: float) -> None:
        """Count money that has been spent. Never raises."""
        ...

    def count_step(self) -> None:
        """Count one step. Raises: BudgetExhausted when there are too many."""
        ...

    @property
    def spent_usd(self) -> float: ...

    @property
    def remaining_usd(self) -> float:
        """`inf` without a cap."""
        ...

    @property
    def remaining_seconds(self) -> float: ...


class Backend(Protocol):
    """Somebody who can take a step: the agent driving a language model, or repair."""

    name: str

    def attempt(
        self, step: Step, candidate: Candidate, tree: Tree, sandbox: Sandbox, budget: Budget
    ) -> Attempt:
        """Change the tree. A broken machinery is an Attempt with `void`, what was spent until then counted.

        Raises: BudgetExhausted, Interrupted, SandboxUnavailable: nobody else would get any further."""
        ...

    def eligible(self, step: Step) -> bool:
        """Whether this backend can take such a step at all."""
        ...


class Planner(Protocol):
    def outline(self, task: Task, baseline: Baseline) -> tuple[Step, ...]:
        """The first steps of a run: one edit step, or a plan step whose attempt proposes the others."""
        ...


class Observer(Protocol):
    """C: everything about a step that the orchestrator may know."""

    def observe(self, step: Step, *, failed: Sequence[str], unavailable: Sequence[str]) -> Context: ...


class Policy(Protocol):
    """A: which candidate takes the step."""

    name: str

    def choose(self, context: Context, candidates: Sequence[Candidate], rng: Random | None) -> Choice | None:
        """The next candidate, or None when nobody is left or going on does not pay. `candidates` are the
        eligible ones; those in `context.failed` and `context.unavailable` are never chosen. Without `rng`
        nothing is explored: the likeliest choice."""
        ...


class Voter(Protocol):
    name: str
    weight: float  # of its vote, before anything is learnt

    def vote(self, context: Context, candidates: Sequence[Candidate]) -> Mapping[str, Vote]:
        """A vote by candidate id; a candidate that the voter knows nothing of is left out. Pure."""
        ...


class Verifier(Protocol):
    """F: the tests, before and after."""

    def baseline(self, task: Task, tree: Tree) -> Baseline:
        """Raises: BaselineCannotStart, SandboxUnavailable, UsageError (no task and no tests)."""
        ...

    def take_up(self, task: Task, tree: Tree, baseline: Baseline) -> bool:
        """Go on after a baseline of this very tree that was measured before, in the place of `baseline()`.
        False where the tests would be run in another way now: then it has to be measured again.

        Raises: SandboxUnavailable."""
        ...

    def check(self, step: Step, baseline: Baseline, attempt: Attempt, tree: Tree, since: str) -> Verdict:
        """Undo edits to protected files in the tree, then syntax, tests in a fresh sandbox, and the score
        u.

        Raises: SandboxUnavailable."""
        ...


class Judge(Protocol):
    """A model's opinion, where nothing that can be executed shows that a change works."""

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
        """`evidence` with the opinion in it, its u capped below what execution can give, and what was used.

        `authors` are the candidates that made the patch, `choice` the last one. None where nobody but them
        could judge, or the judge could not be heard. Never raises for that."""
        ...


class Embedder(Protocol):
    key: str  # names model, precision and version; vectors of two keys are never compared
    size: int

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Unit vectors, one a text, `size` floats each."""
        ...


class Store(Protocol):
    """M: outcomes, durable once `remember` has returned."""

    def remember(self, outcome: Outcome) -> None:
        """Raises: StoreError when it could not be kept."""
        ...

    def neighbours(
        self, vector: Sequence[float], embedder: str, *, k: int = 10, threshold: float = 0.5
    ) -> tuple[Neighbour, ...]:
        """The nearest outcomes that teach quality, nearest first; exact cosine; only of this embedder."""
        ...

    def tallies(self) -> tuple[Tally, ...]:
        """Sums over all that was learnt, evicted outcomes included, discounted by age: one tally for each
        combination of dimension, candidate, language, verifier and who had failed before, sorted by these."""
        ...

    def settle(self) -> None:
        """After a run: bring the Chroma collection up to date. Never raises for a busy or broken
        collection."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Edit:
    """One change to one file: replace `search` by `replace`, or the whole file where `search` is None."""

    path: str
    replace: str | None  # None: delete the file
    search: str | None = None
    line: int | None = None  # where `search` is said to begin, from 1; decides between equal places only
    target: str = ""  # where the file is moved to, as it is; nothing else happens to it then


class FormatScores(Protocol):
    """How often a candidate's edits could be read and applied, by edit format; kept between runs."""

    def of(self, candidate: str) -> Mapping[str, tuple[int, int]]:
        """(edits that could, edits that could not) by format."""
        ...

    def count(self, candidate: str, edit_format: str, *, right: int, wrong: int) -> None:
        """Add what one attempt has shown. Never raises."""
        ...


class EditFormat(Protocol):
    """How a model writes an edit down."""

    name: str
    instructions: str  # for the system prompt

    def parse(self, reply: str) -> tuple[Edit, ...]:
        """The edits in a reply, in order. Raises: BadReply with what is wrong, for the model to read."""
        ...


# --- models -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCall:
    id: str
    name: str
    arguments: str  # JSON text as the model wrote it


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """One message of a conversation, in the OpenAI roles."""

    role: str  # "system" | "user" | "assistant" | "tool"
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """A function that the model may call; `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, object]


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cost_usd: float = 0.0
    seconds: float = 0.0
    finish: str = "stop"  # "stop" | "tool_calls" | "length" | "content_filter"


class Gateway(Protocol):
    """The only way to a language model, and the only place that sends anything to a network."""

    def complete(
        self, candidate: Candidate, messages: Sequence[Message], *, tools: Sequence[Tool], budget: Budget
    ) -> Reply:
        """One reply, retried with back-off. Checks and charges the budget; `max_tokens` is clamped to it.

        Raises: ProviderError and its kinds, BudgetExhausted."""
        ...
