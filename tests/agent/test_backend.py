"""A model at work on a step, by script."""

from __future__ import annotations

import json

import pytest

from acr_cli.agent.backend import Agent, edit_format_of, format_name
from acr_cli.agent.scores import KeptScores
from acr_cli.agent.working import Patience
from acr_cli.errors import (
    BudgetExhausted,
    ConfigurationError,
    ContextTooLong,
    ProviderUnavailable,
    SandboxBroken,
)
from acr_cli.events import ToolCalled
from acr_cli.protocols import Reply, ToolCall
from acr_cli.records import Lesson, StepKind, Usage
from acr_cli.testing.answers import call
from acr_cli.testing.scripted import ScriptedModel
from tests.agent.conftest import candidate, step

FIX = call("edit", {"path": "calc.py", "search": "a - b", "replace": "a + b"})
DONE = call("finish", {"summary": "Added instead of subtracted."})
BLOCK = "calc.py\n<<<<<<< SEARCH\n    return a - b\n=======\n    return a + b\n>>>>>>> REPLACE\n"


def carry_out(script, tree, sandbox, budget, *, who=None, what=None, **settings):
    """An attempt by script: (attempt, model, events)."""
    model = script if isinstance(script, ScriptedModel) else ScriptedModel(script, cost=0.01)
    events: list = []
    agent = Agent(gateway=model, emit=events.append, **settings)
    attempt = agent.attempt(what or step(), who or candidate(), tree, sandbox, budget)
    assert sandbox.open_now == 0
    return attempt, model, events


def results(model) -> list[str]:
    """What the tools answered, as the last call saw it."""
    return [message.content for message in model.calls[-1].messages if message.role == "tool"]


# --- with tools -------------------------------------------------------------------------------------------


def test_a_model_looks_edits_tests_and_finishes(tree, sandbox, budget) -> None:
    script = [
        call("open", {"path": "calc.py"}),
        (call("search", {"pattern": r"def \w+", "glob": "*.py"}), call("run")),
        FIX,
        call("run"),
        DONE,
    ]
    attempt, model, events = carry_out(script, tree, sandbox, budget)
    opened, found, before, edited, after = results(model)
    assert opened == "1: def add(a, b):\n2:     return a - b"
    assert "calc.py:1:def add(a, b):" in found.splitlines()
    assert "1 failed" in before
    assert "(exit code 1)" in before
    assert edited == "calc.py edited."
    assert "1 passed" in after
    assert attempt.files == ("calc.py",)
    assert "+    return a + b" in attempt.patch
    assert (attempt.summary, attempt.void, attempt.tried) == ("Added instead of subtracted.", "", 6)
    assert attempt.usage == Usage(input_tokens=500, output_tokens=50, calls=5)
    assert attempt.cost_usd == pytest.approx(0.05)
    assert budget.spent_usd == pytest.approx(0.05)
    assert sandbox.opened == 2
    assert [event.ok for event in events if isinstance(event, ToolCalled)] == [
        True,
        True,
        False,
        True,
        True,
        True,
    ]


def test_the_prompt_holds_failures_files_and_lessons(tree, sandbox, budget) -> None:
    lesson = Lesson(candidate="weak", patch="-return 1", reason="test_add still fails: assert 4 == 3")
    _, model, _ = carry_out([DONE], tree, sandbox, budget, what=step(lessons=(lesson,), text="Mend add."))
    system, user = model.calls[0].messages
    assert "careful programmer" in system.content
    for part in (
        "The task:\nMend add.",
        "test_calc.py::test_add\n  AssertionError: assert -1 == 3",
        "calc.py\n```\ndef add(a, b):",
        "assert 4 == 3",
        "-return 1",
        "b.py",
        "-m pytest",
    ):
        assert part in user.content
    assert user.content.index("\ncalc.py\n```") < user.content.index("\ntest_calc.py\n```")


def test_what_commands_change_is_thrown_away(tree, sandbox, budget) -> None:
    script = [
        call("run", {"command": "echo 'x = 5' > a.py; cat a.py"}),
        call("run", {"command": "cat a.py"}),
        DONE,
    ]
    attempt, model, _ = carry_out(script, tree, sandbox, budget)
    assert results(model)[0].startswith("x = 5")
    assert attempt.patch == ""
    assert (tree.root / "a.py").read_bytes() == b"x = 1\n"


