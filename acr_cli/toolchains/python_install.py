"""How a Python repository's dependencies are installed, read from its manifests.

Only dependencies are installed, not the repository itself: the image or environment is made once per set of
manifests, while the code changes, and the tests import the code from the tree. A lock file's versions
become pip's constraints, so that uv, poetry and pdm are not needed in the sandbox.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from acr_cli.toolchains.python_detect import ini, read_text, toml
from acr_cli.toolchains.python_requirement import from_poetry, from_setup_py, split_lines
from acr_cli.toolchains.python_tables import TABLES

PIP = "python3 -m pip install --disable-pip-version-check --no-input"
CONSTRAINTS = ".acr-constraints.txt"
PYTEST = f"python3 -c 'import pytest' 2>/dev/null || {PIP} pytest"

_INCLUDE = re.compile(r"^\s*(?:-r|-c|--requirement|--constraint)[ =]*(\S+)")
_OWN_CODE = re.compile(r"^\s*(?:-e|--editable)?[ =]*(?:\.{1,2}(?:[/\[\s]|$)|file:)")
_NAME = re.compile(r"^\s*([A-Za-z0-9][A-Za-z0-9._-]*)")


def commands(tree: Path, *, needs_pytest: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The manifests that are read, and the shell commands that install what they name."""
    files = requirement_files(tree)
    listed, sources = listed_requirements(tree)
    pins, lock = locked(tree) if listed else ([], "")
    setup = [_without_own_code(f) for f in files if _names_own_code(tree / f)]
    roots = [f for f in files if f in TABLES["install"]["requirements"]]
    # pip wants hashes for all files of a command, or for none.
    hashed = [f for f in roots if "--hash=" in read_text(tree / f)]
    batches = [*([f] for f in hashed), [f for f in roots if f not in hashed]]
    setup += (" ".join([PIP, *(f"-r {shlex.quote(f)}" for f in batch)]) for batch in batches if batch)
    if listed:
        if pins:
            setup.append(f"printf '%s\\n' {shlex.join(pins)} > {CONSTRAINTS}")
        constraint = f" -c {CONSTRAINTS}" if pins else ""
        setup.append(f"{PIP}{constraint} {shlex.join(listed)}")
    names = {name_of(requirement) for requirement in listed}
    for file in files:
        names |= {name_of(line) for line in split_lines(read_text(tree / file))}
    if needs_pytest and "pytest" not in names:
        setup.append(PYTEST)
    return tuple(dict.fromkeys([*files, *sources, *([lock] if pins else [])])), tuple(setup)


def requirement_files(tree: Path) -> list[str]:
    """The files of requirements that exist, and those that they include."""
    pending = [f for f in TABLES["install"]["requirements"] if (tree / f).is_file()]
    found: dict[str, None] = {}
    while pending:
        file = pending.pop(0)
        if file in found or ".." in PurePosixPath(file).parts or not (tree / file).is_file():
            continue
        found[file] = None
        for line in read_text(tree / file).splitlines():
            include = _INCLUDE.match(line)
            if include:
                pending.append((PurePosixPath(file).parent / include.group(1)).as_posix())
    return list(found)


def listed_requirements(tree: Path) -> tuple[list[str], list[str]]:
    """Requirements named in pyproject.toml, setup.cfg, setup.py, Pipfile, tox.ini; and in which of them."""
    found: dict[str, None] = {}
    sources = []
    readers = {
        "pyproject.toml": pyproject,
        "setup.cfg": setup_cfg,
        "setup.py": lambda path: from_setup_py(read_text(path), TABLES["install"]["groups"]),
        "Pipfile": pipfile,
        "tox.ini": tox,
    }
    for name, reader in readers.items():
        wanted = [r for r in reader(tree / name) if r.strip()] if (tree / name).is_file() else []
        if wanted:
            sources.append(name)
            found |= dict.fromkeys(r.strip() for r in wanted if not _OWN_CODE.match(r))
    return list(found), sources


