"""How a Python repository's dependencies are installed, read from its manifests.

Only dependencies are installed, not the repository itself: the image or environment is made once per set of
manifests, while the code changes, and the tests import the code from the tree. A lock file's versions
become pip's constraints, so that uv, poetry and pdm are not needed in the sandbox.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Any

from acr_cli.toolchains import python_needs, python_package
from acr_cli.toolchains.python_detect import ini, is_file, read_text, table, toml, walk
from acr_cli.toolchains.python_requirement import from_poetry, from_setup_py, split_lines
from acr_cli.toolchains.python_tables import TABLES, matches

PIP = "python3 -m pip install --disable-pip-version-check --no-input"
LEFT_OUT = """printf 'acr: left out: %s\\n' "$r\""""
CONSTRAINTS = ".acr-constraints.txt"
PYTEST = f"python3 -c 'import pytest' 2>/dev/null || {PIP} pytest"

_INCLUDE = re.compile(r"^\s*(-r|-c|--requirement|--constraint)[ =]*(\S+)")
_OWN_CODE = re.compile(r"^\s*+(?:-e|--editable)?[ =]*+(?:\.{1,2}(?:[/\[\s]|$)|file:)")
_NAME = re.compile(r"^\s*([A-Za-z0-9][A-Za-z0-9._-]*)")


