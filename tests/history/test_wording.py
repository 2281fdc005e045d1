"""The message of a commit as a task: what is wrong stays, what gives the fix away goes."""

from __future__ import annotations

import pytest

from acr_cli.history.wording import MOST, task_text

OLD = "def clamp(value, low, high):\n    if value > low:\n        return low\n    return min(value, high)\n"
NEW = OLD.replace("value > low", "value < low")
TEST = "def test_below():\n    assert clamp(-3, 0, 9) == 0\n"


def text_of(message: str, *, new: str = NEW, seen: tuple[str, ...] = (OLD, TEST)) -> str:
    return task_text(message, new=[new], seen=seen)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        pytest.param("Clamp below the bound", "Clamp below the bound", id="plain"),
        pytest.param("Clamp below (#12)", "Clamp below", id="number-of-a-pull-request"),
        pytest.param("Clamp below, fixes #12 at last", "Clamp below, at last", id="closing-phrase"),
        pytest.param("Clamp\n\nFixes: #12\nSigned-off-by: A <a@b.c>", "Clamp", id="trailers"),
        pytest.param(
            "Clamp\n\nwhy\n\nCo-authored-by: A <a@b.c>\nTested-on: ten machines", "Clamp\n\nwhy", id="block"
        ),
        pytest.param("Clamp\n\n(cherry picked from commit 1a2b3c4d5e6f7)", "Clamp", id="cherry-pick"),
        pytest.param("Clamp, see https://example.org/pull/12", "Clamp, see", id="address"),
        pytest.param("Clamp as in 1a2b3c4d5e6f7", "Clamp as in", id="commit"),
        pytest.param("Fix: clamp below", "Fix: clamp below", id="subject-like-a-trailer"),
        pytest.param("Clamp\n\nUse `value < low` here.", "Clamp", id="code-of-the-fix"),
        pytest.param("Clamp\n\n> if value < low:", "Clamp", id="line-of-the-fix"),
        pytest.param(
            "Clamp\n\nvalue > low was wrong", "Clamp\n\nvalue > low was wrong", id="code-that-was-there"
        ),
        pytest.param(
            "Clamp\n\nclamp(-3, 0, 9) must be 0", "Clamp\n\nclamp(-3, 0, 9) must be 0", id="code-of-the-tests"
        ),
        pytest.param(
            "Clamp\n\ndiff --git a/x.py b/x.py\n@@ -1,2 +1,2 @@\n-    old\n+    shiny\n context\nAfter it.",
            "Clamp\n\nAfter it.",
            id="patch",
        ),
        pytest.param("if value < low:", "", id="nothing-but-the-fix"),
        pytest.param("", "", id="empty"),
    ],
)
def test_a_message_becomes_a_task(message: str, text: str) -> None:
    assert text_of(message) == text


def test_a_long_message_is_cut() -> None:
    assert len(text_of("so many words " * 1000)) == MOST


def test_a_new_line_that_the_old_sources_have_elsewhere_gives_nothing_away() -> None:
    assert text_of("total = a + b is missing", new="total = a + b", seen=("total = a + b",)) != ""