def test_tests_run_on_the_tree_and_not_on_what_commands_made_of_it(tree, sandbox, budget) -> None:
    script = [call("run", {"command": "sed -i s/-/+/ calc.py"}), call("run"), DONE]
    _, model, _ = carry_out(script, tree, sandbox, budget)
    assert "1 failed" in results(model)[1]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (call("edit", '{"path": "calc.py", '), "no valid JSON"),
        (call("edit", "[1]"), "must be a JSON object"),
        (call("edit", {"path": "calc.py"}), "edit needs search, replace"),
        (call("open", {"path": 5}), "path of open must be a string"),
        (call("open", {"path": "calc.py", "start": "x"}), "must be an integer"),
        (call("run", {"command": "true", "keep": 5}), "must be an array"),
        (
            call("str_replace_editor", {"path": "calc.py"}),
            "There is no tool 'str_replace_editor'. The tools are: search",
        ),
        (call("open", {"path": "../secret"}), "../secret"),
        (call("edit", {"path": "/etc/passwd", "search": "", "replace": "x"}), "/etc/passwd"),
        (call("edit", {"path": ".git/hooks/pre-commit", "search": "", "replace": "x"}), ".git"),
        (call("edit", {"path": "calc.py", "search": "", "replace": "x"}), "the file is not"),
        (call("move", {"path": "nothing.py", "target": ""}), "does not exist"),
        (call("open", {"path": "nothing.py"}), "There is no file nothing.py"),
        (call("edit", {"path": "calc.py", "search": "a * b", "replace": "x"}), "2:     return a - b"),
        (call("open", {"path": "calc.py", "start": 9}), "has 2 lines"),
    ],
)
def test_a_call_that_cannot_be_carried_out_is_answered(tree, sandbox, budget, wrong, says) -> None:
    attempt, model, _ = carry_out([wrong, FIX, DONE], tree, sandbox, budget)
    assert says in results(model)[0]
    assert attempt.files == ("calc.py",)


def test_files_that_may_hold_keys_are_not_shown(tree, sandbox, budget) -> None:
    (tree.root / ".env").write_text("KEY=sk-secret\n")
    script = [call("open", {"path": ".env"}), call("search", {"pattern": "sk-"}), DONE]
    _, model, _ = carry_out(script, tree, sandbox, budget)
    assert "may hold keys" in results(model)[0]
    assert not any("sk-secret" in message.content for message in model.calls[-1].messages)


def test_a_bad_pattern_is_searched_for_literally(tree, sandbox, budget) -> None:
    _, model, _ = carry_out([call("search", {"pattern": "add(1, 2"}), DONE], tree, sandbox, budget)
    assert "test_calc.py:5:" in results(model)[0]


def test_the_same_call_again_and_again_ends_the_attempt(tree, sandbox, budget) -> None:
    again = call("open", {"path": "calc.py"})
    attempt, model, _ = carry_out([again] * 20, tree, sandbox, budget)
    assert "again and again" in attempt.summary
    assert len(model.calls) == 7
    assert "nothing has changed since" in results(model)[-1]


def test_running_the_tests_after_every_edit_is_honest_repetition(tree, sandbox, budget) -> None:
    script: list = []
    for number in range(6):
        text = f"x = {number + 1}", f"x = {number + 2}"
        script += [
            call("edit", {"path": "a.py", "search": text[0], "replace": text[1]}),
            call("run", {"command": "true"}),
        ]
    attempt, _, _ = carry_out([*script, DONE, DONE], tree, sandbox, budget)
    assert attempt.summary == "Added instead of subtracted."


def test_nonsense_calls_are_bounded(tree, sandbox, budget) -> None:
    script = [call("nonsense", {"n": n}) for n in range(20)]
    attempt, model, _ = carry_out(script, tree, sandbox, budget)
    assert len(model.calls) == 5
    assert (attempt.void, attempt.patch) == ("", "")
    assert "could not be understood" in attempt.summary


