"""The repository as a distribution: name, version, entry points, generated modules; read, never built.

Code that asks for its own version, and a plugin that is found by its entry point, need the repository to be
installed. A build would need its backend and a tag of git, and would leave a copy of the code that changes;
so what is needed is registered beside the dependencies, and the code comes from the tree.
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from acr_cli.toolchains.python_detect import ini, is_file, read_text, source_roots, table, toml, walk
from acr_cli.toolchains.python_requirement import setup_calls
from acr_cli.toolchains.python_tables import injected

UNKNOWN = "0.0.0"  # the version where only a tag of git would say it

_ASKS = re.compile(r"\bimportlib[._]metadata\b|\bpkg_resources\b|\bimport metadata\b|\biter_entry_points\b")
_VERSION = re.compile(
    r"^(?:__version__|VERSION|version)\s*(?::\s*\w+\s*)?=\s*[\"']([^\"'\s]+)[\"']", re.MULTILINE
)
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_NUMBER = re.compile(r"v?\d+[\w.!+-]*")
_USUAL = ("__init__.py", "_version.py", "version.py", "__about__.py", "__version__.py")


@dataclass(frozen=True, kw_only=True, slots=True)
class Package:
    """What an installation would tell of the repository."""

    name: str
    version: str
    header: tuple[tuple[str, str], ...] = ()  # further fields of its metadata
    entry_points: dict[str, dict[str, str]] = field(default_factory=dict)
    certain: bool = True  # whether the tree says its version
    modules: tuple[str, ...] = ()  # dotted names of what a build generates


def command(tree: Path) -> tuple[str, tuple[str, ...]]:
    """The command that registers the repository, and what it was read from; ("", ()) where none is needed."""
    package = read(tree)
    if package is None or not (package.entry_points or package.modules or _asks(tree)):
        return "", ()
    source = injected("acr_stand_in.py").decode()
    text = f"python3 -c {shlex.quote(source)} {shlex.quote(json.dumps(asdict(package), sort_keys=True))}"
    manifests = tuple(n for n in ("pyproject.toml", "setup.cfg", "setup.py") if (tree / n).is_file())
    return text, manifests


def _asks(tree: Path) -> bool:
    return any(_ASKS.search(read_text(tree, path)) for path in walk(tree) if path.endswith(".py"))


def read(tree: Path) -> Package | None:
    """None where no manifest names the distribution."""
    document = toml(tree, "pyproject.toml")
    cfg = ini(tree, "setup.cfg")
    call: dict[str | None, Any] = next(setup_calls(read_text(tree, "setup.py")), {})
    project, poetry = table(document, "project"), table(table(document, "tool"), "poetry")
    flit = table(table(table(document, "tool"), "flit"), "metadata")
    named = [
        project.get("name"),
        poetry.get("name"),
        cfg.get("metadata", "name", fallback=""),
        call.get("name"),
    ]
    named += [flit.get("dist-name"), flit.get("module")]
    name = next((str(n).strip() for n in named if isinstance(n, str) and _NAME.fullmatch(n.strip())), "")
    if not name:
        return None
    stated = [project.get("version"), poetry.get("version"), cfg.get("metadata", "version", fallback="")]
    stated += [call.get("version")]
    number = next((str(v).strip() for v in stated if isinstance(v, str) and _NUMBER.fullmatch(v.strip())), "")
    version = number or _found_version(tree, document, cfg.get("metadata", "version", fallback=""), name)
    return Package(
        name=name,
        version=version,
        header=_header(project),
        entry_points=_entry_points(project, poetry, cfg, call),
        certain=version != UNKNOWN,
        modules=_modules(tree),
    )


def _found_version(tree: Path, document: dict[str, Any], stated: str, name: str) -> str:
    """The version where it does not stand in a manifest: in the file that one names, or the usual ones."""
    tool = table(document, "tool")
    dynamic = table(table(tool, "setuptools"), "dynamic").get("version")
    named: list[Any] = [table(table(tool, "hatch"), "version").get("path")]
    named += [table(table(tool, "pdm"), "version").get("path")]
    if isinstance(dynamic, dict):
        stated = (
            f"attr: {dynamic.get('attr', '')}" if dynamic.get("attr") else f"file: {dynamic.get('file', '')}"
        )
    kind, _, target = (part.strip() for part in stated.partition(":"))
    roots = [*source_roots(tree), "."]
    if kind == "file":
        text = read_text(tree, target.strip("[]'\" ")).strip() if target else ""
        if _NUMBER.fullmatch(text):
            return text
    if kind == "attr":
        module = target.rpartition(".")[0].replace(".", "/")
        named += [f"{root}/{module}{end}" for root in roots for end in (".py", "/__init__.py")]
    folder = re.sub(r"[-.]", "_", name)
    for root in roots:
        named += [f"{root}/{folder}.py", *(f"{root}/{folder}/{file}" for file in _USUAL)]
    for path in named:
        if isinstance(path, str) and ".." not in path and is_file(tree, path):
            found = _VERSION.search(read_text(tree, path))
            if found and _NUMBER.fullmatch(found.group(1)):
                return found.group(1)
    fallback = table(tool, "setuptools_scm").get("fallback_version")
    return fallback if isinstance(fallback, str) and _NUMBER.fullmatch(fallback) else UNKNOWN


def _header(project: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    summary, license_ = project.get("description"), project.get("license")
    found = [("Summary", summary)] if isinstance(summary, str) else []
    found += [("License-Expression", license_)] if isinstance(license_, str) else []
    urls = ((label, url) for label, url in table(project, "urls").items() if isinstance(url, str))
    return (*found, *(("Project-URL", f"{label}, {url}") for label, url in urls))


def _entry_points(
    project: dict[str, Any], poetry: dict[str, Any], cfg: Any, call: dict[str | None, Any]
) -> dict[str, dict[str, str]]:
    groups: dict[str, Any] = dict(table(project, "entry-points"))
    groups |= table(poetry, "plugins")
    scripts = {**table(poetry, "scripts"), **table(project, "scripts")}
    if scripts:
        groups["console_scripts"] = scripts
    if cfg.has_section("options.entry_points"):
        groups |= {group: text.splitlines() for group, text in cfg.items("options.entry_points")}
    if isinstance(call.get("entry_points"), dict):
        groups |= call["entry_points"]
    found = {str(group): dict(_entries(value)) for group, value in groups.items()}
    return {group: entries for group, entries in found.items() if entries}


def _entries(value: Any) -> list[tuple[str, str]]:
    if isinstance(value, dict):
        return [(name, target) for name, target in value.items() if isinstance(target, str)]
    lines = (
        value.splitlines() if isinstance(value, str) else value if isinstance(value, (list, tuple)) else ()
    )
    pairs = (str(line).partition("=") for line in lines)
    return [(name.strip(), target.strip()) for name, _, target in pairs if name.strip() and target.strip()]


def generated_files(tree: Path) -> tuple[str, ...]:
    """Paths of the modules that a build writes, as the manifests name them, whether they are there or not."""
    call: dict[str | None, Any] = next(setup_calls(read_text(tree, "setup.py")), {})
    named = _written(toml(tree, "pyproject.toml"), call)
    return tuple(
        dict.fromkeys(p for p in named if isinstance(p, str) and p.endswith(".py") and ".." not in p)
    )


def _modules(tree: Path) -> tuple[str, ...]:
    """Dotted names of those that are not there."""
    found = []
    for path in generated_files(tree):
        root = next((r for r in source_roots(tree) if path.startswith(r + "/")), "")
        dotted = path.removeprefix(root).strip("/").removesuffix(".py").replace("/", ".")
        if not is_file(tree, path) and all(part.isidentifier() for part in dotted.split(".")):
            found.append(dotted)
    return tuple(found)


def _written(document: dict[str, Any], call: dict[str | None, Any]) -> list[Any]:
    tool = table(document, "tool")
    scm, hatch = table(tool, "setuptools_scm"), table(tool, "hatch")
    vcs = table(table(table(hatch, "build"), "hooks"), "vcs")
    in_setup = table(call, "use_scm_version")
    named = [scm.get("version_file"), scm.get("write_to"), vcs.get("version-file"), in_setup.get("write_to")]
    named += [in_setup.get("version_file"), table(table(tool, "pdm"), "version").get("write_to")]
    return named
