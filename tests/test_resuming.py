"""A run that goes on from any of its checkpoints, as they are read back from the disk, comes to the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from acr_cli.build.checkpoints import Keeper, reached
from acr_cli.build.fixing import kept
from acr_cli.build.recording import Recording
from acr_cli.build.resuming import resume
from acr_cli.errors import UsageError
from acr_cli.progress import Checkpoint
from acr_cli.protocols import Tree
from acr_cli.records import Baseline, RunResult, Status, StepKind, Task
from acr_cli.settings import Settings
from acr_cli.worktree.runs import RunFolder, new_run
from tests.test_caf import BAD, COST, GOOD, ContentVerifier, Deed, World, plans, step, writes

PLAN = step("plan", StepKind.PLAN, text="everything")
PARTS = tuple(step(name, text=name) for name in ("one", "two", "three"))
# What "weak" and "strong" do, step by step; weak fails at the second one.
DEEDS: Sequence[tuple[str, Deed]] = (
    ("weak", plans(*PARTS)),
    ("weak", writes(GOOD)),
    ("weak", writes(BAD)),
    ("strong", writes(GOOD)),
    ("weak", writes("more\n", name="c.py")),
)
DONE = (0, 1, 2, 4, 5)  # deeds that are done at each checkpoint


class Noting(ContentVerifier):
    """Knows how often the baseline was measured; a baseline of before is the very same one."""

    def __init__(self) -> None:
        super().__init__()
        self.measured = 0

    def baseline(self, task: Task, tree: Tree) -> Baseline:
        self.measured += 1
        return super().baseline(task, tree)

    def take_up(self, task: Task, tree: Tree, baseline: Baseline) -> bool:
        return baseline == super().baseline(task, tree)


class Shelf:
    """Keeps every checkpoint in a folder of its own, as a run does."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs: list[RunFolder] = []

    def keep(self, checkpoint: Checkpoint) -> None:
        run = RunFolder(path=self.folder / str(len(self.runs)))
        run.path.mkdir(parents=True)
        Keeper(run, Recording(run.path / "recording.jsonl"), "here").keep(checkpoint)
        self.runs.append(run)


def world_of(folder: Path, shelf: Shelf, *, done: int = 0, resumed: Checkpoint | None = None) -> World:
    """The world of a run of which so many deeds are done."""
    deeds: dict[str, list[Deed]] = {"weak": [], "strong": []}
    for name, deed in DEEDS[done:]:
        deeds[name].append(deed)
    parts = {"verifier": Noting(), "keep": shelf.keep, "resumed": resumed}
    return World(folder=folder, deeds=deeds, steps=(PLAN,), parts=parts)


@pytest.mark.parametrize("number", range(len(DONE)))
def test_going_on_from_a_checkpoint_comes_to_what_the_whole_run_came_to(tmp_path: Path, number: int) -> None:
    shelf = Shelf(tmp_path / "kept")
    whole = world_of(tmp_path / "whole", shelf)
    expected = whole.fix(Task(text="x"))
    assert (expected.status, len(shelf.runs)) == (Status.FIXED, len(DONE))
    kept = reached(shelf.runs[number], "here")
    assert kept is not None

    again = world_of(tmp_path / "again", Shelf(tmp_path / "more"), done=DONE[number], resumed=kept)
    result = again.fix(Task(text="x"))

    assert (result.status, result.patch, result.files) == (expected.status, expected.patch, expected.files)
    assert result.evidence == expected.evidence
    assert result.steps == expected.steps
    assert result.receipt.paid_usd == pytest.approx(len(DEEDS) * COST)
    assert again.backend.order == [name for name, _ in DEEDS[DONE[number] :]]
    verifier = again.parts["verifier"]
    assert isinstance(verifier, Noting)
    assert verifier.measured == 0
    before = {o.id for o in whole.memory.outcomes}
    assert {o.id for o in again.memory.outcomes} <= before
    assert "run1.plan.1" in {o.id for o in again.memory.outcomes}  # it is remembered at the end of a run


def test_elsewhere_the_baseline_is_measured_again(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "kept")
    world_of(tmp_path / "whole", shelf).fix(Task(text="x"))
    kept = reached(shelf.runs[2], "elsewhere")
    assert kept is not None

    again = world_of(tmp_path / "again", Shelf(tmp_path / "more"), done=DONE[2], resumed=kept)
    result = again.fix(Task(text="x"))

    verifier = again.parts["verifier"]
    assert isinstance(verifier, Noting)
    assert (result.status, verifier.measured) == (Status.FIXED, 1)


def test_a_damaged_checkpoint_is_none(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "kept")
    world_of(tmp_path / "whole", shelf).fix(Task(text="x"))
    run = shelf.runs[1]
    run.keep("checkpoint.json", {**run.kept("checkpoint.json"), "queue": [{"id": 1}]})
    assert reached(run, "here") is None
    (run.path / "checkpoint.json").write_text("{")
    assert reached(run, "here") is None


def test_a_test_whose_name_holds_a_secret_has_no_baseline_to_go_on_with(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "kept")
    secret = "test_a[sk-live0123456789abcdefghij]"

    class Secret(Noting):
        def baseline(self, task: Task, tree: Tree) -> Baseline:
            return Baseline(report=super().baseline(task, tree).report, targets=(secret,))

    world = world_of(tmp_path / "whole", shelf)
    world.parts = {**world.parts, "verifier": Secret()}
    world.fix(Task(text="x"))
    kept = reached(shelf.runs[0], "here")
    assert kept is not None
    assert kept.baseline is None
    assert not [p for p in shelf.folder.rglob("*.json") if "sk-live0123456789" in p.read_text()]


def test_a_run_that_ends_while_it_is_taken_up_is_not_repeated(
    git_repo: Callable[..., Path], acr_home: Path
) -> None:
    run, lock = new_run(acr_home, repository=git_repo({"a.py": ""}), task="x")
    run.keep("begun.json", {"tree": "1", "task": {"text": "x"}})
    run.update(status="fixed", applied=True)
    lock.release()
    with pytest.raises(UsageError, match=f"The run {run.id} has ended meanwhile."):
        resume(Settings(home=acr_home), run=run, emit=lambda _: None)
    assert run.describe()["status"] == "fixed"


def test_a_run_that_is_kept_is_let_go_of_whatever_it_came_to(tmp_path: Path) -> None:
    def work() -> RunResult:
        raise UsageError("no")

    run, lock = new_run(tmp_path, repository=tmp_path, task="x")
    with pytest.raises(UsageError, match="no"):
        kept(run, lock, lambda _: None, work)
    assert not lock.is_locked
    assert run.describe()["status"] == "error"
