"""The projects of a tree and which of them stands on which, by their manifests; nothing is run.

Edges are what the manifests themselves say lies in the same tree: names of npm workspaces, path dependencies
of Python and Cargo, modules of Go and Maven, projects of Gradle. Between languages none is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from posixpath import normpath
from typing import Any

from acr_cli.toolchains import python_install, trees
from acr_cli.toolchains.python_detect import is_file, read_text, table, toml
from acr_cli.toolchains.python_tables import matches
from acr_cli.toolchains.tables import table as shared

_KINDS = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")
_LOCAL = re.compile(r"^(?:file|link|portal|workspace):(\.{1,2}/.*)$")
_PATH = re.compile(r"""\bpath\s*=\s*["']([^"']+)["']""")
_REQUIREMENT = re.compile(
    r"^[ \t]*(?:(?:-e|--editable)[ =]*)?(?:[\w.\[\],-]+[ \t]*@[ \t]*)?(?:file:)?(\.{1,2}/[^\s;#\[]*)",
    re.MULTILINE,
)
_REPLACED = re.compile(r"=>\s*(\.{1,2}/\S+)")
_GRADLE = re.compile(r"""\bproject\s*\(\s*(?:path\s*[:=]\s*)?["']:?([\w:.-]+)["']""")
_WORD = re.compile(r"[\w@+./-]+")
_FILE = re.compile(r".*\.\w{1,5}(?!\w)")  # of a word, what may be a path
_MOST_NAMES, _MOST_PARTS = 300, 30
_ARTIFACT = re.compile(r"<artifactId>\s*([\w.-]+)\s*</artifactId>")


@dataclass(frozen=True, kw_only=True, slots=True)
class Projects:
    """The folders of a tree that are projects ("" is the root), and on which of them each stands."""

    folders: tuple[str, ...]
    manifests: Mapping[str, Sequence[str]]  # names of a folder's
    needs: Mapping[str, frozenset[str]]

    def nearest(self, path: str) -> str:
        """The deepest project that holds a path; "" is the root, and none at all. Pure."""
        return max((f for f in self.folders if path == f or path.startswith(f"{f}/")), key=len, default="")

    def named(self, text: str, tree: Path) -> list[str]:
        """The files of the tree that a text names, as paths of the root or of one project."""
        found: dict[str, None] = {}
        words = dict.fromkeys(file[0] for word in _WORD.findall(text) if (file := _FILE.match(word)))
        for word in list(words)[:_MOST_NAMES]:
            parts = [part for part in word.split("/") if part not in ("", ".", "..")][-_MOST_PARTS:]
            ends = ["/".join(parts[at:]) for at in range(len(parts))]
            here = next((end for end in ends if is_file(tree, end)), "")
            below = [f"{f}/{end}" for end in ends for f in self.folders if f and is_file(tree, f, end)]
            if here or len(below) == 1:
                found[here or below[0]] = None
        return list(found)

    def below(self, names: Sequence[str]) -> list[str]:
        """The folders below the root with a manifest that fits one of these names. Pure."""
        return [f for f in self.folders if f and any(matches(m, names) for m in self.manifests[f])]

    def with_dependents(self, folders: Sequence[str]) -> tuple[str, ...]:
        """These and all that stand on one of them, near or far, in the order of `folders`. Pure."""
        reached = set(folders)
        while more := {f for f, needs in self.needs.items() if f not in reached and needs & reached}:
            reached |= more
        return tuple(f for f in self.folders if f in reached)

    def needed_by(self, folder: str) -> tuple[str, ...]:
        """All that a project stands on, near or far. Pure."""
        found: dict[str, None] = {}
        pending = sorted(self.needs.get(folder, ()))
        while pending:
            one = pending.pop(0)
            if one != folder and one not in found:
                found[one] = None
                pending += sorted(self.needs.get(one, ()))
        return tuple(found)


def projects(tree: Path) -> Projects:
    """What the manifests of a tree say."""
    known = shared("shared")["detect"]
    manifests: dict[str, list[str]] = {}
    for path in trees.walk(tree):
        folder, _, name = path.rpartition("/")
        if matches(name, known["manifests"]) and folder.count("/") < known["depth"]:
            manifests.setdefault(folder, []).append(name)
    folders = tuple(sorted(manifests, key=lambda f: (f.count("/") + bool(f), f)))
    names = {name: folder for folder in folders for name in _names(tree / folder)}
    needs: dict[str, frozenset[str]] = {}
    for folder in folders:
        said = {
            names.get(name) if name else _joined(folder, where)
            for name, where in _mentions(tree / folder, manifests[folder])
        }
        needs[folder] = frozenset(f for f in said if f is not None and f in manifests and f != folder)
    return Projects(folders=folders, manifests=manifests, needs=needs)


def _joined(folder: str, path: str) -> str:
    inside = normpath(f"{folder}/{path}" if folder else path)
    return "" if inside == "." else inside


def _names(folder: Path) -> Iterator[str]:
    """Under which names others may ask for a project; each begins with the kind of its manager."""
    if isinstance(name := trees.load_json(folder, "package.json").get("name"), str):
        yield f"npm {name}"
    yield from (f"python {name}" for name in python_names(folder))
    if found := re.search(r"^module\s+(\S+)", read_text(folder, "go.mod"), re.MULTILINE):
        yield f"go {found.group(1)}"
    before, _, inner = read_text(folder, "pom.xml").partition("<parent>")
    if found := _ARTIFACT.search(before + inner.partition("</parent>")[2]):
        yield f"maven {found.group(1)}"
    if any(folder.glob("build.gradle*")):
        yield f"gradle {folder.name}"


def python_names(folder: Path) -> Iterator[str]:
    """The normal name of the distribution that a folder holds, if it says one."""
    document = toml(folder, "pyproject.toml")
    for parent in (document.get("project"), table(document, "tool").get("poetry")):
        if isinstance(parent, dict) and isinstance(parent.get("name"), str):
            yield python_install.name_of(parent["name"])


def _mentions(folder: Path, manifests: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What a project asks for: a name as `_names` spells it and "", or "" and a path relative to it."""
    for manifest in manifests:
        text = read_text(folder, manifest)
        if manifest == "package.json":
            yield from _of_npm(trees.load_json(folder, manifest))
        elif manifest == "pyproject.toml":
            yield from (
                (f"python {python_install.name_of(r)}", "")
                for r in python_install.pyproject(folder / manifest)
            )
            yield from (("", path) for path in _PATH.findall(text))
            yield from (("", path) for path in re.findall(r"@\s*(?:file:)?(\.{1,2}/[^\"'\s;]+)", text))
        elif manifest.endswith(".txt"):
            yield from (("", path) for path in _REQUIREMENT.findall(text))
        elif manifest == "Cargo.toml":
            yield from (("", path) for path in _PATH.findall(text))
        elif manifest == "go.mod":
            yield from (("", path) for path in _REPLACED.findall(text))
            yield from (
                (f"go {name}", "")
                for name in re.findall(r"^[ \t]*(?:require[ \t]+)?(\S+)[ \t]+v\d", text, re.MULTILINE)
            )
        elif manifest == "pom.xml":
            for block in (part.partition("</dependency>")[0] for part in text.split("<dependency>")[1:]):
                yield from ((f"maven {name}", "") for name in _ARTIFACT.findall(block))
        elif manifest.startswith("build.gradle"):
            yield from ((f"gradle {name.rpartition(':')[2]}", "") for name in _GRADLE.findall(text))


def _of_npm(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for kind in _KINDS:
        wanted = manifest.get(kind)
        for name, version in wanted.items() if isinstance(wanted, dict) else ():
            local = _LOCAL.match(str(version))
            yield ("", local.group(1)) if local else (f"npm {name}", "")