def test_calls_of_the_model_are_bounded(tree, sandbox, budget) -> None:
    script = [call("open", {"path": "calc.py", "start": n}) for n in range(1, 20)]
    attempt, model, _ = carry_out(script, tree, sandbox, budget, patience=Patience(calls=4))
    assert len(model.calls) == 4
    assert "Stopped after 4 calls" in attempt.summary


def test_talk_without_a_call_is_reminded_and_then_ended(tree, sandbox, budget) -> None:
    attempt, model, _ = carry_out(["Sure!"] * 9, tree, sandbox, budget)
    assert len(model.calls) == 3
    assert "changed nothing" in attempt.summary


def test_talk_after_an_edit_ends_the_step(tree, sandbox, budget) -> None:
    attempt, model, _ = carry_out([FIX, "It adds now.\n\nDetails follow."], tree, sandbox, budget)
    assert (attempt.summary, len(model.calls)) == ("It adds now.", 2)


def test_every_call_of_a_reply_is_answered_also_behind_finish(tree, sandbox, budget) -> None:
    attempt, _, events = carry_out([(DONE, FIX)], tree, sandbox, budget)
    assert attempt.files == ("calc.py",)
    assert len(events) == 2


def test_a_provider_that_fails_makes_the_attempt_void_with_its_cost(tree, sandbox, budget) -> None:
    attempt, _, _ = carry_out([FIX, ProviderUnavailable("model: no answer in time.")], tree, sandbox, budget)
    assert attempt.void == "model: no answer in time."
    assert attempt.cost_usd == pytest.approx(0.02)
    assert attempt.usage.calls == 1


def test_a_sandbox_that_breaks_is_no_matter_of_the_attempt(tree, sandbox, budget) -> None:
    sandbox.broken = True
    with pytest.raises(SandboxBroken, match="The container is gone"):
        carry_out([FIX, call("run", {"command": "true"})], tree, sandbox, budget)
    assert "a + b" in (tree.root / "calc.py").read_text(), "what was made is kept"


def test_an_exhausted_budget_ends_the_run(tree, sandbox, budget) -> None:
    model = ScriptedModel([FIX, FIX], cost=0.6)
    with pytest.raises(BudgetExhausted):
        carry_out(model, tree, sandbox, budget)
    assert len(model.calls) == 1


def test_old_outputs_are_dropped_when_the_context_fills(tree, sandbox, budget) -> None:
    (tree.root / "long.txt").write_text("word " * 1500)
    script = [*(call("open", {"path": "long.txt", "end": n}) for n in range(1, 9)), DONE]
    _, model, _ = carry_out(script, tree, sandbox, budget, who=candidate(context_window=12_000))
    last = model.calls[-1].messages
    assert sum(len(message.content) for message in last) < 12_000 * 3
    assert any("was dropped" in message.content for message in last)
    assert len(results(model)) == 8


def test_a_call_cut_off_in_its_arguments_says_so(tree, sandbox, budget) -> None:
    cut = Reply(
        content="", tool_calls=(ToolCall(id="c", name="edit", arguments='{"path": "x'),), finish="length"
    )
    _, model, _ = carry_out([cut, DONE], tree, sandbox, budget)
    assert "cut off" in results(model)[0]


def test_the_transcript_is_kept_as_json_lines(tree, sandbox, budget, tmp_path) -> None:
    carry_out([FIX, DONE], tree, sandbox, budget, transcripts=tmp_path / "t")
    carry_out([DONE], tree, sandbox, budget, transcripts=tmp_path / "t")
    first, second = sorted((tmp_path / "t").iterdir())
    assert (first.name, second.name) == ("s1-test_model-1.jsonl", "s1-test_model-2.jsonl")
    lines = [json.loads(line) for line in first.read_text().splitlines()]
    assert [line["role"] for line in lines] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "end",
    ]
    assert lines[2]["tool_calls"][0]["name"] == "edit"
    assert lines[2]["cost_usd"] == 0.01


# --- in plain text ----------------------------------------------------------------------------------------

TEXT = {"tools": False, "edit_format": "search-replace"}


