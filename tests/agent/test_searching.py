"""Lines that match, by each program that may be at hand, and by none."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from acr_cli.agent.searching import search
from acr_cli.errors import BadReply

FILES = {
    "a.py": "def total(x):\n    return x + 12\n",
    "b/c.go": "func Total(x int) {}\n// total (all)\n",
    "odd:name.txt": "total\n",
    "odd\nname.txt": "total\n",
    "wide.bin": "total\0\n",
}

programs = pytest.mark.parametrize("program", ["rg", "grep", "none"])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / ".ignore").write_text("a.py\n")
    (tmp_path / "unasked.py").write_text("total\n")
    return tmp_path


def found(root: Path, pattern: str, program: str, most: int = 100) -> list[str]:
    if program != "none" and shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    programs = () if program == "none" else (program,)
    return [str(hit) for hit in search(root, tuple(FILES), pattern, most=most, programs=programs)]


@programs
def test_the_named_files_alone_are_searched_in_their_order(root: Path, program: str) -> None:
    assert found(root, "total", program) == [
        "a.py:1:def total(x):",
        "b/c.go:2:// total (all)",
        "odd:name.txt:1:total",
    ]


@programs
def test_what_is_no_regular_expression_is_taken_literally(root: Path, program: str) -> None:
    assert found(root, "total (", program) == ["b/c.go:2:// total (all)"]


@programs
def test_alternatives_are_found(root: Path, program: str) -> None:
    assert found(root, "Total|12", program) == ["a.py:2:    return x + 12", "b/c.go:1:func Total(x int) {}"]


@pytest.mark.parametrize("program", ["rg", "grep"])
def test_classes_of_characters_are_known(root: Path, program: str) -> None:
    assert found(root, r"\+ \d+$|^func \w+\(", program) == [
        "a.py:2:    return x + 12",
        "b/c.go:1:func Total(x int) {}",
    ]


@programs
@pytest.mark.parametrize("pattern", ["", "a\0b", "\ud800"])
def test_a_pattern_of_nothing_is_refused(root: Path, program: str, pattern: str) -> None:
    with pytest.raises(BadReply):
        found(root, pattern, program)


@programs
def test_one_file_and_one_line_do_not_fill_the_answer(root: Path, program: str) -> None:
    (root / "a.py").write_text("total\n" * 1000)
    (root / "b/c.go").write_text("total" * 1000 + "\n")
    hits = found(root, "total", program)
    assert sum(hit.startswith("a.py") for hit in hits) == 60
    assert max(map(len, hits)) < 400
