"""What a step is known by: its text without absolute paths, its vector, what memory knows."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event as Signal

import pytest

from acr_cli.context.observer import Completing, RepositoryObserver, prompt_tokens, step_text
from acr_cli.errors import ConfigurationError, StoreError
from acr_cli.events import Event, Notice
from acr_cli.records import CaseResult, Dimension, Neighbour, Outcome, Price, Step, StepKind, Tally, Usage

NEIGHBOUR = Neighbour(id="1", similarity=0.9, candidate="m", passed=True, u=1.0, cost_usd=0.1)
TALLY = Tally(candidate="m", dimension="agentic_programming", passed=1.0)


class Lengths:
    """An embedder whose vector is the length of the text."""

    key = "lengths"
    size = 1

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.texts += texts
        return [[float(len(text))] for text in texts]


class OneMemory:
    """A store that holds one outcome, and notes what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[tuple[float, ...], str]] = []

    def remember(self, outcome: Outcome) -> None:
        raise AssertionError("an observer only reads")

    def neighbours(
        self, vector: Sequence[float], embedder: str, *, k: int = 10, threshold: float = 0.5
    ) -> tuple[Neighbour, ...]:
        assert (k, threshold) == (10, 0.5)
        self.asked.append((tuple(vector), embedder))
        return (NEIGHBOUR,)

    def tallies(self) -> tuple[Tally, ...]:
        return (TALLY,)

    def settle(self) -> None:
        raise AssertionError("an observer only reads")


def failure(name: str, exception: str = "AssertionError", message: str = "1 != 2") -> CaseResult:
    return CaseResult(id=name, outcome="failed", exception=exception, message=message)


def step(
    text: str = "",
    *,
    failures: tuple[CaseResult, ...] = (),
    files: tuple[str, ...] = (),
    id: str = "1",  # noqa: A002
) -> Step:
    return Step(
        id=id,
        kind=StepKind.EDIT,
        text=text,
        dimension=Dimension.AGENTIC_PROGRAMMING,
        language="python",
        failures=failures,
        files=files,
    )


# --- the text ---------------------------------------------------------------------------------------------


def test_a_task_comes_before_its_failing_tests() -> None:
    text = step_text(
        step("Fix it\n\n  please  \n", failures=(failure("t.py::test_a"), failure("t.py::test_b", "", "")))
    )
    assert text == "Fix it\nplease\nt.py::test_a AssertionError 1 != 2\nt.py::test_b"


def test_files_are_named_only_where_no_test_fails() -> None:
    assert step_text(step("Fix it", files=("a.py",))) == "Fix it\na.py"
    assert "a.py" not in step_text(step("Fix it", files=("a.py",), failures=(failure("t"),)))


def test_long_tasks_and_many_failures_are_cut() -> None:
    many = tuple(failure(f"test_{n}") for n in range(100))
    text = step_text(step("\n".join(f"line {n}" for n in range(100)), failures=many))
    assert len(text.splitlines()) == 24
    assert "line 11" in text
    assert "line 12" not in text


@pytest.mark.parametrize(
    ("said", "known"),
    [
        ("/home/me/proj/a.py is broken", "a.py is broken"),
        ("see /usr/lib/python3.11/json/decoder.py:355", "see decoder.py:355"),
        ("~/proj/src/a.py", "a.py"),
        ("`/home/me/a.py`", "`a.py`"),
        ("(/home/me/a.py)", "(a.py)"),
        ("error:/home/me/a.py", "error:a.py"),
        ("/home/josé/a.py", "a.py"),
        ("src/pkg/a.py stays", "src/pkg/a.py stays"),
        ("./src/pkg/a.py stays", "./src/pkg/a.py stays"),
        ("../up/a.py stays", "../up/a.py stays"),
        ("https://example.org/issues/7 stays", "https://example.org/issues/7 stays"),
        ("a / b / c stays", "a / b / c stays"),
        ("1/2/3 stays", "1/2/3 stays"),
        ("and/or stays", "and/or stays"),
    ],
)
def test_absolute_paths_are_reduced_to_their_last_part(said: str, known: str) -> None:
    assert step_text(step(said)) == known


def test_two_checkouts_of_one_repository_are_known_by_the_same_text() -> None:
    one = step("fails", failures=(failure("t", "OSError", "no /home/ada/proj/data/x.csv"),))
    two = step("fails", failures=(failure("t", "OSError", "no /tmp/ci-7/proj/data/x.csv"),))
    assert step_text(one) == step_text(two)


# --- the context ------------------------------------------------------------------------------------------


def test_a_step_is_observed_with_what_memory_knows() -> None:
    memory = OneMemory()
    observer = RepositoryObserver(
        embedder=Lengths, store=memory, repository="abc", size=lambda _: 77, emit=lambda _: None
    )
    context = observer.observe(step("Fix", failures=(failure("t"),)), failed=["a"], unavailable=["b"])
    text = "Fix\nt AssertionError 1 != 2"
    assert (context.text, context.vector, context.embedder) == (text, (float(len(text)),), "lengths")
    assert memory.asked == [(context.vector, "lengths")]
    assert (context.neighbours, context.tallies) == ((NEIGHBOUR,), (TALLY,))
    assert (context.failed, context.unavailable) == (("a",), ("b",))
    assert (context.repository, context.size_tokens, context.language) == ("abc", 77, "python")
    assert (context.kind, context.dimension) == (StepKind.EDIT, Dimension.AGENTIC_PROGRAMMING)
    assert context.has_failing_test
    assert not observer.observe(step("Fix"), failed=[], unavailable=[]).has_failing_test


