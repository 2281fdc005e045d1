"""What the history of a repository offers, and what became of it: records and events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from acr_cli.events import Event
from acr_cli.records import CaseResult

SHORT = 10  # digits of a commit that are shown


class Git(Protocol):
    """git on the repository whose history is read. Only commands that write nothing are asked."""

    def __call__(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """What `git ARGUMENTS` prints. Raises: AcrError with git's reason."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """What a commit did to one path. `status` is git's letter; a blob is "" where there is none."""

    path: str
    status: str  # A, M, D, R (renamed), T (another type)
    old_mode: str
    new_mode: str
    old: str
    new: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Commit:
    """One commit of the first-parent history. Without `parents` it is where the history begins."""

    id: str
    parents: tuple[str, ...]
    message: str
    time: int  # Unix time of the committer
    changes: tuple[Change, ...] = ()  # against the only parent; empty for merges and first commits

    @property
    def short(self) -> str:
        return self.id[:SHORT]

    @property
    def subject(self) -> str:
        return next((line.strip() for line in self.message.splitlines() if line.strip()), "")


@dataclass(frozen=True, kw_only=True, slots=True)
class Division:
    """What a commit changed, divided. Tests stand in the task's tree, everything else is hidden."""

    tests: tuple[Change, ...] = ()  # tests, fixtures, configuration of tests
    sources: tuple[Change, ...] = ()
    others: tuple[Change, ...] = ()  # documents


@dataclass(frozen=True, kw_only=True, slots=True)
class Prospect:
    """A commit that may be a task, as far as one can say without executing anything."""

    commit: Commit
    division: Division
    blobs: Mapping[str, bytes]  # of all its changes, by id
    text: str  # its message without the fix; "" where nothing is left


@dataclass(frozen=True, kw_only=True, slots=True)
class Examined:
    """What executing a commit's tests without and with it has shown. Without `reason` it is a task."""

    commit: str
    reason: str = ""  # why it is none
    kept: bool = True  # whether that may be relied on another time; not where the machinery failed
    failures: tuple[CaseResult, ...] = ()  # fail without the commit, each time, and pass with it
    test_command: str = ""
    language: str = ""
    bytes: int = 0  # of the files that the failing tests are in

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(case.id for case in self.failures)


@dataclass(frozen=True, kw_only=True, slots=True)
class PastTask:
    """A commit as a task: its parent's files with its own tests, and its message without the fix."""

    prospect: Prospect
    examined: Examined


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskReport:
    """What became of one past task."""

    commit: str
    subject: str
    status: str  # "listed", "done", "passed", "failed", "stopped", "void", "no_candidate", "error"
    tests: tuple[str, ...] = ()
    candidate: str = ""  # the last one, or who would be first
    attempts: int = 0
    u: float | None = None
    cost_usd: float = 0.0
    seconds: float = 0.0
    expected_usd: float | None = None  # cheapest first until one passes
    run: str = ""
    reason: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """What one candidate did in all tasks of one call."""

    attempts: int = 0
    passed: int = 0
    cost_usd: float = 0.0
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class WarmResult:
    """How `acr warm` ended."""

    status: str  # "done", "budget", "interrupted", "error"
    exit_code: int
    repository: str  # identity
    dry_run: bool
    commits: int  # looked at
    tasks: tuple[TaskReport, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)  # by reason, the most frequent first
    candidates: Mapping[str, Record] = field(default_factory=dict)
    outcomes: int = 0  # new in memory
    cost_usd: float = 0.0
    seconds: float = 0.0
    error_id: str = ""
    message: str = ""
    hint: str = ""

    @property
    def expected_usd(self) -> float | None:
        """Of all tasks together; None when that of any is unknown."""
        open_ = [task.expected_usd for task in self.tasks if task.status == "listed"]
        return None if None in open_ else sum(cost for cost in open_ if cost is not None)


@dataclass(frozen=True, kw_only=True, slots=True)
class CommitSkipped(Event):
    type: ClassVar[str] = "commit_skipped"
    commit: str
    subject: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskFound(Event):
    type: ClassVar[str] = "task_found"
    number: int  # from 1
    commit: str
    subject: str
    text: str
    tests: tuple[str, ...]
    tried: tuple[str, ...] = ()  # candidates whose outcome on it is in memory


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskEnded(Event):
    type: ClassVar[str] = "task"
    task: TaskReport
