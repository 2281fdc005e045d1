"""What a person sees of a run. Golden files are refreshed with ACR_UPDATE_GOLDEN=1."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from acr_cli import events
from acr_cli.cli import render, shapes
from acr_cli.cli.invocation import Failure
from acr_cli.cli.render import HEADLINES, Screen, show_patch, show_result
from acr_cli.cli.route import show_choice
from acr_cli.cli.terminal import clean, colored, console
from acr_cli.cli.words import changed_lines, seconds, size, usd
from acr_cli.events import Event, Progress
from acr_cli.records import Candidate, Context, Price, Receipt, RunResult, Status

_spec = importlib.util.spec_from_file_location("scenes", Path(__file__).with_name("scenes.py"))
assert _spec is not None
assert _spec.loader is not None
scenes: Any = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(scenes)

GOLDEN = Path(__file__).with_name("golden")
UPDATE = bool(os.environ.get("ACR_UPDATE_GOLDEN"))
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def check(name: str, text: str) -> None:
    path = GOLDEN / f"{name}.txt"
    text = "".join(line.rstrip() + "\n" for line in text.splitlines())
    if UPDATE:
        path.write_text(text)
    assert text == path.read_text(), "refresh with ACR_UPDATE_GOLDEN=1 if this is meant"


def shown(items: tuple[Event, ...], **options: bool) -> str:
    stream = io.StringIO()
    screen = Screen(console(stream), **options)
    for item in items:
        screen.emit(item)
    screen.close()
    return stream.getvalue()


@pytest.mark.parametrize(
    "options", [{}, {"verbose": True}, {"quiet": True}], ids=["plain", "verbose", "quiet"]
)
def test_a_run_on_the_screen(options: dict[str, bool], request: pytest.FixtureRequest) -> None:
    check(f"run-{request.node.callspec.id}", shown(scenes.ESCALATION, **options))


@pytest.mark.parametrize("name", scenes.RESULTS)
def test_a_result(name: str) -> None:
    stream = io.StringIO()
    show_result(console(stream), scenes.RESULTS[name])
    check(f"result-{name}", stream.getvalue())


def test_an_error_that_cost_nothing_and_left_nothing_says_nothing_on_stdout() -> None:
    def said(**fields: Any) -> str:
        stream = io.StringIO()
        result = RunResult(run="r", status=Status.ERROR, exit_code=5, error_id="provider", **fields)
        show_result(console(stream), result)
        return stream.getvalue()

    assert said(receipt=Receipt(paid_usd=0.0)) == ""
    assert "$0.25" in said(receipt=Receipt(paid_usd=0.25))
    assert "+y" in said(receipt=Receipt(paid_usd=0.0), patch="@@ -1 +1 @@\n-x\n+y\n")


def test_progress_that_only_counts_is_not_repeated_for_a_while() -> None:
    moments = iter([0.0, 1.0, 2.0, 11.0])
    stream = io.StringIO()
    screen = Screen(console(stream), clock=lambda: next(moments))
    for text in (
        "Trying (0 of 7,386 tried)",
        "Trying (4 of 7,386 tried)",
        "Testing",
        "Trying (9 of 12 tried)",
    ):
        screen.emit(Progress(text=text))
    shown_lines = [line.strip() for line in stream.getvalue().splitlines()]
    assert shown_lines == ["Trying (0 of 7,386 tried)", "Testing", "Trying (9 of 12 tried)"]


def test_every_status_has_a_headline() -> None:
    assert set(HEADLINES) == set(Status)


def test_a_plan_is_shown_step_by_step() -> None:
    stream = io.StringIO()
    plan = "The plan:\n- edit: add a parser\n- test: cover it"
    receipt = Receipt(paid_usd=0.01)
    planned = RunResult(run="r", status=Status.PLANNED, exit_code=0, receipt=receipt, summary=plan)
    show_result(console(stream), planned)
    assert stream.getvalue().startswith(plan + "\n")


def test_a_diff_in_colour_is_one_colour_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    stream = io.StringIO()
    show_patch(console(stream), scenes.PATCH)
    lines = stream.getvalue().splitlines()
    assert "\x1b[31m-    return min(x, high - 1)\x1b[0m" in lines
    assert "\x1b[32m+    return min(x, high)\x1b[0m" in lines
    assert len(lines) == len(scenes.PATCH.splitlines())


def test_a_long_line_of_a_diff_is_not_wrapped() -> None:
    stream = io.StringIO()
    show_patch(console(stream), "+" + "x" * 5000)
    assert stream.getvalue() == "+" + "x" * 5000 + "\n"


def test_every_event_has_a_line() -> None:
    kinds = {
        each
        for each in vars(events).values()
        if isinstance(each, type) and issubclass(each, Event) and each is not Event
    }
    assert kinds == set(render.LINES)


@pytest.mark.parametrize("options", [{}, {"verbose": True}], ids=["plain", "verbose"])
def test_nothing_from_elsewhere_reaches_the_terminal_as_a_command(options: dict[str, bool]) -> None:
    text = shown(scenes.HOSTILE_RUN, **options)
    assert not CONTROLS.search(text)
    assert "owned" not in text
    assert "evil" in text
    stream = io.StringIO()
    bad = scenes.result(summary=scenes.HOSTILE, patch="+" + scenes.HOSTILE + "\n", files=(scenes.HOSTILE,))
    show_result(console(stream), bad)
    assert not CONTROLS.search(stream.getvalue())


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("a\tb\nc", "a\tb\nc"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]8;;http://x\x07link\x1b]8;;\x07", "link"),
        ("\x1b]0;title\x1b\\x", "x"),
        ("\x1bPq#0\x1b\\x", "x"),
        ("a\rb\x08c\x7f", "abc"),
        ("\x9b31mx\x85", "x"),
        ("\u202eabc\u2066", "abc"),
        ("naïve 漢字 🙂", "naïve 漢字 🙂"),
    ],
)
def test_control_sequences_are_taken_out_and_text_is_left(text: str, want: str) -> None:
    assert clean(text) == want


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_the_spinner_is_gone_when_the_run_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    stream = Terminal()
    screen = Screen(console(stream))
    for event in (*scenes.ESCALATION, scenes.FINISHED):
        screen.emit(event)
    screen.close()
    text = stream.getvalue()
    assert "I look at" in text  # a streamed reply is shown while somebody looks
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h")  # the cursor is back


def test_a_screen_that_goes_away_stops_nothing() -> None:
    class Gone(io.StringIO):
        def write(self, _text: str) -> int:
            raise BrokenPipeError

    screen = Screen(console(Gone()))
    for event in scenes.ESCALATION:
        screen.emit(event)


@pytest.mark.parametrize(
    ("environ", "no_color", "terminal", "want"),
    [
        ({}, False, False, False),
        ({}, False, True, True),
        ({"NO_COLOR": "1"}, False, True, False),
        ({"NO_COLOR": ""}, False, True, True),
        ({"FORCE_COLOR": "1"}, False, False, True),
        ({"FORCE_COLOR": "0"}, False, False, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, True, False),
        ({"FORCE_COLOR": "1"}, True, True, False),
        ({"TERM": "dumb"}, False, True, False),
    ],
)
def test_colour(environ: dict[str, str], no_color: bool, terminal: bool, want: bool) -> None:
    class Stream(io.StringIO):
        def isatty(self) -> bool:
            return terminal

    assert colored(Stream(), environ, no_color=no_color) is want


# --- route and JSON ---------------------------------------------------------------------------------------

CONTEXT = Context(text="fix the bound", language="python")
CANDIDATES = (
    Candidate(id="openai/weak", backend="agent", price=Price(input=1, output=2)),
    Candidate(id="openai/strong", backend="agent"),
    Candidate(id="builtin/repair", backend="repair"),
)
CHOICE = scenes.choice("openai/weak", "cheapest with a fair chance.")


@pytest.mark.parametrize("explain", [False, True], ids=["short", "explain"])
def test_route(explain: bool, request: pytest.FixtureRequest) -> None:
    stream = io.StringIO()
    show_choice(console(stream), CONTEXT, CHOICE, CANDIDATES, explain=explain)
    check(f"route-{request.node.callspec.id}", stream.getvalue())


def test_route_as_json_has_the_shape_of_the_contract() -> None:
    shape = shapes.route(CONTEXT, CHOICE, CANDIDATES)
    assert set(shape) >= {
        *("type", "schema", "choice", "propensity", "reason", "dimension", "language", "candidates"),
        *("neighbours", "ladder"),
    }
    assert set(shape["candidates"][0]) >= {
        "model",
        "p_success",
        "p_low",
        "p_high",
        "cost_usd",
        "votes",
        "score",
    }
    assert set(shape["candidates"][0]["votes"]["prior"]) >= {"vote", "weight"}
    assert set(shape["neighbours"][0]) >= {"id", "similarity", "model", "score"}
    assert set(shape["ladder"][0]) == {"model", "p_cumulative", "cost_cumulative_usd"}
    json.dumps(shape, allow_nan=False)


RESULT_KEYS = {
    *("type", "schema", "run", "status", "verified", "exit_code", "cost_usd", "seconds", "files", "patch"),
    *("evidence", "steps", "error"),
}


def test_a_result_as_json_has_the_shape_of_the_contract() -> None:
    shape = shapes.result(scenes.RESULTS["fixed"])
    assert set(shape) >= RESULT_KEYS
    assert (shape["type"], shape["status"], shape["verified"], shape["error"]) == (
        "result",
        "fixed",
        True,
        None,
    )
    assert set(shape["evidence"]) == {"fixed", "broken", "u"}
    assert set(shape["steps"][0]) == {"kind", "dimension", "model", "reason", "attempts", "u", "cost_usd"}


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ("budget", "budget"),
        ("interrupted", "interrupted"),
        ("repository", "refused"),
        ("no-sandbox", "error"),
    ],
)
def test_a_failure_as_json_has_the_same_shape(error: str, status: str) -> None:
    shape = shapes.failed(Failure(id=error, exit_code=4, message="m", hint="h"), "r1")
    assert set(shape) == set(shapes.result(scenes.RESULTS["fixed"]))
    assert (shape["status"], shape["run"], shape["error"]) == (
        status,
        "r1",
        {"id": error, "message": "m", "hint": "h"},
    )


def test_json_lines_hold_nothing_that_a_terminal_obeys(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shapes.JsonLines()
    for event in (*scenes.ESCALATION, *scenes.HOSTILE_RUN, scenes.FINISHED):
        lines.emit(event)
    lines.put({"type": "x", "cost": float("inf"), "nan": float("nan")})
    out = capsys.readouterr().out
    assert not CONTROLS.search(out)
    records = [json.loads(line) for line in out.splitlines()]
    assert all("type" in record for record in records)
    assert "result" not in {record["type"] for record in records}
    assert records[-1] == {"type": "x", "cost": None, "nan": None}


@pytest.mark.parametrize(
    ("amount", "want"),
    [
        (0, "$0"),
        (0.0000001, "< $0.00001"),
        (0.0042, "$0.0042"),
        (0.05, "$0.05"),
        (0.214, "$0.21"),
        (12.3, "$12.30"),
    ],
)
def test_money(amount: float, want: str) -> None:
    assert usd(amount) == want


def test_durations_sizes_and_changes() -> None:
    assert [seconds(s) for s in (0.42, 12.4, 60, 200)] == ["0.4 s", "12 s", "1 min", "3 min 20 s"]
    assert [size(s) for s in (12, 2048, 3 * 1024**2)] == ["12 B", "2.0 KiB", "3.0 MiB"]
    assert changed_lines(scenes.PATCH) == "+1 -1"