def test_edits_in_text_are_applied(tree, sandbox, budget) -> None:
    attempt, model, _ = carry_out([f"I see.\n\n{BLOCK}"], tree, sandbox, budget, who=candidate(**TEXT))
    assert attempt.files == ("calc.py",)
    assert attempt.summary == "Changed calc.py."
    assert not model.calls[0].tools
    assert "<<<<<<< SEARCH" in model.calls[0].messages[0].content
    assert "calc.py\n```\ndef add(a, b):\n    return a - b\n```" in model.calls[0].last


def test_a_mismatch_goes_back_with_the_current_text_and_nothing_is_half_applied(
    tree, sandbox, budget
) -> None:
    wrong = BLOCK + "\na.py\n<<<<<<< SEARCH\nx = 7\n=======\nx = 8\n>>>>>>> REPLACE\n"
    attempt, model, _ = carry_out([wrong, BLOCK], tree, sandbox, budget, who=candidate(**TEXT))
    assert "1: x = 1" in model.calls[1].last
    assert attempt.files == ("calc.py",)
    assert len(model.calls) == 2


def test_an_ambiguous_edit_changes_nothing(tree, sandbox, budget) -> None:
    (tree.root / "calc.py").write_bytes(b"def f():\n    return a - b\n\ndef g():\n    return a - b\n")
    attempt, model, _ = carry_out([BLOCK] * 4, tree, sandbox, budget, who=candidate(**TEXT))
    assert "2 places, from lines 2, 5" in model.calls[1].last
    assert (attempt.patch, attempt.void) == ("", "")
    assert len(model.calls) == 4
    assert "could not be applied" in attempt.summary


def test_a_model_may_ask_for_files(tree, sandbox, budget) -> None:
    attempt, model, _ = carry_out(
        ["OPEN b.py\nOPEN ../x", BLOCK], tree, sandbox, budget, who=candidate(**TEXT)
    )
    assert "b.py\n```\ny = 1\n```" in model.calls[1].last
    assert "'../x'" in model.calls[1].last
    assert attempt.files == ("calc.py",)


def test_a_model_that_rambles_is_stopped_after_its_second_reply(tree, sandbox, budget) -> None:
    ramble = Reply(content="and so on " * 50, finish="length")
    attempt, model, _ = carry_out([ramble] * 9, tree, sandbox, budget, who=candidate(**TEXT))
    assert "cut off" in model.calls[1].last
    assert (len(model.calls), attempt.patch) == (2, "")


def test_the_other_format_is_understood_too(tree, sandbox, budget) -> None:
    whole = "calc.py\n```python\ndef add(a, b):\n    return a + b\n```\n"
    attempt, _, _ = carry_out([whole], tree, sandbox, budget, who=candidate(**TEXT))
    assert attempt.files == ("calc.py",)


def test_line_ends_survive_an_edit_in_text(tree, sandbox, budget) -> None:
    (tree.root / "calc.py").write_bytes(b"def add(a, b):\r\n    return a - b\r\n")
    carry_out([BLOCK], tree, sandbox, budget, who=candidate(**TEXT))
    assert (tree.root / "calc.py").read_bytes() == b"def add(a, b):\r\n    return a + b\r\n"


@pytest.mark.parametrize(
    ("who", "name"),
    [
        ({"tools": True}, None),
        ({"tools": None}, None),
        ({"tools": True, "local": True}, None),
        ({"tools": False}, "search-replace"),
        ({"tools": None, "local": True}, "whole-file"),
        ({"tools": True, "edit_format": "whole-file"}, "whole-file"),
        ({"tools": False, "edit_format": "tools"}, None),
    ],
)
def test_the_edit_format_follows_from_the_model(who, name) -> None:
    edit_format = edit_format_of(format_name(candidate(**who), KeptScores(None)))
    assert (edit_format and edit_format.name) == name


def test_an_unknown_edit_format_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match="'udiff'") as caught:
        edit_format_of("udiff")
    assert caught.value.exit_code == 3
    assert "search-replace" in caught.value.hint


# --- other kinds of steps ---------------------------------------------------------------------------------


