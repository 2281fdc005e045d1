"""Files of the machine that a repository would have its sandbox show or copy."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from acr_cli.protocols import Limits, Recipe, Sandbox
from acr_cli.sandbox.choose import open_sandbox
from acr_cli.sandbox.files import copy_tree, entries
from acr_cli.sandbox.interpreter import base_interpreter, users_environment

SECRET = "the-secret-of-this-machine"


@pytest.fixture
def secret() -> Path:
    """A file of the user's, outside every repository."""
    path = Path.home() / "secret.txt"
    path.write_text(SECRET)
    return path


@pytest.fixture
def bubblewrap(acr_home: Path) -> Callable[..., Sandbox]:
    def make(repository: Path, **variables: str) -> Sandbox:
        environ = {"PATH": "/usr/bin:/bin", "HOME": str(Path.home()), **variables}
        return open_sandbox(
            "bubblewrap",
            run_id="walls",
            home=acr_home,
            image=None,
            limits=Limits(),
            emit=lambda _: None,
            environ=environ,
            repository=repository,
        )

    return make


def read_inside(sandbox: Sandbox, tree: Path, *paths: Path) -> str:
    sandbox.prepare(Recipe(language="python"), tree)
    with sandbox.open(tree) as session:
        return "".join(session.run(["cat", str(path)]).output for path in paths)


def environment(folder: Path, home: str) -> None:
    """What looks like a virtual environment whose interpreter lies in `home`."""
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to("/usr/bin/python3")
    (folder / "pyvenv.cfg").write_text(f"home = {home}\n")


@pytest.mark.parametrize("home", ["/bin", "//bin", "/usr/../bin", "/lib/../bin"])
def test_an_environment_of_the_repository_does_not_show_the_machine(
    git_repo: Callable[..., Path], bubblewrap: Callable[..., Sandbox], secret: Path, home: str
) -> None:
    repo = git_repo({"a.py": "", ".env": SECRET})
    environment(repo / ".venv", home)
    assert SECRET not in read_inside(bubblewrap(repo), repo, secret, repo / ".env")


def test_an_environment_that_is_the_repository_itself_does_not_show_it(
    git_repo: Callable[..., Path], bubblewrap: Callable[..., Sandbox]
) -> None:
    repo = git_repo({"a.py": "", ".env": SECRET})
    environment(repo, "/usr/bin")
    (repo / ".venv").symlink_to(".")
    assert users_environment({}, repo) is None
    assert SECRET not in read_inside(bubblewrap(repo), repo, repo / ".env")


def test_a_library_that_the_repository_makes_up_is_not_shown(git_repo: Callable[..., Path]) -> None:
    repo = git_repo({"lib/python3.11/os.py": "", "bin/python3": "", ".env": SECRET})
    environment(repo / ".venv", str(repo / "bin"))
    found = users_environment({"HOME": str(Path.home())}, repo)
    assert found is None or repo not in found.prefixes


@pytest.mark.parametrize("path", ["/bin:/usr/bin", "/bin"])
def test_the_way_to_python_shows_no_more_than_python(tmp_path: Path, path: str) -> None:
    found = base_interpreter({"PATH": path, "HOME": str(Path.home())}, tmp_path)
    assert Path("/") not in found.prefixes


@pytest.mark.parametrize("name", ["requirements/secret.txt", "requirements/deep/secret.txt"])
def test_manifests_behind_a_link_are_not_copied(tmp_path: Path, secret: Path, name: str) -> None:
    """`-r requirements/secret.txt`, where requirements is a link out of the repository."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "requirements").symlink_to(os.path.relpath(secret.parent, tree))
    (secret.parent / "deep").mkdir()
    (secret.parent / "deep" / "secret.txt").write_text(SECRET)
    assert [relative for _, relative, _ in entries(tree, only=[name])] == ["requirements"]
    copy_tree(tree, tmp_path / "copy", only=[name, "requirements"])
    assert [path.name for path in (tmp_path / "copy").iterdir()] == ["requirements"]
    assert (tmp_path / "copy" / "requirements").is_symlink()
