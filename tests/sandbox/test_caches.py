"""What is kept between runs is listed, and removed when nobody needs it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from acr_cli.build import caching
from acr_cli.protocols import Recipe
from acr_cli.sandbox import caches
from acr_cli.settings import Settings
from acr_cli.worktree.repository import open_repository
from acr_cli.worktree.runs import new_run
from tests.sandbox.conftest import Opener

NOBODY = "unix:///nonexistent/docker.sock"
MONTH = 30 * 86400.0


@pytest.fixture
def without_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", NOBODY)


@pytest.fixture
def filled(acr_home: Path) -> Path:
    """A home with one thing of each kind, of repository "one" where it is of any, all of them old."""
    owner = caches.owner_of("one")
    files = {
        f"cache/envs/{owner}-abc/venv/bin/python": "x" * 1000,
        f"cache/envs/{owner}-abc.lock": "",
        f"cache/packages/{owner}/pip/wheel": "x" * 500,
        "cache/maps/m/files.json": "x" * 200,
        "cache/warm/r/commits.json": "x" * 100,
        "cache/images/sha256-1": "",
        "logs/crash-1.txt": "x" * 50,
        "runs/20260101-1/run.json": json.dumps({"status": "fixed", "time": 1.0}),
        "runs/20260101-1/patch.diff": "a patch",
        "runs/20260101-1/contents.json.gz": "what is needed to undo it",
        "runs/20260101-1/transcripts/s1.json": "x" * 300,
        "runs/20260101-1/recording.jsonl": "x" * 30,
    }
    for name, text in files.items():
        (acr_home / name).parent.mkdir(parents=True, exist_ok=True)
        (acr_home / name).write_text(text)
    long_ago = time.time() - 2 * MONTH
    for place in acr_home.rglob("*"):
        os.utime(place, (long_ago, long_ago))
    return acr_home


@pytest.mark.usefixtures("without_engine")
def test_all_that_is_kept_is_listed_the_largest_first(filled: Path) -> None:
    found = caching.cached(Settings(home=filled))
    assert [(kept.kind, kept.bytes) for kept in found] == [
        ("environment", 1000), ("packages", 500), ("run", 330), ("map", 200), ("history", 100), ("trace", 50),
    ]  # fmt: skip
    assert len(caching.old_enough(found, MONTH)) == len(found)
    assert not caching.old_enough(found, 3 * MONTH)[1:]  # the run is of 1970


@pytest.mark.usefixtures("without_engine")
def test_pruning_leaves_what_an_undo_needs(filled: Path) -> None:
    settings = Settings(home=filled)
    freed = caching.prune(settings, caching.cached(settings))
    assert freed.bytes == 2180
    assert not freed.left
    assert caching.cached(settings) == []
    kept = {p.relative_to(filled).as_posix() for p in filled.rglob("*") if p.is_file()}
    run = {"runs/20260101-1/" + name for name in ("run.json", "patch.diff", "contents.json.gz")}
    assert run <= kept <= run | {"runs/20260101-1/lock", "cache/images/sha256-1"}


@pytest.mark.usefixtures("without_engine")
def test_what_a_run_at_work_may_use_stays(filled: Path, git_repo: Callable[..., Path]) -> None:
    settings = Settings(home=filled)
    root = git_repo({"a.py": ""})
    owner = caches.owner_of(open_repository(root).identity)
    mine = filled / "cache" / "envs" / f"{owner}-def"
    mine.mkdir()
    run, lock = new_run(filled, repository=root, task="")
    (run.path / "transcripts").mkdir()
    freed = caching.prune(settings, caching.cached(settings))
    assert {(kept.kind, why) for kept, why in freed.left} == {
        ("environment", "a run is at work"), ("run", "a run is at work"),
    }  # fmt: skip
    assert mine.is_dir()
    assert (run.path / "transcripts").is_dir()
    assert len(freed.removed) == 6
    lock.release()
    assert not caching.prune(settings, caching.cached(settings)).left
    assert not mine.exists()


def test_the_command_asks_first_and_says_what_it_freed(
    filled: Path, acr: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", NOBODY)
    listed = acr("cache", "list", cwd=filled)
    assert listed.returncode == 0
    assert "environment" in listed.stdout
    assert "2.1 KiB in all" in listed.stdout
    refused = acr("cache", "prune", cwd=filled)
    assert refused.returncode == 2
    assert "Removing 1 environment, 1 package cache, 1 run" in refused.stderr
    assert "--yes" in refused.stderr
    young = acr("cache", "prune", "--older-than", "99999d", "--json", cwd=filled)
    assert json.loads(young.stdout)["removed"] == []
    assert acr("cache", "prune", "--all", "--older-than", "1d", cwd=filled).returncode == 2
    done = acr("cache", "prune", "--yes", cwd=filled)
    assert done.returncode == 0
    assert done.stdout.startswith(
        "Removed 1 environment, 1 package cache, 1 run, 1 map, 1 kept history and 1"
    )
    assert acr("cache", "list", cwd=filled).stdout == "Nothing is kept.\n"


@pytest.fixture
def repository() -> Iterator[str]:
    yield (name := f"a test's repository {time.time_ns()}")
    import docker

    client = docker.from_env()
    for image in client.images.list(filters={"label": f"acr.repository={name}"}):
        client.images.remove(str(image.id), force=True)
    for volume in client.volumes.list(filters={"label": f"acr.repository={name}"}):
        volume.remove()
    client.close()


@pytest.mark.docker
def test_images_and_downloads_of_this_home_are_found_in_the_engine(
    opener: Opener, tree: Path, repository: str
) -> None:
    opened = opener("docker")
    recipe = Recipe(
        language="go",
        setup=(
            "head -c 100000 /dev/zero > $ACR_DEPENDENCIES/some; head -c 5000 /dev/zero > $ACR_PACKAGES/more",
        ),
        repository=repository,
    )
    opened.sandbox.prepare(recipe, tree)
    settings = Settings(home=opened.home)
    found = {kept.kind: kept for kept in caches.in_engine(opened.home, os.environ)}
    assert set(found) == {"image", "packages"}
    assert 100_000 <= found["image"].bytes < 1_000_000, "its own layer, without the base"
    assert found["image"].owner == caches.owner_of(repository)
    assert time.time() - found["image"].used < 600
    assert caches.in_engine(opened.home / "another", os.environ) == []
    with opened.sandbox.open(tree):  # a container that uses the image
        left = caching.prune(settings, list(found.values())).left
        assert [(kept.kind, why) for kept, why in left] == [("image", "it is in use")]
    assert not caching.prune(settings, caches.in_engine(opened.home, os.environ)).left
    assert caches.in_engine(opened.home, os.environ) == []