@pytest.mark.parametrize("who", [{}, TEXT])
def test_a_plan_step_proposes_steps_and_changes_nothing(tree, sandbox, budget, who) -> None:
    mend = '{"text": "Mend add.", "kind": "edit", "files": ["calc.py"]}'
    plan = f'```json\n[{mend}, {{"text": "Test it.", "kind": "test"}}]\n```'
    what = step(kind=StepKind.PLAN, text="A long wish.", failures=())
    attempt, model, _ = carry_out([plan], tree, sandbox, budget, who=candidate(**who), what=what)
    assert [(s.id, s.kind, s.files) for s in attempt.steps] == [
        ("s1.1", StepKind.EDIT, ("calc.py",)),
        ("s1.2", StepKind.TEST, ()),
    ]
    assert attempt.steps[0].text.startswith("Mend add.")
    assert {tool.name for tool in model.calls[0].tools} <= {"search", "open", "finish"}
    assert attempt.patch == ""


def test_a_review_step_cannot_edit(tree, sandbox, budget) -> None:
    what = step(kind=StepKind.REVIEW, failures=())
    attempt, model, _ = carry_out([FIX, "Nothing to add."], tree, sandbox, budget, what=what)
    assert "There is no tool 'edit'" in results(model)[0]
    assert (attempt.summary, attempt.patch) == ("Nothing to add.", "")


def test_edits_written_as_text_in_spite_of_tools_are_taken(tree, sandbox, budget) -> None:
    block = "calc.py\n<<<<<<< SEARCH\n    return a - b\n=======\n    return a + b\n>>>>>>> REPLACE\n"
    attempt, model, _ = carry_out([block], tree, sandbox, budget)
    assert attempt.files == ("calc.py",)
    assert len(model.calls) == 1


# --- what providers keep of a prompt ----------------------------------------------------------------------


def test_each_call_of_a_step_begins_as_the_one_before(tree, sandbox, budget) -> None:
    script = [call("open", {"path": "calc.py"}), call("run"), FIX, call("run"), DONE]
    _, model, _ = carry_out(script, tree, sandbox, budget)
    for earlier, later in zip(model.calls, model.calls[1:], strict=False):
        assert later.messages[: len(earlier.messages)] == earlier.messages
        assert later.tools == earlier.tools


def test_steps_of_a_kind_begin_alike(tree, sandbox, budget) -> None:
    first = carry_out([DONE], tree, sandbox, budget)[1].calls[0]
    second = carry_out([DONE], tree, sandbox, budget, what=step(id="s2", text="Another wish."))[1].calls[0]
    assert first.messages[0] == second.messages[0]
    assert first.tools == second.tools


def test_a_full_context_changes_the_beginning_seldom(tree, sandbox, budget) -> None:
    (tree.root / "long.txt").write_text("word " * 900)
    script = [*(call("open", {"path": "long.txt", "end": n}) for n in range(1, 25)), DONE]
    who = candidate(context_window=16_000)
    _, model, _ = carry_out(script, tree, sandbox, budget, who=who)
    changed = [
        later
        for earlier, later in zip(model.calls, model.calls[1:], strict=False)
        if later.messages[: len(earlier.messages)] != earlier.messages
    ]
    assert 1 <= len(changed) <= 6
    for each in model.calls:
        assert sum(len(message.content) for message in each.messages) < 16_000 * 3


# --- what a reply is worth --------------------------------------------------------------------------------


def test_an_edit_and_finish_in_one_reply_end_a_step_that_passes(tree, sandbox, budget) -> None:
    attempt, model, _ = carry_out([(FIX, DONE)], tree, sandbox, budget)
    assert (attempt.summary, attempt.files, len(model.calls)) == (
        "Added instead of subtracted.",
        ("calc.py",),
        1,
    )


def test_where_the_verdicts_own_run_can_be_had_the_tests_are_not_run_beside_it(tree, sandbox, budget) -> None:
    told = iter(["calc.py::test_add\nassert 2 == 3", None])  # then the step's own command answers
    asked = []

    def rehearse(what, its_tree, seconds):
        asked.append((what.id, its_tree, seconds > 1))
        return next(told)

    wrong = call("edit", {"path": "calc.py", "search": "a - b", "replace": "a * b"})
    mended = call("edit", {"path": "calc.py", "search": "a * b", "replace": "a + b"})
    script = [(wrong, DONE), (mended, DONE)]
    attempt, model, _ = carry_out(script, tree, sandbox, budget, rehearse=rehearse)
    assert results(model)[1] == (
        "Not finished: this still fails.\ncalc.py::test_add\nassert 2 == 3\n"
        "Go on, or finish again if it cannot be mended."
    )
    assert "+    return a + b" in attempt.patch
    assert asked == [(step().id, tree, True)] * 2
    assert sandbox.opened == 1


