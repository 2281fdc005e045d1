"""What is typed in a chat, and how a plan is edited: pure parts of both."""

from __future__ import annotations

import pytest

from acr_cli.build.asking import only_tests
from acr_cli.cli.chat_reading import completions, plain
from acr_cli.cli.plan_shown import as_lines, from_lines, without
from acr_cli.errors import UsageError
from acr_cli.records import Dimension, Step, StepKind

FILES = ("docs/readme.md", "src/load.py", "src/loader/table.py", "tests/test_load.py")


def step(number: int, text: str, kind: StepKind = StepKind.EDIT) -> Step:
    rest = "\n\nThis is one part of a larger task:\nall of it"
    return Step(
        id=f"s1.{number}",
        kind=kind,
        text=text + rest,
        dimension=Dimension.AGENTIC_PROGRAMMING,
        language="python",
        files=(f"{number}.py",),
    )


STEPS = (step(1, "read the table"), step(2, "say what\nfailed"), step(3, "look again", StepKind.REVIEW))


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("/di", ["/diff"]),
        ("/", ["/diff", "/model"]),
        ("/model w", ["weak"]),
        ("/model ", ["weak", "strong"]),
        ("fix loa", ["src/load.py"]),
        ("fix src/lo", ["src/load.py", "src/loader/table.py"]),
        ("see @table", ["src/loader/table.py"]),
        ("see load.py ", []),
        ("", []),
    ],
)
def test_tab_completes_commands_their_values_and_files(typed: str, completed: list[str]) -> None:
    found = completions(
        typed,
        commands=("/diff", "/model"),
        values=lambda name: ("weak", "strong") if name == "/model" else (),
        files=lambda: FILES,
    )
    assert [value for value, _ in found] == completed


def test_a_line_that_ends_in_a_backslash_goes_on_in_the_next() -> None:
    read = plain(["one\\\n", "two\n", "three\n", "four\\\n"])
    assert [read(), read(), read()] == ["one\ntwo", "three", "four"]
    with pytest.raises(EOFError):
        read()


def test_a_plan_that_is_left_alone_is_the_same() -> None:
    assert from_lines("\n".join(as_lines(STEPS)), STEPS) == STEPS


def test_lines_of_a_plan_may_be_changed_moved_dropped_and_added() -> None:
    text = "# a remark\n3 review: look again\n\n1 edit: read both tables\ntest: a row without a name\n"

    review, edit, test = from_lines(text, STEPS)

    assert review == STEPS[2]
    assert (edit.id, edit.files) == ("s1.1", ("1.py",))
    assert edit.text == "read both tables\n\nThis is one part of a larger task:\nall of it"
    assert (test.kind, test.dimension, test.files) == (StepKind.TEST, Dimension.TEST_GENERATION, ())
    assert test.text.startswith("a row without a name\n\nThis is one part")
    assert len({review.id, edit.id, test.id}) == 3
    assert without(STEPS, [1, 3]) == (STEPS[1],)


@pytest.mark.parametrize("line", ["do it", "4 edit: more", "1 edit: a\n1 edit: a", "1 fly: away", "edit:"])
def test_a_line_that_is_no_step_is_named(line: str) -> None:
    with pytest.raises(UsageError, match=line.splitlines()[-1]) as caught:
        from_lines(line, STEPS)
    assert "One line a step" in caught.value.hint


@pytest.mark.parametrize(
    ("command", "only"),
    [
        ("pytest -q", True),
        ("pytest -q 'tests/test_a.py::test_b[1 2]'", True),
        ("pytest -q test_a.py", True),
        ("pytest -q; rm -rf .", False),
        ("pytest -q $(id)", False),
        ("pytest -q && id", False),
        ("pytest -qx", False),
        ("pytest -q 'open", False),
        ("rm a", False),
    ],
)
def test_the_tests_of_a_step_are_run_unasked_and_nothing_else(command: str, only: bool) -> None:
    assert only_tests(command, "pytest -q") is only
