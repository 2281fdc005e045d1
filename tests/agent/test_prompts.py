"""What the first prompt holds: a small repository whole, a map of a large one, what it asks of changes."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from acr_cli.agent.conventions import about_code, conventions
from acr_cli.agent.prompts import neighbouring_test, user
from acr_cli.agent.repomap.drawing import RepoMap
from acr_cli.agent.sight import Sight
from acr_cli.records import Lesson, StepKind
from acr_cli.worktree.tree import RunTree
from tests.agent.conftest import FILES, step

SMALL = """\
The task: make the failing tests pass.

1 failing test:
- test_calc.py::test_add
  AssertionError: assert -1 == 3
test_calc.py:5: AssertionError
calc.py:2: in add

The tests are run with: pytest

The files of the repository:
a.py
b.py
calc.py
test_calc.py

Files as they are now:

calc.py
```
def add(a, b):
    return a - b
```

test_calc.py
```
from calc import add


def test_add():
    assert add(1, 2) == 3
```
"""


def prompt(tree, what=None, *, room: int = 60_000, whole_files: bool = False) -> str:
    what = what or step(test_command="pytest")
    return user(what, Sight(tree), RepoMap(None), room=room, whole_files=whole_files).content


def large(tmp_path: Path, number: int) -> RunTree:
    """The small repository among many other files, none of which has to do with it."""
    source = tmp_path / "large"
    files = {name: content.decode() for name, content in FILES.items()}
    for each in range(number):
        files[f"src/package{each // 20}/module_{each}.py"] = (
            f"def work_{each}(x):\n    return work_{each + 1}(x)\n"
        )
    files["src/logic.py"] = "from calc import add\n\n\ndef totals(rows):\n    return add(*rows)\n"
    files["calc.py"] = "from src.logic import totals\n\n\ndef add(a, b):\n    return a - totals([b])\n"
    for name, content in files.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(content)
    return RunTree.copy(source, tuple(files), tmp_path / "run-large")


def test_the_prompt_of_a_small_repository_is_what_it_was(tree) -> None:
    assert prompt(tree) == SMALL


@pytest.mark.parametrize("number", [80, 250, 700])
def test_the_prompt_of_a_large_one_is_shorter_than_a_listing_and_knows_more(tmp_path, number: int) -> None:
    tree = large(tmp_path, number)
    text = prompt(tree)
    listed = "\n".join(tree.files()[:300])
    overview = text[text.index("The repository has") : text.index("Files as they are now")]
    assert len(overview) <= len(listed) + 200
    assert f"The repository has {number + 5} files: " in overview
    assert "src/logic.py\n    4: def totals(rows):" in overview
    assert "\ncalc.py\n    " not in overview  # it is shown whole
    assert "\ndef add(a, b):" in text


def test_a_model_without_tools_is_told_the_paths_as_far_as_they_go(tmp_path) -> None:
    text = prompt(large(tmp_path, 100), room=2_000, whole_files=True)
    assert "The files of the repository:" in text
    assert "src/package4/module_99.py" in text


def test_a_file_too_large_to_be_shown_is_on_the_map(tmp_path) -> None:
    tree = large(tmp_path, 100)
    lines = "".join(f"def line_{n}():\n    pass\n" for n in range(3000))
    (tree.root / "calc.py").write_text("def add(a, b):\n    return a - b\n" + lines)
    overview = prompt(tree, room=2_000)
    assert "\ncalc.py\n    1: def add(a, b):" in overview


def test_where_failing_tests_lead_to_what_is_shown_the_map_is_short(tmp_path) -> None:
    tree = large(tmp_path, 400)
    uses = "from src.logic import totals\nfrom src.package0.module_0 import work_0\n\n\n"
    (tree.root / "calc.py").write_text(uses + "def add(a, b):\n    return work_0(totals([a, b]))\n")
    told, wished = (
        text[text.index("The repository has") : text.index("Files as they are now")]
        for text in (prompt(tree), prompt(tree, step(failures=(), text="calc.py: add must add.")))
    )
    assert len(told) < 1_250
    assert len(wished) > 1_500
    assert "src/logic.py\n    4: def totals(rows):" in told
    assert "test_calc.py\n" not in told


def test_what_was_tried_before_is_where_the_map_begins_too(tmp_path) -> None:
    lesson = Lesson(candidate="weak", patch="--- a/x\n+++ b/src/package3/module_77.py\n", reason="no")
    text = prompt(large(tmp_path, 100), step(lessons=(lesson,), failures=()))
    assert "src/package3/module_77.py\n    1: def work_77(x):" in text


def test_what_agents_and_contributing_ask_for_is_told(tree) -> None:
    (tree.root / "AGENTS.md").write_text("Use tabs.\n")
    (tree.root / "CONTRIBUTING.md").write_text(
        "# Welcome\n\nBe kind.\n\n## Code style\n\nNo globals.\n\n## Money\n\nGive.\n"
    )
    text = prompt(tree)
    assert "What the repository asks of those who change it:\nAGENTS.md:\nUse tabs." in text
    assert "CONTRIBUTING.md:\n## Code style\n\nNo globals." in text
    assert "Be kind" not in text
    assert "Give." not in text


def test_the_nearest_agents_file_comes_last_and_far_ones_not_at_all(tree) -> None:
    for folder in ("lib", "lib/deep", "other"):
        (tree.root / folder).mkdir()
        (tree.root / folder / "AGENTS.md").write_text(f"Words of {folder}.\n")
    (tree.root / "AGENTS.md").write_text("Words of the root.\n")
    sight = Sight(tree)
    said = conventions(sight, sight.listed(), ["lib/deep/a.py"])
    assert said.index("the root") < said.index("of lib.") < said.index("of lib/deep.")
    assert "of other" not in said


def test_long_conventions_are_cut_at_a_line(tree) -> None:
    (tree.root / "AGENTS.md").write_text("A rule of its own line.\n" * 1000)
    sight = Sight(tree)
    said = conventions(sight, sight.listed(), ())
    assert len(said) < 4_100
    assert said.endswith("A rule of its own line.\n[...]")
    assert len(conventions(sight, sight.listed(), (), room=500)) < 600


def test_a_contributing_without_a_word_on_code_says_nothing() -> None:
    assert about_code("# Welcome\n\nBe kind.\n") == ""
    assert about_code("No headings.\n") == ""


def test_a_second_run_on_the_same_repository_reads_nothing_for_its_prompt(tmp_path) -> None:
    tree = large(tmp_path, 80)
    then = time.time() - 60
    for path in tree.files():
        os.utime(tmp_path / "large" / path, (then, then))
    start = tree.checkpoint()
    for read in (85, 0):
        repomap = RepoMap(tmp_path / "cache", source=tmp_path / "large", changed=lambda: tree.changed(start))
        user(step(), Sight(tree), repomap, room=60_000, whole_files=False)
        assert repomap.read == read


@pytest.mark.parametrize(
    ("about", "expected"),
    [
        (("src/load.py",), "src/load_test.py"),
        (("src/save.py",), "src/load_test.py"),  # of the same folder
        (("web/page.ts",), "web/page.spec.ts"),
        ((), "src/load_test.py"),
    ],
)
def test_a_test_step_is_shown_the_nearest_test_for_its_style(about, expected) -> None:
    files = ("README.md", "src/load.py", "src/load_test.py", "src/save.py", "test_all.py", "web/page.spec.ts")
    assert neighbouring_test(step(kind=StepKind.TEST, files=about), (), files) == expected
    assert neighbouring_test(step(kind=StepKind.TEST), (), ("README.md", "test_data.json")) == ""
