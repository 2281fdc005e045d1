"""What a person sees of a run. Golden files are refreshed with ACR_UPDATE_GOLDEN=1."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import ConsoleDimensions

from acr_cli import events
from acr_cli.build.routing import Routed, Spending
from acr_cli.cli import render, route_shown, shapes
from acr_cli.cli.diff_shown import show_patch
from acr_cli.cli.invocation import Failure
from acr_cli.cli.render import Screen
from acr_cli.cli.report import HEADLINES, receipt_lines, show_result
from acr_cli.cli.spinner import Spinner
from acr_cli.cli.terminal import clean, colored, console
from acr_cli.cli.words import changed_lines, seconds, size, usd
from acr_cli.events import Event, Progress
from acr_cli.records import (
    Baseline,
    Candidate,
    CaseResult,
    Context,
    Price,
    Receipt,
    RunResult,
    Status,
    StepKind,
    SuiteReport,
    Tally,
    Try,
)
from acr_cli.settings import Settings

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


@pytest.mark.parametrize(
    ("tried", "compared"),
    [
        ({}, False),
        ({"openai/strong": "passed"}, False),
        ({"builtin/repair": "failed", "openai/strong": "failed"}, False),
        ({"builtin/repair": "failed", "openai/strong": "passed"}, True),
        ({"builtin/repair": "passed"}, True),
    ],
)
def test_a_receipt_compares_with_the_strongest_only_where_others_were_used(
    tried: dict[str, str], compared: bool
) -> None:
    tries = tuple(Try(candidate=name, kind=StepKind.EDIT, verdict=how) for name, how in tried.items())
    lines = receipt_lines(scenes.result(steps=(), tries=tries))
    assert ("instead" in dict(lines)) is compared


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


def test_a_diff_in_colour_shows_sides_and_syntax_and_keeps_every_character(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    stream = io.StringIO()
    show_patch(console(stream), scenes.PATCH)
    lines = stream.getvalue().splitlines()
    removed, added = (next(line for line in lines if f"m{sign}\x1b" in line) for sign in "-+")
    assert removed.startswith("\x1b[31m-")
    assert added.startswith("\x1b[32m+")
    assert "\x1b[1;32mreturn" in added
    assert "\x1b[36m1\x1b" in removed or "36m1" in removed
    assert clean(stream.getvalue()) == scenes.PATCH


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
    assert "I look at" not in text  # what a model says is for -v
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h")  # the cursor is back


def test_what_goes_on_is_named_with_its_time_and_fits_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "40")
    moments = [0.0]
    spinner = Spinner(console(Terminal()), lambda: moments[0])
    spinner.say("", "Trying candidate patches (0 of 90 tried)")
    moments[0] = 12.0
    spinner.say("", "Trying candidate patches (40 of 90 tried)")
    spinner.say("openai/strong", "verifying")
    moments[0] = 75.0
    first, second = spinner.drawn().plain.splitlines()
    spinner.stop()
    assert first[2:] == "Trying candidate patches … 1 min 15 s"
    assert second[2:] == "openai/strong: verifying 1 min 3 s"
    assert spinner.drawn().plain == ""


@pytest.mark.parametrize("term", ["dumb", "xterm-256color"])
def test_attempts_side_by_side_are_told_apart_and_a_narrow_terminal_breaks_no_command(
    monkeypatch: pytest.MonkeyPatch, term: str
) -> None:
    monkeypatch.setenv("TERM", term)
    stream = Terminal()
    narrow = console(stream, no_color=True)
    narrow.size = ConsoleDimensions(40, 25)
    screen = Screen(narrow, clock=lambda: 0.0)
    for event in scenes.SIDE_BY_SIDE:
        screen.emit(event)
    screen.close()
    show_result(narrow, scenes.RESULTS["failed"])
    text = stream.getvalue()
    assert ("\x1b[?25l" in text) is (term != "dumb")  # a spinner only where it can be taken away
    if term == "dumb":
        check("side-by-side-narrow", text)


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

ROUTED = Routed(
    settings=Settings(home=Path()),
    context=Context(
        text="fix the bound",
        language="python",
        tallies=(
            Tally(
                candidate="openai/weak", dimension="agentic_programming", passed=2.6, failed=1.3, outcomes=4
            ),
            Tally(
                candidate="openai/strong",
                dimension="agentic_programming",
                failed_before=("openai/weak",),
                passed=1.0,
                outcomes=1,
            ),
            Tally(candidate="openai/weak", dimension="bug_fixing", passed=9.0, outcomes=9),
        ),
    ),
    choice=scenes.choice("openai/weak", "cheapest with a fair chance."),
    candidates=(
        Candidate(id="openai/weak", backend="agent", price=Price(input=1, output=2)),
        Candidate(id="openai/strong", backend="agent"),
    ),
    left_out={"builtin/repair": "repairs failing tests; the task speaks of no failure"},
    spending={
        "openai/weak": Spending(seconds=75.0, low_usd=0.001, high_usd=0.004),
        "openai/strong": Spending(seconds=9.0),
    },
)


def routed(columns: int = 0, **changes: Any) -> str:
    """What `acr route --explain` shows, in a file or on a terminal of so many columns."""
    stream = io.StringIO()
    screen = console(stream)
    screen.width = columns or screen.width
    route_shown.show(screen, replace(ROUTED, **changes), explain=True)
    return stream.getvalue()


def test_route_in_short() -> None:
    stream = io.StringIO()
    route_shown.show(console(stream), ROUTED, explain=False)
    check("route-short", stream.getvalue())


@pytest.mark.parametrize("policy", ["learned", "acrouter", "escalate"])
def test_route_explained(policy: str) -> None:
    check(f"route-{policy}", routed(choice=replace(ROUTED.choice, policy=policy)))


def test_route_explained_on_a_narrow_terminal() -> None:
    text = routed(columns=40)
    check("route-narrow", text)
    assert "success 40 %, 90 % range 20-60 %" in " ".join(text.split())


def test_a_long_name_leaves_the_numbers_whole() -> None:
    name = "openrouter/a-model-with-a-name-that-is-longer-than-any-terminal-is-wide@high"
    long = replace(ROUTED.choice.forecasts[0], candidate=name)
    choice = replace(ROUTED.choice, candidate=name, forecasts=(long, ROUTED.choice.forecasts[1]), ladder=())
    text = routed(columns=80, choice=choice)
    assert "40 %     20-60 %" in text
    assert name in "".join(line[:30].strip() for line in text.splitlines())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"failed": ("openai/strong",)}, "openai/strong: has failed on this step"),
        ({"unavailable": ("openai/strong",)}, "openai/strong: has broken down in this run"),
        ({"attempts": 1}, "openai/strong: worth $0.05 less; others take the attempts that there are"),
        ({}, "openai/strong: worth $0.05 less; not worth its price once the others have failed"),
    ],
    ids=["failed", "unavailable", "attempts", "price"],
)
def test_who_is_not_chosen_has_a_reason(changes: dict[str, Any], said: str) -> None:
    choice = replace(ROUTED.choice, policy="learned", ladder=ROUTED.choice.ladder[:1])
    assert said in routed(choice=choice, context=replace(ROUTED.context, **changes)).splitlines()


@pytest.mark.parametrize("least", [0.0, -0.3])
def test_who_was_not_compared_in_full_is_said(least: float) -> None:
    weak, strong = ROUTED.choice.forecasts
    others = tuple(replace(strong, candidate=f"openai/{name}", score=least) for name in "ab")
    choice = replace(ROUTED.choice, policy="learned", forecasts=(weak, *others), ladder=())
    assert routed(choice=choice).count("not among the best for their price") == 2


def test_who_is_worth_less_than_nothing_was_compared_all_the_same() -> None:
    weak, strong = ROUTED.choice.forecasts
    choice = replace(
        ROUTED.choice,
        policy="learned",
        forecasts=(weak, replace(strong, score=-0.29)),
        ladder=ROUTED.choice.ladder[:1],
    )
    assert "openai/strong: worth $1.00 less; not worth its price" in routed(choice=choice)


def test_the_weights_of_silent_voters_are_said() -> None:
    assert "weight 0.30 belongs to voters that know nothing" in routed(
        choice=replace(ROUTED.choice, policy="learned")
    )


def test_route_warns_of_a_choice_that_a_run_cannot_make() -> None:
    stream = io.StringIO()
    keyless = replace(ROUTED, left_out={"openai/weak": "OPENAI_API_KEY is not set"})
    route_shown.show(console(stream), keyless, explain=False)
    assert "acr fix cannot take it: OPENAI_API_KEY is not set" in stream.getvalue()


def test_route_as_json_has_the_shape_of_the_contract() -> None:
    shape = shapes.route(ROUTED)
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
    assert (shape["outcomes"], shape["value_of_success_usd"]) == (5, Settings(home=Path()).value_of_success)
    weak, strong = shape["candidates"]
    assert (weak["cost_low_usd"], weak["cost_high_usd"], weak["seconds"]) == (0.001, 0.004, 75.0)
    assert (strong["cost_low_usd"], strong["outcomes"]) == (None, 1)
    assert (weak["not_chosen"], strong["not_chosen"]) == (
        None,
        "score 0.660 against 0.710; next if openai/weak fails",
    )
    assert shape["left_out"][0]["model"] == "builtin/repair"
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
    assert set(shape["evidence"]) >= {"fixed", "broken", "u", "verifier"}
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


@pytest.mark.parametrize(
    ("cases", "said"),
    [
        ((("b", "passed"), ("t", "failed")), "1 of 1 test fails"),
        ((("b", "passed"), ("t", "passed"), ("u", "passed")), "2 tests pass"),
        ((("b", "error"), ("t", "passed")), "the build fails, 1 test passes"),
        ((("b", "error"),), "the build fails"),
    ],
)
def test_a_build_is_told_and_not_counted_as_a_test(cases: tuple[tuple[str, str], ...], said: str) -> None:
    found = tuple(CaseResult(id=name, outcome=how, is_build=name == "b") for name, how in cases)
    stream = io.StringIO()
    measured = Baseline(report=SuiteReport(cases=found), test_command="go test")
    Screen(console(stream)).emit(events.BaselineMeasured(baseline=measured))
    assert stream.getvalue().splitlines()[0].split("  ")[1] == said
