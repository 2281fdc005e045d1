"""docs/errors.md and docs/cli.md are those that the code makes, and explain every error."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from acr_cli.cli.reference import PAGES, REMEDIES, rows
from acr_cli.errors import NoEligibleModel

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_not_stale(page: str) -> None:
    assert (DOCS / page).read_text(encoding="utf-8") == PAGES[page](), "run `make docs`"


def test_every_error_has_its_own_id_and_a_remedy_and_no_remedy_is_left_over() -> None:
    ids = [name for name, _, _ in rows()]
    assert len(ids) == len(set(ids))
    assert set(ids) == set(tomllib.loads(REMEDIES.read_text()))
    assert (NoEligibleModel.id, 3) in [(name, code) for name, code, _ in rows()]


def test_every_id_that_the_program_prints_has_its_heading(acr) -> None:
    headings = set(re.findall(r"^## (\S+)$", (DOCS / "errors.md").read_text(), re.MULTILINE))
    for arguments in (["fxi"], ["config", "set", "nonsense", "1"], ["fix"], ["-C", "/no/such/folder", "fix"]):
        done = acr(*arguments)
        (found,) = re.findall(r"\[([a-z-]+)\]$", done.stderr.splitlines()[0])
        assert found in headings
        assert done.returncode == next(code for name, code, _ in rows() if name == found)
