"""Parts of other packages: found by their entry points, used once the config names them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.end_to_end.conftest import RIGHT, result_of

Acr = Callable[..., subprocess.CompletedProcess[str]]

MODULE = f"""
from acr_cli.records import Attempt, Vote


class Eager:
    name = "eager"
    weight = 5.0

    def vote(self, context, candidates):
        return {{
            c.id: Vote(voter=self.name, value=float(c.id == "scribe"), weight=self.weight, note="I know him")
            for c in candidates
        }}


class Scribe:
    name = "scribe"

    def __init__(self, *, emit):
        self.emit = emit

    def eligible(self, step):
        return bool(step.failures)

    def attempt(self, step, candidate, tree, sandbox, budget):
        tree.path("slug.py").write_text({RIGHT!r})
        return Attempt(candidate=candidate.id, summary="written")
"""


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    site = tmp_path / "site"
    info = site / "extra_parts-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "extra_parts.py").write_text(MODULE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: extra-parts\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[acr_cli.voters]\neager = extra_parts:Eager\n\n[acr_cli.backends]\nscribe = extra_parts:Scribe\n"
    )
    return site


def test_an_installed_voter_and_backend_take_part_once_they_are_named(
    acr: Acr, broken: Path, acr_home: Path, installed: Path
) -> None:
    acr_home.mkdir()
    (acr_home / "config.toml").write_text('voters = ["eager"]\nbackends = ["scribe"]\nexploration = 0\n')

    done = acr("fix", "--json", "--sandbox", "none", cwd=broken, env={"PYTHONPATH": str(installed)})

    result = result_of(done.stdout)
    assert (result["status"], result["steps"][0]["model"]) == ("fixed", "scribe"), done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    choice = next(event["choice"] for event in events if event["type"] == "choice")
    voters = {
        forecast["candidate"]: [v["voter"] for v in forecast["votes"]] for forecast in choice["forecasts"]
    }
    assert voters["scribe"] == ["trait", "eager"]


def test_a_part_that_nobody_offers_is_named_with_those_that_are_known(
    acr: Acr, broken: Path, acr_home: Path
) -> None:
    acr_home.mkdir()
    (acr_home / "config.toml").write_text('voters = ["eager"]\n')

    done = acr("fix", "--json", "--sandbox", "none", cwd=broken)

    assert done.returncode == 3
    assert json.loads(done.stdout.splitlines()[-1])["error"]["message"] == "No voter is named 'eager'."
