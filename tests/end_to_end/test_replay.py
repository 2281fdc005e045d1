"""A replay does the same without a model, remembers and applies nothing, and says whether it is the same."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from acr_cli.memory.store import Memory
from acr_cli.testing.answers import Say
from acr_cli.testing.loopback import LoopbackServer
from tests.end_to_end.conftest import RIGHT, WRONG, result_of

Acr = Callable[..., subprocess.CompletedProcess[str]]
OPTIONS = ("--sandbox", "none", "--json")


def said(content: str) -> Say:
    return Say(text=f"slug.py\n```\n{content}```\n")


def runs(acr_home: Path) -> list[Path]:
    return sorted((acr_home / "runs").iterdir())


@pytest.mark.parametrize("parallel", [1, 2])
def test_a_run_with_models_is_replayed_without_them(
    acr: Acr, acr_home: Path, broken: Path, pool: Callable[..., None], parallel: int
) -> None:
    with LoopbackServer({"weak": lambda _: said(WRONG), "strong": [said(RIGHT)]}) as server:
        pool(server, {"weak": 0.5, "strong": 5.0}, policy="escalate", parallel=parallel)
        allowed = ("--allow", "openai/weak,openai/strong")
        done = result_of(acr("fix", *OPTIONS, *allowed, cwd=broken).stdout)
        asked = {request.model for request in server.requests}
    (broken / "notes.txt").write_text("of the user, later\n")
    remembered = len(list(Memory(acr_home).outcomes()))

    replayed = acr("runs", "replay", done["run"], "--json", cwd=broken.parent)

    last = json.loads(replayed.stdout.splitlines()[-1])
    assert (done["status"], asked) == ("fixed", {"weak", "strong"})
    assert (replayed.returncode, last["type"], last["identical"]) == (0, "replay", True), replayed.stderr
    assert last["patch"] == done["patch"] != ""
    assert len(list(Memory(acr_home).outcomes())) == remembered
    assert [folder.name for folder in runs(acr_home)] == [done["run"]]
    assert (broken / "slug.py").read_text() == RIGHT


def test_a_replay_in_another_world_says_that_the_patch_is_another(
    acr: Acr, acr_home: Path, broken: Path, pool: Callable[..., None]
) -> None:
    with LoopbackServer({"weak": [said(RIGHT)]}) as server:
        pool(server, {"weak": 0.5})
        done = result_of(acr("fix", *OPTIONS, "--allow", "openai/weak", cwd=broken).stdout)
    recording = acr_home / "runs" / done["run"] / "recording.jsonl"
    recording.write_text(recording.read_text().replace("text.lower()", "text.lower().strip()"))

    other = acr("runs", "replay", done["run"], cwd=broken)
    recording.write_text(recording.read_text().splitlines()[0] + "\n")
    shorter = acr("runs", "replay", done["run"], cwd=broken)

    assert other.returncode == shorter.returncode == 1
    assert "makes another patch" in other.stdout
    assert "text.lower().strip()" in other.stdout
    assert "could not do the same. The replay asks for one more choice than the run did." in shorter.stdout


def test_a_reply_that_was_not_kept_whole_is_no_ground_for_a_replay(
    acr: Acr, broken: Path, pool: Callable[..., None]
) -> None:
    with LoopbackServer({"weak": [said(f"# by ada@example.org\n{RIGHT}")]}) as server:
        pool(server, {"weak": 0.5})
        done = result_of(acr("fix", *OPTIONS, "--allow", "openai/weak", cwd=broken).stdout)

    replayed = acr("runs", "replay", done["run"], cwd=broken)

    assert done["status"] == "fixed"
    assert replayed.returncode == 1
    assert "held what looks like a secret, an address or a home folder" in replayed.stdout


def test_a_search_of_repair_is_replayed(acr: Acr, git_repo: Callable[..., Path]) -> None:
    test = "from a import double\n\n\ndef test_double():\n    assert double(4) == 8\n"
    repo = git_repo({"a.py": "def double(x):\n    return x * 3\n", "test_a.py": test})
    done = result_of(acr("fix", *OPTIONS, cwd=repo).stdout)

    replayed = acr("runs", "replay", done["run"], cwd=repo)

    assert done["status"] == "fixed"
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr
    assert "makes the same patch, byte by byte" in replayed.stdout


@pytest.mark.parametrize("command", ["resume", "replay"])
def test_what_is_no_run_is_said(acr: Acr, tmp_path: Path, command: str) -> None:
    done = acr("runs", command, "2020", cwd=tmp_path)

    assert done.returncode == 2
    assert "'2020' is not a run." in done.stderr
