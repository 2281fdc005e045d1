"""The wheel and the sdist: the same bytes from the same sources, and in them what belongs there."""

from __future__ import annotations

import email
import hashlib
import os
import re
import shutil
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.packaging.builds import ROOT, build, built, snapshot

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.mark.slow
def test_a_build_gives_the_same_bytes_again_elsewhere_and_later(tmp_path: Path) -> None:
    tree = shutil.copytree(snapshot(), tmp_path / "somewhere else")
    for path in tree.rglob("*"):
        os.utime(path, (1_600_000_000, 1_600_000_000))
    again = build(tree, tmp_path / "dist")
    for first, second in zip(built(), again, strict=True):
        assert first.name == second.name
        assert hashlib.sha256(first.read_bytes()).digest() == hashlib.sha256(second.read_bytes()).digest()


@pytest.mark.slow
def test_the_wheel_has_types_and_licences_and_nothing_of_tests() -> None:
    with zipfile.ZipFile(built()[1]) as wheel:
        names = set(wheel.namelist())
    version = PROJECT["version"]
    roots = {name.split("/")[0] for name in names}
    assert roots == {"acr_cli", f"acr_cli-{version}.dist-info", f"acr_cli-{version}.data"}
    assert {
        "acr_cli/py.typed",
        f"acr_cli-{version}.dist-info/licenses/LICENSE",
        "acr_cli/context/minilm/LICENSE",
    } <= names
    assert [name for name in names if "/test" in name and not name.startswith("acr_cli/testing/")] == []
    # What is no source, too, is part of the package.
    here = {
        path.relative_to(snapshot()).as_posix()
        for path in (snapshot() / "acr_cli").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert here - names == set()
    shells = {Path(name).name for name in names if ".data/" in name}
    assert shells == {"acr", "_acr", "acr.fish"}


@pytest.mark.slow
def test_the_sdist_has_all_that_tests_and_docs_need() -> None:
    with tarfile.open(built()[0]) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    needed = (
        "README.md",
        "CONTRIBUTING.md",
        "LICENSE",
        "Makefile",
        "docs/run.svg",
        "docs/guide.md",
        "tests/conftest.py",
    )
    assert set(needed) <= names
    assert [name for name in names if "__pycache__" in name or name.endswith(".pyc")] == []


@pytest.mark.slow
def test_the_base_has_no_torch_and_extras_are_few() -> None:
    with zipfile.ZipFile(built()[1]) as wheel:
        (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = email.message_from_bytes(wheel.read(name))
    assert metadata["Requires-Python"].replace(" ", "") in ("<3.14,>=3.11", ">=3.11,<3.14")
    assert metadata["License-Expression"] == "MIT"
    assert set(metadata.get_all("Provides-Extra", [])) == {"local", "bench"}
    base = [one for one in metadata.get_all("Requires-Dist", []) if "extra ==" not in one]
    assert [
        one for one in base if re.match(r"(torch|transformers|sentence-transformers|peft|scikit)", one)
    ] == []


def test_who_misses_an_extra_is_told_one_that_exists() -> None:
    named = {
        extra
        for path in (ROOT / "acr_cli").rglob("*.py")
        for extra in re.findall(r"acr-cli\[([a-z]+)\]", path.read_text(encoding="utf-8"))
    }
    assert named == set(PROJECT["optional-dependencies"])
