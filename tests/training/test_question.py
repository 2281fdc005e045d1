"""What an advisor is asked, in training and in a run, and how an answer is read."""

from __future__ import annotations

import pytest

from acr_cli.advisor.question import CHARACTERS, Question, Rate, cut, written
from acr_cli.advisor.reply import chosen
from acr_cli.orchestrator.voters.policy_model import question_of
from acr_cli.records import Context, Neighbour
from acr_cli.training.questions import asked
from tests.training.rule import rule_card, rule_tasks


def test_the_prompt_is_the_same_in_training_and_in_a_run() -> None:
    tasks = rule_tasks(100, 20)
    card = rule_card(tasks)
    # Two nearest tasks of which the first was solved; one outcome each, as memory would hand them out.
    text = tasks.train.texts[0]
    vectors = {text: (1.0, 0.0), tasks.train.texts[5]: (0.9, 0.436), tasks.train.texts[7]: (0.6, 0.8)}
    drills = asked(tasks, card, vectors)
    trained = next(drill.question for drill in drills.train if drill.question.text == text)

    found = [
        Neighbour(
            id=str(row),
            similarity=0.6,
            candidate=f"acme/{tasks.train.models[row % 3]}@low",
            passed=tasks.train.score[row, row % 3] == 1.0,
            u=0.0,
            cost_usd=0.0,
        )
        for row in (5, 7)
    ]
    context = Context(text=text, dimension="bug_fixing", language="python", neighbours=tuple(found))

    assert written(question_of(card, context)) == written(trained)
    assert "Solved of similar tasks:" in written(trained)
    assert text in written(trained)


def test_a_long_text_keeps_its_head_and_its_end() -> None:
    text = "begin " + "x" * 10_000 + " end"

    shown = cut(text, 100)

    assert shown.startswith("begin x")
    assert shown.endswith("x end")
    assert len(shown) < 110
    assert cut("  short ", 100) == "short"


def test_a_task_without_a_text_is_asked_about_all_the_same() -> None:
    question = Question(text="", dimension="algorithm", language="", candidates=(Rate(candidate="a"),))

    prompt = written(question, characters=CHARACTERS)

    assert "algorithm, language not known" in prompt
    assert "Task:\nnot known\n" in prompt


NAMES = ("openai/gpt-5.4", "openai/gpt-5.4-mini", "glm-5", "builtin/repair")


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ('{"model": "glm-5", "reasoning": "cheap"}', ("glm-5", "json")),
        ('<think>hm</think>\n```json\n{"model": "GLM-5"}\n```', ("glm-5", "json")),
        ('{"model": "gpt-5.4-mini"}', ("openai/gpt-5.4-mini", "json")),
        ('{"model": "claude"} or {"model": "glm-5"}', ("glm-5", "json")),
        ('{"model": "glm-5", "reasoning": "unfinished', ("glm-5", "pattern")),
        ("model: gpt-5.4", ("openai/gpt-5.4", "pattern")),
        ("I would not take glm-5 here but gpt-5.4-mini.", ("openai/gpt-5.4-mini", "name")),
        ("openai/gpt-5.4, I think", ("openai/gpt-5.4", "name")),
        ('{"model": null}', (None, "none")),
        ('{"model": ["glm-5"]}', ("glm-5", "name")),
        ("gpt-5.45 or sglm-5", (None, "none")),
        ("", (None, "none")),
        ("[1, 2]", (None, "none")),
        ('{"model": ' + "[" * 100_000 + '"glm-5"' + "]" * 100_000 + "}", ("glm-5", "name")),
        ("{" * 100_000 + "\0" + "model: " * 10_000, (None, "none")),
    ],
)
def test_an_answer_is_read_by_what_can_be_read_of_it(reply: str, expected: tuple[str | None, str]) -> None:
    assert chosen(reply, NAMES) == expected
