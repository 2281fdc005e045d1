"""Which parts of a long file are shown, and which failing tests' lines are worth their tokens."""

from __future__ import annotations

from acr_cli.agent.excerpts import excerpt, outline
from acr_cli.agent.prompts import user
from acr_cli.agent.repomap.drawing import RepoMap
from acr_cli.agent.sight import Sight
from acr_cli.records import CaseResult
from tests.agent.conftest import step

LONG = "import os\n\n\n" + "".join(
    f"class Part{n}:\n    def work_{n}(self):\n        return {n}\n\n\n" for n in range(400)
)
GO = "package x\n\n" + "".join(f"func Work{n}(x int) int {{\n\treturn x\n}}\n\n" for n in range(300))


def failing(detail: str, **fields: str) -> CaseResult:
    known = {"id": "t.py::test_x", "outcome": "failed", "file": "t.py", "detail": detail}
    return CaseResult(**{**known, **fields})


def test_the_places_that_a_traceback_points_to_are_shown_with_their_blocks() -> None:
    what = step(failures=(failing("lib/long.py:52: in work_9\nlong.py:500: in x"),))
    shown = excerpt("lib/long.py", LONG, what, room=6_000)
    block = "class Part9:\n    def work_9(self):\n        return 9\n"
    assert shown.startswith(f"import os\n[... lines 2-48 ...]\n{block}[")
    assert "return 99" in shown
    assert "return 50\n" not in shown


def test_a_definition_that_the_task_names_is_shown() -> None:
    shown = excerpt("long.py", LONG, step(failures=(), text="`work_123` is off by one."), room=6_000)
    assert "    def work_123(self):\n        return 123" in shown
    assert len(shown) < 300


def test_a_block_in_braces_is_shown_to_its_end() -> None:
    shown = excerpt("x.go", GO, step(failures=(), text="Work7 returns x"), room=6_000)
    assert "func Work7(x int) int {\n\treturn x\n}" in shown


def test_a_file_that_nothing_points_into_has_no_excerpt() -> None:
    assert excerpt("long.py", LONG, step(failures=(), text="Mend it."), room=6_000) == ""
    assert outline("a = 1\n") == ""


def test_an_excerpt_keeps_to_its_room() -> None:
    many = "\n".join(f"long.py:{n}: in x" for n in range(5, 1900, 3))
    assert len(excerpt("long.py", LONG, step(failures=(failing(many),)), room=2_000)) < 4_000


def test_of_a_large_source_and_its_tests_the_prompt_shows_what_matters(tree) -> None:
    (tree.root / "calc.py").write_text(LONG + "def add(a, b):\n    return a - b\n")
    others = "".join(f"def test_other_{n}():\n    assert {n}\n\n\n" for n in range(50))
    (tree.root / "test_calc.py").write_text(
        "from calc import add\n\n\n" + others + "def test_add():\n    assert 1\n"
    )
    text = user(step(), Sight(tree), RepoMap(None), room=60_000, whole_files=False).content
    assert "calc.py (in parts)" in text
    assert "def add(a, b):\n    return a - b" in text
    assert "def test_add():" in text
    assert "test_other_7" not in text
    assert len(text) < 3_000


def test_a_file_that_is_only_imported_is_outlined_where_another_is_pointed_to(tree) -> None:
    (tree.root / "test_calc.py").write_text(
        "from calc import add\nfrom b import y\n\n\ndef test_add():\n    assert 1\n"
    )
    (tree.root / "b.py").write_text("def y():\n    return 'a long story'\n")
    text = user(step(), Sight(tree), RepoMap(None), room=60_000, whole_files=False).content
    assert "b.py (in parts)\n```\ndef y():\n[... lines 2-2 ...]\n```" in text
    assert "    return a - b" in text


def test_empty_captures_and_inner_values_are_left_out(tree) -> None:
    detail = (
        "t.py:3: in test_x\nE   assert 1 == 2\nE    +  where 1 = f()\nE    +    where f = <f at 0x7f>\n"
        "----- Captured Log -----\n\n----- Captured Out -----\nseen\n----- Captured Err -----\n"
    )
    what = step(failures=(failing(detail, exception="AssertionError", message="assert 1 == 2"),))
    text = user(what, Sight(tree), RepoMap(None), room=60_000, whole_files=False).content
    assert "E    +  where 1 = f()\n----- Captured Out -----\nseen\n\n" in text
    assert "0x7f" not in text


def test_of_what_a_failing_test_imports_it_is_what_it_uses_that_is_shown(tree) -> None:
    tests = (
        '"""' + "What it is about.\n" * 20 + '"""\n'
        "from calc import (\n    add,\n)\nfrom b import y as why\nimport a\n\n\n"
        "def test_other():\n    assert why and a\n\n\n"
        + "# more\n" * 100
        + "def test_add():\n    assert add(1, 2) == 3\n"
    )
    (tree.root / "test_calc.py").write_text(tests)
    what = step(
        failures=(failing("test_calc.py:134: AssertionError", id="t::test_add", file="test_calc.py"),)
    )
    text = user(what, Sight(tree), RepoMap(None), room=60_000, whole_files=False).content
    assert "\ncalc.py\n```\n" in text
    assert "\nb.py\n```\n" not in text


def test_what_an_earlier_failure_has_said_is_not_said_again(tree) -> None:
    here = "test_calc.py:9: in test_{}\n    {}\n           ^^^^^^^\n"
    where = here + "calc.py:2: in add\n    return a - b\nE   TypeError: no"
    raised = {"exception": "TypeError", "message": "no"}
    what = step(
        failures=(
            failing(where.format("one", "add(1)"), id="t::test_one", **raised),
            failing(where.format("one", "add(1)"), id="t::test_one[2]", **raised),
            failing(where.format("two", "add(2)"), id="t::test_two", **raised),
            failing("calc.py:2: in add\nE   TypeError: other", id="t::test_three", exception="TypeError"),
        )
    )
    text = user(what, Sight(tree), RepoMap(None), room=60_000, whole_files=False).content
    said = text[text.index("- t::test_one") : text.index("The tests are run")]
    assert said == (
        "- t::test_one\ntest_calc.py:9\n    add(1)\ncalc.py:2: in add\n    return a - b\nE   TypeError: no\n"
        "- t::test_one[2]\n  fails in the same way\n"
        "- t::test_two\n    add(2)\n"
        "- t::test_three\ncalc.py:2: in add\nE   TypeError: other\n\n"
    )


def test_a_short_file_that_the_failure_is_about_is_shown_though_another_imports_it(tree) -> None:
    (tree.root / "calc.py").write_text(
        "from a import Reader\nfrom b import shelf\n\n\ndef add(a, b):\n    return Reader(a, shelf)\n"
    )
    (tree.root / "a.py").write_text("class Reader:\n    name = 'Ann'\n")
    (tree.root / "b.py").write_text("def shelf():\n    return 'top'\n")
    text = user(
        step(text="What readers owe is added up."), Sight(tree), RepoMap(None), room=60_000, whole_files=False
    ).content
    assert "\na.py\n```\nclass Reader:\n    name = 'Ann'\n```" in text
    assert "\nb.py\n```" not in text
    (tree.root / "a.py").write_text("class Reader:\n" + "    name = 'Ann'\n" * 300)
    text = user(
        step(text="What readers owe is added up."), Sight(tree), RepoMap(None), room=60_000, whole_files=False
    ).content
    assert "\na.py\n```" not in text
