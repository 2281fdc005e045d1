"""How models write edits down, well and badly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acr_cli.agent.formats import FORMATS, SearchReplace, UnifiedDiff, WholeFile, read_edits
from acr_cli.errors import BadReply
from acr_cli.protocols import Edit

BLOCK = "<<<<<<< SEARCH\na = 1\n=======\na = 2\n>>>>>>> REPLACE"


@pytest.mark.parametrize(
    "above",
    [
        "src/a.py\n",
        "**src/a.py**\n",
        "`src/a.py`\n",
        "### src/a.py\n",
        "File: src/a.py\n",
        "src/a.py:\n",
        "src/a.py\n```python\n",
        "```python\nsrc/a.py\n",
        "```python src/a.py\n",
        "src/a.py\n\n```\n",
    ],
)
def test_the_path_stands_above_a_block(above) -> None:
    assert SearchReplace().parse(f"Here:\n\n{above}{BLOCK}\n```\n") == (
        Edit(path="src/a.py", search="a = 1\n", replace="a = 2\n"),
    )


def test_blocks_follow_each_other_and_keep_the_path() -> None:
    edits = SearchReplace().parse(f"a.py\n{BLOCK}\n\n{BLOCK}\n\nsub dir/b.py\n{BLOCK}\n")
    assert [edit.path for edit in edits] == ["a.py", "a.py", "sub dir/b.py"]


def test_an_empty_search_makes_a_file_and_a_line_deletes_one() -> None:
    reply = "new.py\n<<<<<<< SEARCH\n=======\nx = 1\n>>>>>>> REPLACE\n\nDELETE FILE old.py\n"
    assert SearchReplace().parse(reply) == (
        Edit(path="new.py", search="", replace="x = 1\n"),
        Edit(path="old.py", replace=None),
    )


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ("I would change a.py.", "no edit"),
        (f"python\n{BLOCK}", "no file's path"),
        (f"```python\n{BLOCK}", "no file's path"),
        ("a.py\n<<<<<<< SEARCH\na = 1\n", "no ======= line"),
        ("a.py\n<<<<<<< SEARCH\na = 1\n=======\na = 2\n", "no >>>>>>> REPLACE line"),
        (f"a.py\n<<<<<<< SEARCH\na = 1\n{BLOCK}", "no ======= line"),
    ],
)
def test_a_bad_reply_says_what_is_wrong(reply, says) -> None:
    with pytest.raises(BadReply, match=says):
        SearchReplace().parse(reply)


@pytest.mark.parametrize(
    "reply",
    [
        "src/a.py\n```python\na = 2\n```\n",
        "Some words.\n\n**src/a.py**\n\n```\na = 2\n```\nMore words.",
        "```python src/a.py\na = 2\n```\n",
    ],
)
def test_a_whole_file_stands_in_a_fence_below_its_path(reply) -> None:
    assert WholeFile().parse(reply) == (Edit(path="src/a.py", replace="a = 2\n"),)


def test_a_fence_without_a_path_is_talk() -> None:
    reply = "Run this:\n```sh\nmake\n```\na.md\n````\n```\ncode\n```\n````\n"
    assert WholeFile().parse(reply) == (Edit(path="a.md", replace="```\ncode\n```\n"),)


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ("```python\na = 2\n```\n", "no file below its path"),
        ("a.py\n```\na = 2\n", "cut off"),
        ("a.py\n```\na = 2\n# ... rest of the code ...\n```\n", "abbreviated"),
        ("a.js\n```\n// ... existing code\n```\n", "abbreviated"),
    ],
)
def test_a_whole_file_that_is_none_is_refused(reply, says) -> None:
    with pytest.raises(BadReply, match=says):
        WholeFile().parse(reply)


TEXT = st.text(st.sampled_from("ab.py/ \n`<=>#*") | st.characters(codec="utf-8"), max_size=80)


@given(
    reply=st.lists(
        TEXT | st.sampled_from(["\n<<<<<<< SEARCH\n", "\n=======\n", "\n>>>>>>> REPLACE\n", "\n```\n"])
    )
)
def test_any_reply_gives_edits_or_a_reason(reply) -> None:
    for edit_format in (SearchReplace(), WholeFile()):
        try:
            assert edit_format.parse("".join(reply))
        except BadReply as error:
            assert error.message  # noqa: PT017


# --- unified diffs, and replies in another format than the one asked for ----------------------------------


DIFF = """\
Here it is:

```diff
--- a/calc.py
+++ b/calc.py
@@ -90,2 +90,2 @@
 def add(a, b):
-    return a - b
+    return a + b

+# the end
--- /dev/null
+++ b/new.py
@@ -0,0 +1 @@
+x = 1
--- a/old.py
+++ /dev/null
@@ -1 +0,0 @@
-gone
```
"""


def test_a_unified_diff_is_read_by_its_lines_and_not_by_its_numbers() -> None:
    assert UnifiedDiff().parse(DIFF) == (
        Edit(
            path="calc.py",
            search="def add(a, b):\n    return a - b\n\n",
            replace="def add(a, b):\n    return a + b\n\n# the end\n",
            line=90,
        ),
        Edit(path="new.py", search="", replace="x = 1\n", line=1),
        Edit(path="old.py", replace=None),
    )


IN_FENCE = "calc.py\n```\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n```\n"


@pytest.mark.parametrize("asked", FORMATS, ids=lambda each: each.name)
@pytest.mark.parametrize(
    ("reply", "edits"),
    [
        (IN_FENCE, (Edit(path="calc.py", search="a\n", replace="b\n"),)),
        ("calc.py\n```\nall of it\n```\n", (Edit(path="calc.py", replace="all of it\n"),)),
        (DIFF, UnifiedDiff().parse(DIFF)),
    ],
    ids=["block", "whole file", "diff"],
)
def test_a_reply_in_another_format_is_understood(asked, reply, edits) -> None:
    assert read_edits(reply, asked) == edits


def test_a_broken_block_is_never_taken_for_a_whole_file() -> None:
    broken = "calc.py\n```\n<<<<<<< SEARCH\na\n```\n"
    with pytest.raises(BadReply, match="======="):
        read_edits(broken, WholeFile())


def test_a_line_of_context_may_have_lost_its_space_and_talk_behind_a_hunk_is_none_of_it() -> None:
    diff = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\nimport a\n\n\n-b\n+c\nThat is all.\n"
    assert UnifiedDiff().parse(diff) == (
        Edit(path="x.py", search="import a\n\n\nb\n", replace="import a\n\n\nc\n", line=1),
    )


@pytest.mark.parametrize(
    "reply",
    [
        "MOVE FILE a.py TO lib/b.py",
        "MOVE FILE: `a.py` -> `lib/b.py`",
        "diff --git a/a.py b/lib/b.py\nsimilarity index 100%\nrename from a.py\nrename to lib/b.py\n",
    ],
)
@pytest.mark.parametrize("asked", FORMATS, ids=lambda each: each.name)
def test_a_file_is_moved_in_every_format(asked, reply) -> None:
    assert read_edits(reply, asked) == (Edit(path="a.py", replace=None, target="lib/b.py"),)
