"""The built program repairs a repository without any model: every answer that the contract names."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.end_to_end.conftest import SLUG, result_of

Acr = Callable[..., subprocess.CompletedProcess[str]]

LIMIT = {
    "limit.py": """\
def clamp(value, low, high):
    if value > low:
        return low
    return min(value, high)
""",
    "test_limit.py": """\
from limit import clamp


def test_below():
    assert clamp(-3, 0, 9) == 0


def test_within():
    assert clamp(4, 0, 9) == 4


def test_above():
    assert clamp(12, 0, 9) == 9
""",
}
SANDBOXES = ["bubblewrap", "none", pytest.param("docker", marks=pytest.mark.docker)]


def git(repo: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=repo, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("sandbox", SANDBOXES)
def test_a_failing_test_is_repaired_proved_and_remembered(
    acr: Acr, git_repo: Callable[..., Path], sandbox: str
) -> None:
    repo = git_repo(LIMIT)
    (repo / "notes.txt").write_text("mine, not committed\n")

    done = acr("fix", "--json", "--sandbox", sandbox, *image(sandbox), cwd=repo)

    result = result_of(done.stdout)
    assert (done.returncode, result["status"], result["verified"]) == (0, "fixed", True), done.stderr
    assert result["files"] == ["limit.py"]
    assert result["evidence"]["broken"] == []
    assert set(result["evidence"]["fixed"]) == {
        f"test_limit.py::test_{name}" for name in ("below", "within", "above")
    }
    assert git(repo, "diff", "--name-only").split() == ["limit.py"]
    assert git(repo, "diff", "--cached") == ""
    assert (repo / "notes.txt").read_text() == "mine, not committed\n"
    stats = json.loads(acr("memory", "stats", "--json").stdout)
    assert stats["outcomes"] == 1
    assert stats["models"]["builtin/repair"]["success_rate"] == 1.0


def test_nothing_is_written_outside_the_home_folder_of_acr(
    acr: Acr, git_repo: Callable[..., Path], acr_home: Path, tmp_path: Path
) -> None:
    acr("fix", "--dry-run", "--sandbox", "bubblewrap", cwd=git_repo(LIMIT))
    acr("memory", "stats")

    assert [path.name for path in acr_home.parent.iterdir()] == [".acr"]
    assert [path.name for path in tmp_path.iterdir()] == ["repo"]
    assert {oct(path.stat().st_mode & 0o777) for path in (acr_home, acr_home / "runs")} == {"0o700"}


def test_what_is_fixed_needs_no_second_run_and_undo_takes_it_back(
    acr: Acr, git_repo: Callable[..., Path]
) -> None:
    repo = git_repo(LIMIT)
    before = (repo / "limit.py").read_bytes()
    acr("fix", "--sandbox", "none", cwd=repo)

    again = acr("fix", "--json", "--sandbox", "none", cwd=repo)
    taught = acr("memory", "list", "--json").stdout
    undone = acr("undo", cwd=repo)
    unlearnt = acr("memory", "list", "--json").stdout
    twice = acr("undo", cwd=repo)

    assert (again.returncode, result_of(again.stdout)["status"]) == (0, "nothing_to_fix")
    assert undone.returncode == 0
    assert (repo / "limit.py").read_bytes() == before
    assert [json.loads(line)["verdict"] for line in taught.splitlines()] == ["passed"]
    assert [json.loads(line)["verdict"] for line in unlearnt.splitlines()] == ["failed"]
    assert (twice.returncode, "Traceback" in twice.stderr) == (2, False)


def test_a_fix_can_be_committed_alone(acr: Acr, git_repo: Callable[..., Path]) -> None:
    repo = git_repo({**LIMIT, "other.txt": "one\n"})
    (repo / "other.txt").write_text("two\n")
    git(repo, "add", "other.txt")

    done = acr("fix", "--commit", "--sandbox", "none", cwd=repo)

    assert done.returncode == 0, done.stderr
    assert git(repo, "show", "--name-only", "--format=").split() == ["limit.py"]
    assert "Assisted-by: acr (builtin/repair)" in git(repo, "log", "-1", "--format=%B")
    assert git(repo, "diff", "--cached", "--name-only").split() == ["other.txt"]


def test_a_dry_run_shows_the_patch_and_changes_nothing(
    acr: Acr, git_repo: Callable[..., Path], tmp_path: Path
) -> None:
    repo = git_repo(LIMIT)
    patch = tmp_path / "fix.patch"

    done = acr("fix", "--dry-run", "-o", patch, "--sandbox", "none", cwd=repo)

    assert done.returncode == 0
    assert git(repo, "status", "--porcelain") == ""
    git(repo, "apply", "--check", str(patch))


def test_a_repository_without_a_commit_works(acr: Acr, git_repo: Callable[..., Path]) -> None:
    repo = git_repo(LIMIT, commit=False)

    done = acr("fix", "--json", "--sandbox", "none", cwd=repo)

    assert result_of(done.stdout)["status"] == "fixed"


def test_what_repair_cannot_mend_says_how_to_add_a_model(acr: Acr, broken: Path) -> None:
    done = acr("fix", "--json", "--sandbox", "none", cwd=broken)

    result = result_of(done.stdout)
    assert (done.returncode, result["status"]) == (1, "not_fixed")
    assert "acr config init" in json.dumps(result)
    assert git(broken, "status", "--porcelain") == ""


def test_a_wish_without_a_model_is_refused_with_the_remedy(acr: Acr, git_repo: Callable[..., Path]) -> None:
    repo = git_repo({"a.py": "x = 1\n", "test_a.py": "def test_a():\n    import a\n    assert a.x == 1\n"})

    done = acr("fix", "add a --json flag", "--sandbox", "none", cwd=repo)

    assert done.returncode == 3
    assert "language model" in done.stderr
    assert "acr config init" in done.stderr


def test_nothing_to_go_by_is_a_usage_error(acr: Acr, git_repo: Callable[..., Path]) -> None:
    done = acr("fix", "--sandbox", "none", cwd=git_repo({"README": "hello\n"}))

    assert done.returncode == 2
    assert "--test" in done.stderr


@pytest.mark.parametrize(
    ("files", "named"),
    [
        ({"test_a.py": "import absent_library\n\n\ndef test_a():\n    assert 0\n"}, "absent_library"),
        ({"test_a.py": "def test_a(:\n    assert 0\n"}, "test_a.py"),
    ],
    ids=["missing module", "syntax error in a test"],
)
def test_tests_that_cannot_start_cost_nothing(
    acr: Acr, git_repo: Callable[..., Path], files: dict[str, str], named: str
) -> None:
    done = acr("fix", "--json", "--sandbox", "none", cwd=git_repo(files))

    result = result_of(done.stdout)
    assert (done.returncode, result["status"], result["cost_usd"]) == (4, "error", 0)
    assert named in result["error"]["message"]
    assert "--setup" in result["error"]["hint"]


@pytest.mark.parametrize("kind", ["no repository", "bare", "home", "submodule", "loop"])
def test_refused_places_get_one_sentence(
    acr: Acr, git_repo: Callable[..., Path], tmp_path: Path, acr_home: Path, kind: str
) -> None:
    place = tmp_path / "place"
    match kind:
        case "no repository":
            place.mkdir()
        case "bare":
            subprocess.run(["git", "init", "--quiet", "--bare", place], check=True)
        case "home":
            place = acr_home.parent
            subprocess.run(["git", "init", "--quiet", place], check=True)
        case "submodule":
            inner, outer = git_repo(SLUG, name="inner"), git_repo({"a": "b\n"}, name="outer")
            git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "sub")
            place = outer / "sub"
        case "loop":
            place.symlink_to(place)

    done = acr("-C", place, "fix", "--sandbox", "none")

    assert done.returncode == 9, done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 2


def image(sandbox: str) -> tuple[str, ...]:
    from tests.conftest import DOCKER_IMAGE

    return ("--image", DOCKER_IMAGE) if sandbox == "docker" else ()


@pytest.mark.parametrize("sandbox", ["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)])
def test_caches_that_root_leaves_in_the_sandbox_stay_there(
    acr: Acr, acr_home: Path, git_repo: Callable[..., Path], sandbox: str
) -> None:
    caching = """\
import os
from pathlib import Path

cache = Path(__file__).parent / ".cache" / "deep"
if not cache.parent.exists():
    cache.mkdir(parents=True)
    (cache / "entry").write_text("kept")
    os.chmod(cache.parent, 0)
"""
    repo = git_repo({**LIMIT, "conftest.py": caching})
    done = acr("fix", "--json", "--sandbox", sandbox, *image(sandbox), cwd=repo)
    assert result_of(done.stdout)["status"] == "fixed", done.stderr
    assert git(repo, "status", "--porcelain", "--ignored") == " M limit.py\n"
    (run,) = (acr_home / "runs").iterdir()
    assert not [entry for entry in run.iterdir() if entry.is_dir() and entry.name != "transcripts"]
