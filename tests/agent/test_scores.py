"""Which edit format a model is asked for, and how that is learnt."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from acr_cli.agent.scores import KeptScores, best_format
from tests.agent.conftest import candidate


@pytest.mark.parametrize(
    ("who", "seen", "chosen"),
    [
        ({"tools": True}, {}, "tools"),
        ({"tools": True}, {"tools": (0, 1)}, "tools"),
        ({"tools": True}, {"tools": (2, 5)}, "tools"),
        ({"tools": True}, {"tools": (0, 4)}, "search-replace"),
        ({"tools": True}, {"tools": (20, 4)}, "tools"),
        ({"tools": True}, {"tools": (0, 4), "search-replace": (0, 3)}, "whole-file"),
        ({"tools": False, "local": True}, {"whole-file": (0, 3)}, "search-replace"),
        ({"tools": False}, {"search-replace": (0, 9), "whole-file": (0, 9), "unified-diff": (0, 9)}, "sea"),
        ({"tools": False}, {"tools": (50, 0)}, "search-replace"),
    ],
)
def test_a_model_keeps_its_usual_format_until_it_fails_it(who, seen, chosen) -> None:
    assert best_format(candidate(**who), seen).startswith(chosen)


def test_counts_are_kept_and_added_up_by_many_at_once(tmp_path: Path) -> None:
    path = tmp_path / "home" / "formats.json"

    def work(number: int) -> None:
        KeptScores(path).count("a", "tools", right=1, wrong=number % 2)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(16)))
    assert KeptScores(path).of("a") == {"tools": (16, 8)}
    assert KeptScores(path).of("b") == {}


def test_old_counts_weigh_less(tmp_path: Path) -> None:
    scores = KeptScores(tmp_path / "formats.json")
    scores.count("a", "tools", right=0, wrong=150)
    scores.count("a", "tools", right=60, wrong=0)
    assert scores.of("a") == {"tools": (30, 75)}


@pytest.mark.parametrize(
    "broken", ["", "[1]", '{"a": 5}', '{"a": {"tools": [1]}}', '{"a": {"tools": ["x", 2]}}']
)
def test_a_damaged_file_counts_as_empty_and_is_written_anew(tmp_path: Path, broken: str) -> None:
    path = tmp_path / "formats.json"
    path.write_text(broken)
    KeptScores(path).count("a", "tools", right=1, wrong=0)
    assert json.loads(path.read_text()) == {"a": {"tools": [1, 0]}}


def test_a_file_that_cannot_be_written_is_let_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    scores = KeptScores(tmp_path / "file" / "formats.json")
    scores.count("a", "tools", right=1, wrong=0)
    assert scores.of("a") == {}