def commands(
    tree: Path, *, needs_pytest: bool, tests: tuple[str, ...] = (), in_tree: Collection[str] = ()
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The manifests that are read, and the shell commands that install what they name.

    `tests` are the test files, which say what else is needed; `in_tree` are the normal names of distributions
    that lie in the same repository, and are never fetched from anywhere."""
    files = requirement_files(tree)
    listed, sources = listed_requirements(tree)
    listed = [r for r in _without_needless(tree, listed) if name_of(r) not in in_tree]
    pins, lock = locked(tree) if listed else ([], "")
    setup = [_without_own_code(f) for f in files if _names_own_code(tree, f)]
    # What is a constraint of another file only has to be installed all the same.
    included = {name for file in files for name in _included(tree, file, kinds=("-r", "--requirement"))}
    roots = [f for f in files if f not in included]
    # pip wants hashes for all files of a command, or for none.
    hashed = [f for f in roots if "--hash=" in read_text(tree, f)]
    setup += [f"{PIP} -r {shlex.quote(file)}" for file in hashed]
    plain = [f for f in files if f not in hashed]
    if any(file in roots for file in plain):
        setup.append(install_files([f for f in plain if f in roots], plain))
    if listed:
        if pins:
            setup.append(f"printf '%s\\n' {shlex.join(pins)} > {CONSTRAINTS}")
        setup.append(install(listed, constraint=f" -c {CONSTRAINTS}" if pins else ""))
    names = {name_of(requirement) for requirement in listed}
    for file in files:
        names |= {name_of(line) for line in split_lines(read_text(tree, file))}
    if needs_pytest:
        more = [p for p in python_needs.plugins(tree, tests) if name_of(p) not in names]
        setup += [present(more)] if more else []
        setup += [PYTEST] if "pytest" not in names else []
    stand_in, read = python_package.command(tree)
    setup += [stand_in] if stand_in else []
    return tuple(dict.fromkeys([*files, *sources, *read, *([lock] if pins else [])])), tuple(setup)


def install(requirements: list[str], *, constraint: str = "") -> str:
    """All of them together, in the versions of the lock file; where that fails, each that can be had, if any.

    One tool of a development group that is not to be had keeps no test from running. Pure."""
    words = shlex.join(requirements)
    if len(requirements) == 1 and not constraint:
        return f"{PIP} {words}"
    each = f'{PIP} --retries 0 "$r" && some=1 || {LEFT_OUT}'
    return f"{PIP}{constraint} {words} || {{ some=; for r in {words}; do {each}; done; [ $some ]; }}"


def install_files(files: list[str], every: list[str]) -> str:
    """The same for files of requirements; `every` are these and what they include. Pure."""
    wanted = " ".join(f"-r {shlex.quote(file)}" for file in files)
    lines = f"sed -n 's/[[:space:]]*#.*//; /^[A-Za-z0-9]/p' {shlex.join(every)}"
    each = f'{PIP} --retries 0 "$r" </dev/null && some=1 || {LEFT_OUT}'
    return f"{PIP} {wanted} || {lines} | {{ some=; while read -r r; do {each}; done; [ $some ]; }}"


def present(requirements: list[str]) -> str:
    """Installs these where they are not there yet; nobody has asked for them, so a failure is none. Pure."""
    asked = "; ".join(f'v("{name_of(r)}")' for r in requirements)
    check = f"from importlib.metadata import version as v; {asked}"
    return f"python3 -c {shlex.quote(check)} 2>/dev/null || {PIP} {shlex.join(requirements)} || true"


def _without_needless(tree: Path, listed: list[str]) -> list[str]:
    """Without linters, builders of documents and the like, which take minutes to install."""
    if not any(matches(name_of(r), TABLES["install"]["not_for_tests"]) for r in listed):
        return listed
    left_out = ("setup.py", "noxfile.py", "tasks.py", "conf.py")
    sources = [p for p in walk(tree) if p.endswith(".py") and p.rpartition("/")[2] not in left_out]
    text = "\n".join(read_text(tree, path) for path in sources)
    return [r for r in listed if not python_needs.needless(name_of(r), text)]


def requirement_files(tree: Path) -> list[str]:
    """The files of requirements that exist, and those that they include."""
    known = TABLES["install"]
    usual = [f for f in known["requirements"] if (tree / f).is_file()]
    found_here = sorted(
        p for pattern in known["requirement_patterns"] for p in tree.glob(pattern) if p.is_file()
    )
    pending = [*usual, *_dynamic_files(tree), *(path.relative_to(tree).as_posix() for path in found_here)]
    pending = [file for file in pending if not re.search(r"\d\.txt$", file)]  # for one version of Python
    if any("test" in file for file in pending):
        pending = [file for file in pending if "dev" not in file]
    found: dict[str, None] = {}
    while pending:
        file = pending.pop(0)
        if file in found or ".." in PurePosixPath(file).parts or not is_file(tree, file):
            continue
        found[file] = None
        pending += _included(tree, file)
    return list(found)


def _included(tree: Path, file: str, *, kinds: Sequence[str] = ()) -> list[str]:
    """Files that a file of requirements names, as requirements (-r) or as constraints (-c)."""
    includes = (_INCLUDE.match(line) for line in read_text(tree, file).splitlines())
    wanted = [found for found in includes if found and (not kinds or found.group(1) in kinds)]
    return [normpath(PurePosixPath(file).parent / found.group(2)) for found in wanted]


def _dynamic_files(tree: Path) -> list[str]:
    """The files that setuptools reads the project's dependencies from."""
    tool = table(toml(tree, "pyproject.toml"), "tool")
    dynamic = table(table(tool, "setuptools"), "dynamic")
    extras = table(dynamic, "optional-dependencies")
    groups = _groups(extras)
    named = [table(dynamic, "dependencies").get("file"), *(table(extras, g).get("file") for g in groups)]
    return [name for file in named for name in ([file] if isinstance(file, str) else _strings(file))]


def listed_requirements(tree: Path) -> tuple[list[str], list[str]]:
    """Requirements named in pyproject.toml, setup.cfg, setup.py, Pipfile, tox.ini; and in which of them."""
    found: dict[str, None] = {}
    sources = []
    readers = {
        "pyproject.toml": pyproject,
        "setup.cfg": setup_cfg,
        "setup.py": lambda path: from_setup_py(
            read_text(path.parent, path.name), TABLES["install"]["groups"]
        ),
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
    """[project], its extras for tests, [dependency-groups] for tests, and other tools' tables."""
    document = toml(path.parent, path.name)
    project, tool = table(document, "project"), table(document, "tool")
    own = _normal(str(project.get("name", "")))
    extras, grouped = table(project, "optional-dependencies"), table(document, "dependency-groups")
    environments = _hatch_environments(tool)
    features = [f for e in environments for f in _strings(e.get("features"))]
    features += _of_tox(path.parent, "extras")
    yield from _strings(project.get("dependencies"))
    yield from _grouped(extras, [*_groups(extras), *features], own)
    wanted = [*_groups(grouped), *(g for e in environments for g in _strings(e.get("dependency-groups")))]
    yield from _grouped(grouped, wanted or _of_tox(path.parent, "dependency_groups"), own, extras)
    for environment in environments:
        yield from _strings(environment.get("dependencies"))
        yield from _strings(environment.get("extra-dependencies"))
    poetry = table(tool, "poetry")
    tables = [table(poetry, "dependencies"), table(poetry, "dev-dependencies")]
    groups = table(poetry, "group")
    tables += [table(table(groups, group), "dependencies") for group in _groups(groups)]
    for entries in tables:
        for name, version in entries.items():
            yield from from_poetry(name, version)
    for more in (
        table(table(tool, "pdm"), "dev-dependencies"),
        {"dev": table(tool, "uv").get("dev-dependencies")},
    ):
        yield from _grouped(more, [g for g in _groups(more) if more.get(g)], own)


def _groups(named: Iterable[str]) -> list[str]:
    """Which of these groups, extras or environments hold what tests need, by name; usual ones first."""
    usual = [group for group in TABLES["install"]["groups"] if group in named]
    others = (name for name in named if re.search(r"(?:^|[-_])(?:py)?test(?:s|ing)?(?:$|[-_])", name))
    return list(dict.fromkeys([*usual, *others]))


def _hatch_environments(tool: dict[str, Any]) -> list[dict[str, Any]]:
    environments = table(table(tool, "hatch"), "envs")
    named = ["default", *_groups(environments)]
    return [table(environments, name) for name in dict.fromkeys(named)]


def _of_tox(tree: Path, key: str) -> list[str]:
    """The groups that [testenv] of tox.ini names."""
    return re.findall(r"[\w.-]+", ini(tree, "tox.ini").get("testenv", key, fallback=""))


def _grouped(
    groups: dict[str, Any], wanted: list[str], own: str, extras: dict[str, Any] | None = None
) -> Iterator[str]:
    """The requirements of some groups, groups that they include and own extras that they name included."""
    pending, seen = list(wanted), set[str]()
    named: list[str] = []
    while pending:
        group = pending.pop(0)
        if group in seen:
            continue
        seen.add(group)
        for entry in _list(groups.get(group)):
            if isinstance(entry, dict):
                pending.append(str(entry.get("include-group", "")))
            elif own and name_of(entry) == own:
                named += re.findall(r"[\w.-]+", entry.partition("[")[2].partition("]")[0])
                pending += named if extras is None else ()
            else:
                yield str(entry)
    if extras is not None and named:
        yield from _grouped(extras, named, own)


def setup_cfg(path: Path) -> Iterator[str]:
    parser = ini(path.parent, path.name)
    yield from split_lines(parser.get("options", "install_requires", fallback=""))
    yield from split_lines(parser.get("options", "tests_require", fallback=""))
    extras = parser.options("options.extras_require") if parser.has_section("options.extras_require") else []
    for group in dict.fromkeys([*_groups(extras), *_of_tox(path.parent, "extras")]):
        yield from split_lines(parser.get("options.extras_require", group, fallback=""))


def pipfile(path: Path) -> Iterator[str]:
    document = toml(path.parent, path.name)
    for section in ("packages", "dev-packages"):
        for name, wanted in table(document, section).items():
            yield from from_poetry(name, wanted)


def tox(path: Path) -> Iterator[str]:
    """`deps` of [testenv], as far as they are plain requirements; conditions by factor are left out."""
    for line in split_lines(ini(path.parent, path.name).get("testenv", "deps", fallback="")):
        if "{" not in line and not re.match(r"[\w,!-]+:\s", line) and not line.startswith("-"):
            yield line


def locked(tree: Path) -> tuple[list[str], str]:
    """`name==version` for each package of the lock file that has one version, and the lock file's name."""
    for lock in TABLES["install"]["locks"]:
        versions: dict[str, set[str]] = {}
        for package in _list(toml(tree, lock).get("package")):
            if not (isinstance(package, dict) and isinstance(package.get("name"), str)):
                continue
            source = package.get("source", {})
            foreign = isinstance(source, dict) and (
                {"git", "url", "path", "editable", "directory", "virtual"} & source.keys()
                or source.get("type") in ("git", "url", "directory", "file")
            )
            if not foreign and package.get("version"):
                versions.setdefault(package["name"], set()).add(str(package["version"]))
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


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _strings(value: Any) -> list[str]:
    return [str(entry) for entry in value] if isinstance(value, list) else []


def _names_own_code(tree: Path, file: str) -> bool:
    return any(_OWN_CODE.match(line) for line in read_text(tree, file).splitlines())


def _without_own_code(file: str) -> str:
    # The repository itself is not there when its dependencies are installed.
    return rf"sed -i -E '/^ *(-e|--editable)?[ =]*(\.\.?([/[ ]|$)|file:)/d' {shlex.quote(file)}"