def test_work_that_does_not_pass_goes_back_with_the_reason_a_few_times(tree, sandbox, budget) -> None:
    wrong = call("edit", {"path": "calc.py", "search": "a - b", "replace": "b - a"})
    again = call("edit", {"path": "calc.py", "search": "b - a", "replace": "a + b"})
    attempt, model, _ = carry_out([(wrong, DONE), (again, DONE)], tree, sandbox, budget)
    assert results(model)[1].startswith("Not finished: this still fails.")
    assert "assert 1 == 3" in results(model)[1]
    assert attempt.patch.count("\n+") == 2
    assert len(model.calls) == 2


def test_a_model_that_cannot_mend_it_may_finish(tree, sandbox, budget) -> None:
    wrong = call("edit", {"path": "calc.py", "search": "a - b", "replace": "b - a"})
    attempt, model, _ = carry_out([(wrong, DONE), DONE], tree, sandbox, budget)
    assert (attempt.summary, len(model.calls)) == ("Added instead of subtracted.", 2)


def test_finish_beside_a_refused_edit_is_too_early(tree, sandbox, budget) -> None:
    wrong = call("edit", {"path": "calc.py", "search": "a * b", "replace": "a + b"})
    attempt, model, _ = carry_out([(DONE, wrong), (FIX, DONE)], tree, sandbox, budget)
    assert "an edit of this reply was refused" in results(model)[0]
    assert attempt.files == ("calc.py",)


def test_edits_in_text_that_do_not_pass_may_be_mended_once(tree, sandbox, budget) -> None:
    wrong = BLOCK.replace("a + b", "b - a")
    mend = BLOCK.replace("a - b", "b - a")
    attempt, model, _ = carry_out([wrong, mend], tree, sandbox, budget, who=candidate(**TEXT))
    assert "assert 1 == 3" in model.calls[1].last
    assert "return b - a" in model.calls[1].last
    assert "+    return a + b" in attempt.patch
    attempt, model, _ = carry_out(
        [mend.replace("a + b", "b / a").replace("b - a", "a + b", 1), "That is all."],
        tree,
        sandbox,
        budget,
        who=candidate(**TEXT),
    )
    assert (attempt.summary, len(model.calls)) == ("Changed calc.py.", 2)


# --- files ------------------------------------------------------------------------------------------------


def test_a_file_is_made_moved_with_its_mode_and_deleted(tree, sandbox, budget) -> None:
    (tree.root / "a.py").chmod(0o755)
    (tree.root / "link.py").symlink_to("b.py")
    script = [
        call("edit", {"path": "new/c.py", "search": "", "replace": "z = 1\n"}),
        call("move", {"path": "a.py", "target": "lib/d.py"}),
        call("move", {"path": "b.py", "target": "calc.py"}),
        call("move", {"path": "link.py", "target": "lib/link.py"}),
        call("move", {"path": "lib/link.py", "target": ""}),
        (DONE,),
        DONE,
    ]
    attempt, model, _ = carry_out(script, tree, sandbox, budget, what=step(failures=()))
    assert results(model)[1] == "a.py moved to lib/d.py."
    assert "calc.py exists" in results(model)[2]
    assert attempt.files == ("a.py", "lib/d.py", "link.py", "new/c.py")
    assert (tree.root / "lib/d.py").stat().st_mode & 0o777 == 0o755
    assert (tree.root / "b.py").read_bytes() == b"y = 1\n"
    assert not (tree.root / "lib/link.py").is_symlink()


