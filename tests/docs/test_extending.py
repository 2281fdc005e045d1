"""The package that docs/extending.md writes: installed, its four parts take part in a run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from acr_cli.testing.voters import check_voter
from tests.docs.pages import ROOT, every
from tests.end_to_end.conftest import result_of

PAGE = (ROOT / "docs" / "extending.md",)
FILES = {
    "greet.sh": "ehco hello\n",
    "t/hello.sh": '[ "$(sh greet.sh)" = hello ]\n',
    "t/there.sh": "[ -f greet.sh ]\n",
}


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder for PYTHONPATH with the page's module and its entry points."""
    site = tmp_path / "site"
    (block,) = every("toml pyproject", pages=PAGE)
    project = tomllib.loads(block.text)["project"]
    info = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir(parents=True)
    groups = project["entry-points"]
    lines = [
        line
        for group, points in groups.items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in points.items()), "")
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    module = "\n".join(block.text for block in every("python", pages=PAGE))
    (site / "my_parts.py").write_text(module)
    return site


@pytest.mark.slow
def test_the_parts_of_the_page_repair_a_shell_script(
    acr: Callable[..., subprocess.CompletedProcess[str]],
    git_repo: Callable[..., Path],
    acr_home: Path,
    installed: Path,
) -> None:
    (block,) = every("toml config", pages=PAGE)
    acr_home.mkdir()
    (acr_home / "config.toml").write_text(block.text + "exploration = 0\n")
    shop = git_repo(FILES)

    done = acr("fix", "--json", "--allow", "typist", cwd=shop, env={"PYTHONPATH": str(installed)})

    result = result_of(done.stdout)
    assert (result["status"], result["steps"][0]["model"]) == ("fixed", "typist"), done.stdout + done.stderr
    assert result["evidence"]["fixed"] == ["t/hello.sh"]
    assert (shop / "greet.sh").read_text() == "echo hello\n"
    assert "sh" in (acr_home / "commands.log").read_text()
    events = [json.loads(line) for line in done.stdout.splitlines()]
    choice = next(event["choice"] for event in events if event["type"] == "choice")
    assert "thrifty" in [vote["voter"] for vote in choice["forecasts"][0]["votes"]]
    fields, evidence = _fields_of_the_guide()
    assert len(fields) > 10
    assert evidence
    assert fields - {*result} == set()
    assert evidence - {*result["evidence"]} == set()


def _fields_of_the_guide() -> tuple[set[str], set[str]]:
    """The fields of a result, and those of its evidence, that the guide's table names."""
    guide = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.*`) \| (.*) \|$", guide[guide.index("## Scripts") :], re.MULTILINE)
    fields = {name for names, _ in rows for name in re.findall(r"`(\w+)`", names)}
    return fields, {*re.findall(r"`(\w+)`", dict(rows)["`evidence`"])}


def test_the_voter_keeps_the_rules(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(installed))
    from my_parts import Thrifty  # type: ignore[import-not-found]

    try:
        check_voter(Thrifty())
    finally:
        del sys.modules["my_parts"]


def test_a_sandbox_that_nobody_offers_is_refused_with_those_that_are_known(
    acr, git_repo, installed: Path
) -> None:
    done = acr("fix", "--sandbox", "lodged", cwd=git_repo(FILES), env={"PYTHONPATH": str(installed)})
    assert done.returncode == 2
    assert "auto, docker, bubblewrap, none or logged" in done.stderr
