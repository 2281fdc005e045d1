"""Every code block of the README runs, as it stands there, and its picture is one of the present program."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from acr_cli.testing.answers import Answer, Say
from acr_cli.testing.loopback import LoopbackServer, Request
from tests.demo.picture import SHOP, draw, run, words
from tests.docs.pages import ROOT, Block, every
from tests.end_to_end.conftest import RIGHT, SLUG

README = (ROOT / "README.md",)


@pytest.fixture
def shell(acr_home: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs lines as a user's shell would; the first that fails ends them."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)  # it has pytest
    monkeypatch.setenv("ACR_SANDBOX", "bubblewrap")

    def lines(text: str, where: Path) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            ["bash", "-exo", "pipefail", "-c", text],
            cwd=where,
            text=True,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            check=False,
            timeout=280,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    return lines


def the(tag: str) -> Block:
    (block,) = every(tag, pages=README)
    return block


def test_every_block_is_run_by_one_of_these_tests() -> None:
    run_here = {"sh make", "sh install", "sh", "sh model"}  # sh install: tests/packaging
    assert [block.tag for block in every("sh", *run_here, pages=README)] == [
        "sh make",
        "sh install",
        "sh",
        "sh model",
    ]
    assert (ROOT / "README.md").read_text().count("```") == 2 * len(run_here)


@pytest.mark.slow
def test_make_demo_and_make_test(shell) -> None:
    for line in the("sh make").text.splitlines():
        planned = subprocess.run(
            ["make", "-n", *line.split("#")[0].split()[1:]],
            cwd=ROOT,
            text=True,
            capture_output=True,
            check=True,
        )
        assert {"demo": "tests/demo/run.sh", "test": "-m pytest"}[line.split()[1]] in planned.stdout
    if Path(sys.prefix) == ROOT / ".venv":
        done = shell("tests/demo/run.sh", ROOT)
        assert "Fixed and verified." in done.stdout
        assert "Reversed run" in done.stdout


@pytest.mark.slow
def test_a_failing_test_is_fixed_shown_remembered_and_undone(shell, git_repo: Callable[..., Path]) -> None:
    shop = git_repo({name: (SHOP / name).read_text() for name in ("cart.py", "test_cart.py")})
    done = shell(the("sh").text, shop)
    assert "+        if self.quantity >= BULK_QUANTITY:" in done.stdout
    assert "builtin/repair" in done.stdout
    assert (shop / "cart.py").read_text() == (SHOP / "cart.py").read_text()


@pytest.mark.slow
def test_with_a_model(shell, broken: Path, pool: Callable[..., None]) -> None:
    """`config init` asks on a terminal, as tests/end_to_end/test_walkthrough.py does; here it is answered."""

    def model(request: Request) -> Answer:
        return Say(text=f"slug.py\n```\n{RIGHT}```\n")

    with LoopbackServer({"writer": model}) as server:
        pool(server, {"writer": 0.5})
        text = the("sh model").text.replace("acr config init ", "acr config init --yes ")
        done = shell(text.replace("acr doctor ", "acr doctor || [ $? = 4 ] "), broken)
        asked = len(server.requests)
    assert "Fixed and verified." in done.stdout
    assert asked >= 1
    assert (broken / "slug.py").read_text() in (RIGHT, SLUG["slug.py"])


@pytest.mark.slow
def test_the_picture_shows_what_acr_prints_now() -> None:
    if shutil.which("bwrap") is None and sys.platform != "linux":
        pytest.skip("the picture is one of bubblewrap")
    now, kept = words(draw(run())), words((ROOT / "docs" / "run.svg").read_text(encoding="utf-8"))
    # Which patches are found beside the right one, and how many lines of progress there are, is chance.
    for line in (
        "baseline",
        "verified the failing test now passes",
        "Fixed and verified.",
        "changed",
        "paid",
    ):
        found = [[each for each in lines if each.startswith(line)] for lines in (now, kept)]
        assert found[0] == found[1] != [], "run `make picture`"