def test_the_embedder_is_opened_at_the_first_look_and_asked_once_for_a_text() -> None:
    opened: list[Lengths] = []

    def open_one() -> Lengths:
        opened.append(Lengths())
        return opened[-1]

    observer = RepositoryObserver(
        embedder=open_one, store=OneMemory(), repository="", size=lambda _: 0, emit=lambda _: None
    )
    assert opened == []
    for one in (step("a"), step("a", id="2"), step("b")):
        observer.observe(one, failed=[], unavailable=[])
    assert [embedder.texts for embedder in opened] == [["a", "b"]]


def test_a_prompt_is_about_a_quarter_of_its_characters() -> None:
    assert prompt_tokens(step(), []) == 0
    assert prompt_tokens(step("x" * 40, failures=(failure("t", message="y" * 20),)), [400, 40]) == 125


class Broken(OneMemory):
    """A store that cannot be read."""

    def tallies(self) -> tuple[Tally, ...]:
        raise StoreError("The journal was written by a newer acr.")


def test_a_memory_that_cannot_be_read_is_reported_and_the_run_goes_on() -> None:
    said: list[Event] = []
    observer = RepositoryObserver(
        embedder=Lengths, store=Broken(), repository="abc", size=lambda _: 0, emit=said.append
    )

    context = observer.observe(step("Fix"), failed=(), unavailable=())

    assert (context.neighbours, context.tallies) == ((), ())
    assert said == [
        Notice(level="warning", text="Going on without memory: The journal was written by a newer acr.")
    ]


# --- vectors that can wait --------------------------------------------------------------------------------


class Keeping(OneMemory):
    """A store that keeps what it is given, and knows what it is told to."""

    def __init__(self, *, known: tuple[Tally, ...] = ()) -> None:
        super().__init__()
        self.known = known
        self.kept: list[Outcome] = []

    def remember(self, outcome: Outcome) -> None:
        self.kept.append(outcome)

    def tallies(self) -> tuple[Tally, ...]:
        return self.known


def outcome(text: str, embedder: str = "") -> Outcome:
    return Outcome(
        id="r.1.1",
        run="r",
        step="1",
        attempt=1,
        time=0.0,
        text=text,
        vector=(),
        embedder=embedder,
        kind="edit",
        dimension="agentic_programming",
        language="python",
        repository="abc",
        candidate="m",
        family="m",
        price=Price(input=0.0, output=0.0),
        available=("m",),
        failed_before=(),
        policy="fixed",
        propensity=1.0,
        verdict="passed",
        verifier="tests",
        u=1.0,
        signals=(),
        cost_usd=0.0,
        usage=Usage(),
        seconds=1.0,
    )


def waiting(store: Keeping, model: Signal, *, lone: bool, embedder=Lengths) -> RepositoryObserver:
    return RepositoryObserver(
        embedder=embedder,
        store=store,
        repository="abc",
        size=lambda _: 0,
        emit=lambda _: None,
        first=lambda: model.wait(10) and None,
        lone=lone,
    )


@pytest.mark.parametrize(("known", "lone"), [((TALLY,), True), ((), False)])
def test_a_vector_that_no_choice_depends_on_comes_with_the_outcome(known, lone: bool) -> None:
    store, model = Keeping(known=known), Signal()
    observer = waiting(store, model, lone=lone)
    context = observer.observe(step("Fix"), failed=(), unavailable=())
    assert (context.vector, context.embedder, context.tallies) == ((), "", known)
    assert store.asked == []
    model.set()
    Completing(store, observer, print).remember(outcome(context.text))
    assert [(kept.vector, kept.embedder) for kept in store.kept] == [((3.0,), "lengths")]


def test_where_memory_has_something_to_say_to_several_the_vector_comes_first() -> None:
    store = Keeping(known=(TALLY,))
    observer = waiting(store, Signal(), lone=False)
    context = observer.observe(step("Fix"), failed=(), unavailable=())
    assert (context.vector, context.neighbours) == ((3.0,), (NEIGHBOUR,))
    Completing(store, observer, print).remember(outcome("Fix", embedder="another"))
    Completing(store, observer, print).remember(outcome(""))
    assert [kept.embedder for kept in store.kept] == ["another", ""]


def test_an_outcome_that_no_vector_can_be_made_for_is_remembered_without_one() -> None:
    def missing() -> Lengths:
        raise ConfigurationError("The weights are not installed.", hint="Reinstall acr.")

    store, model = Keeping(), Signal()
    model.set()
    observer = waiting(store, model, lone=True, embedder=missing)
    observer.observe(step("Fix"), failed=(), unavailable=())
    said: list[Event] = []
    Completing(store, observer, said.append).remember(outcome("Fix"))
    assert [(kept.text, kept.vector, kept.embedder) for kept in store.kept] == [("Fix", (), "")]
    assert "not installed" in str(said[0])