def test_a_command_may_keep_files_and_they_are_read_again_before_an_edit(tree, sandbox, budget) -> None:
    command = {"command": "sed -i 's/ 1/ 5/' a.py b.py", "keep": ["a.py", "calc.py"]}
    edit = call("edit", {"path": "a.py", "search": "x = 5", "replace": "x = 6"})
    script = [call("open", {"path": "a.py"}), call("run", command), edit, edit, DONE, DONE]
    attempt, model, _ = carry_out(script, tree, sandbox, budget)
    assert results(model)[1].endswith("(kept: a.py)")
    assert "has changed since you saw it" in results(model)[2]
    assert "1: x = 5" in results(model)[2]
    assert attempt.files == ("a.py",)
    assert (tree.root / "a.py").read_bytes() == b"x = 6\n"


@pytest.mark.parametrize("path", ["../out.py", ".env", "nothing.py", "/etc/passwd"])
def test_what_may_not_be_written_is_not_kept_either(tree, sandbox, budget, path) -> None:
    keep = call("run", {"command": "echo 'x = 5' > a.py; echo KEY=1 > .env", "keep": ["a.py", path]})
    attempt, _, events = carry_out([keep, DONE], tree, sandbox, budget)
    assert attempt.patch == ""
    assert not events[0].ok


def test_a_long_output_is_cut_and_the_rest_can_be_opened(tree, sandbox, budget) -> None:
    script = [
        call("run", {"command": "seq 1 9000"}),
        call("open", {"path": "output-1", "start": 4000, "end": 4001}),
        DONE,
    ]
    _, model, _ = carry_out(script, tree, sandbox, budget)
    shown, rest = results(model)
    assert shown.startswith("1\n2\n")
    assert shown.endswith("9000\n(exit code 0)")
    assert "of 9000 left out; they are in output-1, for open" in shown
    assert rest == "4000: 4000\n4001: 4001\n(output-1 has 9000 lines.)"
    assert len(shown) < 9_000


# --- what is learnt, and what is said ---------------------------------------------------------------------


def test_a_model_that_garbles_its_calls_is_asked_for_text_next_time(tree, sandbox, budget, tmp_path) -> None:
    scores = KeptScores(tmp_path / "formats.json")
    garbled = [call("edit", '{"path": "calc.py", '), call("edit", "{")]
    carry_out([garbled] * 3, tree, sandbox, budget, scores=scores)
    assert scores.of("test/model") == {"tools": (0, 7)}
    _, model, events = carry_out([BLOCK], tree, sandbox, budget, scores=scores)
    assert not model.calls[0].tools
    assert events[0].text == "test/model writes its edits as search-replace: as tools, 7 of 7 failed."
    assert scores.of("test/model")["search-replace"] == (1, 0)


def test_settings_say_the_format_whatever_was_learnt(tree, sandbox, budget, tmp_path) -> None:
    scores = KeptScores(tmp_path / "formats.json")
    scores.count("test/model", "tools", right=0, wrong=50)
    _, model, _ = carry_out([DONE], tree, sandbox, budget, scores=scores, who=candidate(edit_format="tools"))
    assert model.calls[0].tools


def test_a_task_that_shows_an_image_is_taken_and_the_user_is_told(tree, sandbox, budget) -> None:
    text = "The button is wrong: ![shot](https://example.org/shot.png?raw=1), see also docs/b.JPG."
    (tree.root / "logo.png").write_bytes(b"\x89PNG\r\n")
    script = [call("open", {"path": "logo.png"}), DONE]
    _, model, events = carry_out(script, tree, sandbox, budget, what=step(text=text))
    assert "do not see https://example.org/shot.png?raw=1, docs/b.JPG" in events[0].text
    assert "logo.png is an image" in results(model)[0]


def test_a_context_that_is_smaller_than_was_known_is_met_once_by_dropping(tree, sandbox, budget) -> None:
    (tree.root / "long.txt").write_text("word " * 2000)
    opened = [call("open", {"path": "long.txt", "end": n}) for n in range(1, 5)]
    script = [*opened, ContextTooLong("too long"), DONE]
    attempt, model, _ = carry_out(script, tree, sandbox, budget)
    assert attempt.void == ""
    assert sum("was dropped" in message.content for message in model.calls[-1].messages) >= 2
    attempt, _, _ = carry_out([ContextTooLong("too long")], tree, sandbox, budget)
    assert attempt.void == "too long"
