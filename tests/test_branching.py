"""Places for attempts side by side: bounded, told apart, and gone afterwards, however they end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from acr_cli.agent.budget import RunBudget
from acr_cli.build.branching import Branches, Portion, fitting
from acr_cli.errors import Cancelled
from acr_cli.events import Event, ModelText, Notice, ToolCalled
from acr_cli.protocols import CommandResult, Limits, Recipe, Session
from acr_cli.verifier.verifier import Verifier
from acr_cli.worktree.tree import RunTree

GIB = 1024**3


class Open:
    """A sandbox that runs nothing; knows its open sessions and the limits of each command."""

    name = "open"
    workdir = scratch = "/x"

    def __init__(self) -> None:
        self.sessions = 0
        self.limits: list[Limits | None] = []

    def prepare(self, recipe: Recipe, tree: Path) -> None: ...

    @contextmanager
    def open(self, tree: Path) -> Iterator[Session]:
        self.sessions += 1
        try:
            yield self
        finally:
            self.sessions -= 1

    def sweep(self) -> tuple[str, ...]:
        return ()

    def describe(self) -> str:
        return "open"

    def run(
        self,
        command: Sequence[str] | str,
        *,
        environment: Mapping[str, str] | None = None,
        limits: Limits | None = None,
    ) -> CommandResult:
        self.limits.append(limits)
        return CommandResult(exit_code=0, output="", seconds=0.0)

    def put(self, files: Mapping[str, bytes]) -> None: ...

    def get(self, path: str) -> bytes | None:
        return None


@pytest.mark.parametrize(
    ("wanted", "cpus", "memory", "room"),
    [
        (4, 8, 64 * GIB, 4),
        (4, 2, 64 * GIB, 2),
        (4, 8, 5 * GIB, 2),
        (4, 8, GIB, 1),
        (4, 8, 0, 4),
        (1, 8, 0, 1),
    ],
)
def test_as_many_are_at_work_as_the_machine_has_room_for(
    wanted: int, cpus: int, memory: int, room: int
) -> None:
    assert fitting(wanted, Limits(memory_bytes=2 * GIB), cpus=cpus, memory_bytes=memory) == room


def test_a_portion_shares_out_the_processors_and_begins_nothing_once_it_is_stopped(tmp_path: Path) -> None:
    sandbox, stopped = Open(), [False]
    portion = Portion(sandbox, Limits(cpus=1.0, seconds=9.0), lambda: stopped[0], ExitStack())
    with portion.of("python").open(tmp_path) as session:
        session.run("true")
        session.run("true", limits=Limits(cpus=4.0, seconds=1.0))
        stopped[0] = True
        with pytest.raises(Cancelled):
            session.run("true")
    assert [(limits.cpus, limits.seconds) for limits in sandbox.limits if limits] == [(1.0, 9.0), (1.0, 1.0)]
    with pytest.raises(Cancelled), portion.open(tmp_path):
        pass
    assert sandbox.sessions == 0


@pytest.fixture
def branches(tmp_path: Path) -> tuple[Branches, Open, list[Event]]:
    source, events, sandbox = tmp_path / "source", list[Event](), Open()
    source.mkdir()
    (source / "a.py").write_text("x = 1\n")
    tree = RunTree.copy(source, ["a.py"], tmp_path / "run")
    tree.checkpoint()
    made = Branches(
        tree=tree,
        sandbox=sandbox,
        verifier=Verifier(toolchains=[], sandbox=sandbox, emit=events.append),
        budget=RunBudget(max_cost=1.0, max_steps=9, max_time=1e9, clock=lambda: 0.0),
        backends=lambda _: {},
        folder=tmp_path / "run",
        limits=Limits(cpus=2.0),
        emit=events.append,
    )
    return made, sandbox, events


def never() -> bool:
    return False


def test_a_place_knows_the_checkpoints_of_the_runs_tree_and_changes_nothing_there(
    branches: tuple[Branches, Open, list[Event]], tmp_path: Path
) -> None:
    made, _, events = branches
    start = made.tree.checkpoint()
    with made.place("weak", 2, never) as place:
        place.tree.path("a.py").write_text("x = 2\n")
        place.tree.path("b.py").write_text("y = 1\n")
        patch = place.tree.diff(start)
        place.emit(ToolCalled(name="edit", argument="a.py", ok=True, result="done"))
        place.emit(ModelText(text="words of two at once"))
        place.emit(Notice(level="info", text="heard"))
    assert (tmp_path / "run" / "tree" / "a.py").read_text() == "x = 1\n"
    assert list((tmp_path / "run").glob("beside-*")) == []
    made.tree.apply(patch)
    assert made.tree.changed(start) == ("a.py", "b.py")
    assert [getattr(event, "beside", "") for event in events] == ["weak", ""]


def test_what_a_place_holds_can_be_taken_back_from_without(
    branches: tuple[Branches, Open, list[Event]], tmp_path: Path
) -> None:
    made, sandbox, _ = branches
    with made.place("weak", 2, never) as place, place.sandbox.open(tmp_path):
        place.budget.affords(0.25)
        made.leave()
        assert (sandbox.sessions, list((tmp_path / "run").glob("beside-*"))) == (0, [])
    assert made.budget.spent_usd == pytest.approx(0.25)
