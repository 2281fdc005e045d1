"""What the tests need although no manifest names it, and installing what can be had."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from acr_cli.events import Event, Notice
from acr_cli.sandbox.install import tell
from acr_cli.toolchains.python import Python
from acr_cli.toolchains.python_detect import detect
from acr_cli.toolchains.python_install import (
    install,
    install_files,
    listed_requirements,
    present,
    requirement_files,
)
from acr_cli.toolchains.python_needs import needless, plugins

MakeTree = Callable[[Mapping[str, str]], Path]

BARE = "def test_it():\n    assert True\n"
OPTIONS = "[tool.pytest.ini_options]\n"
FIXTURE = "import pytest\n@pytest.fixture\ndef mocker(): pass\n"
INCLUDING = "-r docs/../base.txt\n-c requirements.txt\n"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"pyproject.toml": OPTIONS + 'addopts = "--cov=shop --cov-branch -q"\n'}, ["pytest-cov"]),
        ({"pyproject.toml": OPTIONS + 'addopts = ["-n", "auto", "-ra"]\n'}, ["pytest-xdist"]),
        ({"pytest.ini": "[pytest]\naddopts = -n4 --timeout=9\n"}, ["pytest-timeout", "pytest-xdist"]),
        ({"setup.cfg": "[tool:pytest]\nrequired_plugins = pytest-mock\n"}, ["pytest-mock"]),
        ({"tox.ini": "[pytest]\nasyncio_mode = auto\n"}, ["pytest-asyncio"]),
        ({"pyproject.toml": '[tool.pytest]\naddopts = ["--benchmark-skip"]\n'}, ["pytest-benchmark"]),
        ({"pytest.ini": "[pytest]\n", "tox.ini": "[pytest]\naddopts = --cov\n"}, []),
        ({"pyproject.toml": OPTIONS + 'addopts = "-m \'not slow\' --no-header"\n'}, []),
        ({"test_y.py": "import freezegun\nfrom hypothesis import given\n"}, ["freezegun", "hypothesis"]),
        ({"mock.py": "", "test_y.py": "import mock\n"}, []),
        ({"test_y.py": "def test_a(tmp_path, mocker): pass\n"}, ["pytest-mock"]),
        ({"conftest.py": FIXTURE, "test_y.py": "def test_a(mocker): pass\n"}, []),
        ({"test_y.py": "@pytest.mark.parametrize('fs, x', [])\ndef test_a(fs, x): pass\n"}, []),
        ({"test_y.py": "@pytest.mark.asyncio\nasync def test_a(): pass\n"}, ["pytest-asyncio"]),
        ({"shop.py": "import hypothesis\n"}, []),
    ],
)  # fmt: skip
def test_plugins_are_found_in_the_configuration_and_in_the_tests(
    tree: MakeTree, files: dict[str, str], expected: list[str]
) -> None:
    root = tree({"test_x.py": BARE, **files})
    found = detect(root)
    assert found is not None
    assert plugins(root, found.test_files) == expected


def test_a_plugin_that_a_manifest_names_is_installed_from_there_alone(tree: MakeTree) -> None:
    files = {"pytest.ini": "[pytest]\naddopts = --cov\n", "requirements.txt": "pytest\npytest_cov==6\n"}
    recipe = Python().recipe(tree({"test_x.py": BARE, **files}), setup=None)
    assert recipe is not None
    assert len(recipe.setup) == 1


GROUPS = """
[project]
name = "shop"
dependencies = ["attrs"]
optional-dependencies = {unit-tests = ["pytest"], docs = ["sphinx"]}
[dependency-groups]
"""


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"pyproject.toml": GROUPS + 'py-test = ["mock"]\nlatest = ["a"]\n'}, ["attrs", "pytest", "mock"]),
        ({"pyproject.toml": GROUPS + 'tests = ["shop[fast]"]\n'}, ["attrs", "pytest"]),
        (
            {
                "pyproject.toml": GROUPS + 'ci = ["mock"]\n',
                "tox.ini": "[testenv]\ndependency_groups =\n  ci\n",
            },
            ["attrs", "pytest", "mock"],
        ),
        (
            {"pyproject.toml": '[tool.hatch.envs.hatch-test]\nextra-dependencies = ["mock"]\n'},
            ["mock"],
        ),
        ({"pyproject.toml": '[tool.hatch.envs.default]\ndependencies = ["pytest-cov"]\n'}, ["pytest-cov"]),
        ({"setup.cfg": "[options.extras_require]\nunit-test =\n    mock\nall =\n    a\n"}, ["mock"]),
        ({"pyproject.toml": "project = 3\ntool = []\ndependency-groups = 'x'\n"}, []),
    ],
)
def test_groups_for_tests_are_known_by_their_names(
    tree: MakeTree, files: dict[str, str], expected: list[str]
) -> None:
    assert listed_requirements(tree(files))[0] == expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (["dev.requirements.txt"], ["dev.requirements.txt"]),
        (["requirements-tests39.txt", "requirements-tests.txt"], ["requirements-tests.txt"]),
        (["requirements/tests.txt", "requirements/dev.txt"], ["requirements/tests.txt"]),
        (["requirements/ci-test.txt"], ["requirements/ci-test.txt"]),
        (["docs/requirements.txt"], []),
    ],
)
def test_files_of_requirements_have_many_names(tree: MakeTree, files: list[str], expected: list[str]) -> None:
    assert requirement_files(tree(dict.fromkeys(files, "a\n"))) == expected


def test_a_file_that_another_includes_is_not_installed_twice_but_a_constraint_is(tree: MakeTree) -> None:
    files = {"requirements.txt": "a\n", "requirements-dev.txt": INCLUDING, "base.txt": "b\n"}
    root = tree({"test_x.py": BARE, **files})
    recipe = Python().recipe(root, setup=None)
    assert recipe is not None
    assert "-r requirements.txt -r requirements-dev.txt || " in recipe.setup[0]
    assert recipe.manifests == ("requirements.txt", "requirements-dev.txt", "base.txt")


@pytest.mark.parametrize(
    ("name", "sources", "expected"),
    [
        ("ruff", "x = 1", True),
        ("sphinx-autobuild", "", True),
        ("types-requests", "import requests", True),
        ("mypy", "subprocess.run([sys.executable, '-m', 'mypy'])", False),
        ("mypy", "from mypy import api", False),
        ("mypy", "# mypy: ignore-errors", True),
        ("pytest-cov", "", False),
        ("requests", "", False),
    ],
)
def test_development_tools_that_nothing_uses_are_left_out(name: str, sources: str, expected: bool) -> None:
    assert needless(name, sources) is expected


@pytest.fixture
def pip(tmp_path: Path) -> Callable[[str], list[str]]:
    """Runs a command with a `python3` that takes note of what it is to install, and cannot have `bad`."""

    def run(command: str) -> list[str]:
        python, log = tmp_path / "python3", tmp_path / "log"
        python.write_text(f'#!/bin/sh\necho "$@" >> {log}\ncase "$*" in *bad*) exit 1;; esac\n')
        python.chmod(0o755)
        path = f"{tmp_path}:/usr/bin:/bin"
        done = subprocess.run(
            ["sh", "-ec", command],
            cwd=tmp_path,
            env={"PATH": path},
            capture_output=True,
            text=True,
            check=True,
        )
        calls = log.read_text().splitlines()
        return [*(call.partition("--no-input ")[2] for call in calls), *done.stdout.splitlines()]

    return run


def test_what_cannot_be_had_keeps_nothing_else_from_being_installed(pip: Callable[[str], list[str]]) -> None:
    assert pip(install(["a>=1", "bad", "b"], constraint=" -c locked.txt")) == [
        *("-c locked.txt a>=1 bad b", "--retries 0 a>=1", "--retries 0 bad", "--retries 0 b"),
        "acr: left out: bad",
    ]


def test_the_same_holds_for_files_of_requirements(pip: Callable[[str], list[str]], tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_text("# tools\n-r more.txt\na==1  # why\n\nbad\n")
    (tmp_path / "more.txt").write_text("b; python_version > '3'\n")
    assert pip(install_files(["bad.txt"], ["bad.txt", "more.txt"])) == [
        *("-r bad.txt", "--retries 0 a==1", "--retries 0 bad", "--retries 0 b; python_version > '3'"),
        "acr: left out: bad",
    ]


@pytest.mark.parametrize("command", [install(["bad", "also bad"]), install_files(["r.txt"], ["r.txt"])])
def test_installing_fails_where_nothing_can_be_had(
    pip: Callable[[str], list[str]], tmp_path: Path, command: str
) -> None:
    (tmp_path / "r.txt").write_text("bad\n")
    with pytest.raises(subprocess.CalledProcessError):
        pip(command.replace("-r r.txt", "-r bad"))


def test_a_plugin_that_nobody_named_may_be_missing(pip: Callable[[str], list[str]]) -> None:
    assert pip(present(["bad-plugin"]))[-1] == "bad-plugin"


def test_a_tree_without_manifests_names_no_dependency_unless_the_user_does(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text("def test_a():\n    assert True\n")
    python = Python()
    alone, asked = (python.recipe(tmp_path, setup=setup) for setup in (None, "pip install left"))
    (tmp_path / "requirements.txt").write_text("left\n")
    named = python.recipe(tmp_path, setup=None)
    assert [recipe is not None and recipe.unnamed for recipe in (alone, asked, named)] == [True, False, False]
    said: list[Event] = []
    for recipe in (alone, named):
        assert recipe is not None
        tell(recipe, said.append, "somewhere")
    assert [event.text for event in said if isinstance(event, Notice)] == [
        "Installing the repository's dependencies somewhere."
    ]