def pyproject(path: Path) -> Iterator[str]:
    """[project], its extras for tests, [dependency-groups] for tests, and poetry's own tables."""
    document = toml(path)
    groups = TABLES["install"]["groups"]
    project = document.get("project", {})
    own = _normal(str(project.get("name", "")))
    extras = project.get("optional-dependencies", {})
    yield from _strings(project.get("dependencies"))
    yield from _grouped(extras, [g for g in groups if g in extras], own)
    table = document.get("dependency-groups", {})
    yield from _grouped(table, [g for g in groups if g in table], own)
    tool = document.get("tool", {})
    poetry = tool.get("poetry", {})
    tables = [poetry.get("dependencies", {}), poetry.get("dev-dependencies", {})]
    tables += [poetry.get("group", {}).get(group, {}).get("dependencies", {}) for group in groups]
    for entries in tables:
        for name, wanted in entries.items():
            yield from from_poetry(name, wanted)
    for table in (
        tool.get("pdm", {}).get("dev-dependencies", {}),
        {"dev": tool.get("uv", {}).get("dev-dependencies")},
    ):
        yield from _grouped(table, [g for g in groups if table.get(g)], own)


def _grouped(table: dict[str, Any], wanted: list[str], own: str) -> Iterator[str]:
    """The requirements of some groups, groups that they include and own extras that they name included."""
    pending, seen = list(wanted), set[str]()
    while pending:
        group = pending.pop(0)
        if group in seen:
            continue
        seen.add(group)
        for entry in table.get(group) or []:
            if isinstance(entry, dict):
                pending.append(str(entry.get("include-group", "")))
            elif own and name_of(entry) == own:
                pending += re.findall(r"[\w.-]+", entry.partition("[")[2].partition("]")[0])
            else:
                yield str(entry)


def setup_cfg(path: Path) -> Iterator[str]:
    parser = ini(path)
    yield from split_lines(parser.get("options", "install_requires", fallback=""))
    yield from split_lines(parser.get("options", "tests_require", fallback=""))
    for group in TABLES["install"]["groups"]:
        yield from split_lines(parser.get("options.extras_require", group, fallback=""))


def pipfile(path: Path) -> Iterator[str]:
    document = toml(path)
    for table in ("packages", "dev-packages"):
        for name, wanted in document.get(table, {}).items():
            yield from from_poetry(name, wanted)


def tox(path: Path) -> Iterator[str]:
    """`deps` of [testenv], as far as they are plain requirements; conditions by factor are left out."""
    for line in split_lines(ini(path).get("testenv", "deps", fallback="")):
        if "{" not in line and not re.match(r"[\w,!-]+:\s", line) and not line.startswith("-"):
            yield line


def locked(tree: Path) -> tuple[list[str], str]:
    """`name==version` for each package of the lock file that has one version, and the lock file's name."""
    for lock in TABLES["install"]["locks"]:
        versions: dict[str, set[str]] = {}
        for package in toml(tree / lock).get("package", []):
            source = package.get("source", {})
            foreign = isinstance(source, dict) and (
                {"git", "url", "path", "editable", "directory", "virtual"} & source.keys()
                or source.get("type") in ("git", "url", "directory", "file")
            )
            if not foreign and package.get("version"):
                versions.setdefault(str(package["name"]), set()).add(str(package["version"]))
        pins = sorted(f"{name}=={next(iter(v))}" for name, v in versions.items() if len(v) == 1)
        if pins:
            return pins, lock
    return [], ""


def name_of(requirement: str) -> str:
    """The normal form of the name that a requirement begins with, or "". Pure."""
    found = _NAME.match(str(requirement))
    return _normal(found.group(1)) if found else ""


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _strings(value: Any) -> list[str]:
    return [str(entry) for entry in value] if isinstance(value, list) else []


def _names_own_code(path: Path) -> bool:
    return any(_OWN_CODE.match(line) for line in read_text(path).splitlines())


def _without_own_code(file: str) -> str:
    # The repository itself is not there when its dependencies are installed.
    return rf"sed -i -E '/^ *(-e|--editable)?[ =]*(\.\.?([/[ ]|$)|file:)/d' {shlex.quote(file)}"
