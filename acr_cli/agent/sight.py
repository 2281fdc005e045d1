"""What a model is shown of a repository without asking: the files at hand, and a listing of the rest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from acr_cli.agent.applying import numbered
from acr_cli.errors import PathRefused
from acr_cli.protocols import Tree
from acr_cli.records import Step

_LISTED = 300  # paths
_LEAST = 400  # characters; no room for a further file
_READABLE = 400_000  # bytes; a larger file is opened piece by piece, or not at all
_SECRET = re.compile(
    r"(^|/)(\.env(\.(?!example|sample|template)[^/]*)?|\.netrc|\.pypirc|\.npmrc|id_(rsa|dsa|ecdsa|ed25519)|"
    r"credentials\.json|[^/]*\.(pem|p12|pfx|key|keystore))$",
    re.IGNORECASE,
)
_IMPORT = re.compile(r"^\s*(?:from\s+([\w.]+)\s+import\s+([\w, ]+)|import\s+([\w., ]+))", re.MULTILINE)


def is_secret(path: str) -> bool:
    """Whether a file by its name holds keys, which are never shown to a model. Pure."""
    return _SECRET.search(path) is not None


def read_text(tree: Tree, path: str) -> str:
    """A text file of the tree. Raises: PathRefused, for the model to read."""
    if is_secret(path):
        raise PathRefused(f"{path} may hold keys and is not shown.")
    file = tree.path(path)
    if not file.is_file():
        raise PathRefused(f"There is no file {path}.")
    data = file.read_bytes()
    if b"\0" in data[:8192]:
        raise PathRefused(f"{path} is binary.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def listing(tree: Tree) -> str:
    """The paths of the tree, cut where there are too many."""
    files = tree.files()
    more = f"\n... and {len(files) - _LISTED} more" if len(files) > _LISTED else ""
    return "\n".join(files[:_LISTED]) + more


def files_at_hand(step: Step, tree: Tree) -> tuple[str, ...]:
    """Files worth a look, the likeliest first: named, in tracebacks, imported by the failing tests."""
    everything = [path for path in tree.files() if not is_secret(path)]
    known = set(everything)
    details = "\n".join(f"{case.message}\n{case.detail}" for case in step.failures)
    tests = [case.file for case in step.failures if case.file in known]
    found = [
        *(path for path in step.files if path in known),
        *_mentioned(step.text, everything),
        *(path for path in _mentioned(details, everything) if path not in tests),
    ]
    for test in dict.fromkeys(tests):
        found += _imported(_quietly(tree, test), everything)
    return tuple(dict.fromkeys([*found, *tests]))


def contents(tree: Tree, paths: Iterable[str], *, room: int, numbers: bool) -> str:
    """Whole files, as many as go into `room` characters, each below its path."""
    parts = []
    for path in paths:
        if room < _LEAST:
            break
        text = _quietly(tree, path)
        lines = text.splitlines()
        shown = numbered(lines) if numbers else text.rstrip("\n")
        fence = "````" if "```" in shown else "```"
        block = f"{path}\n{fence}\n{shown}\n{fence}\n"
        if text and len(block) <= room:
            room -= len(block)
            parts.append(block)
    return "\n".join(parts)


def source_files(tree: Tree) -> tuple[str, ...]:
    """All files that a person would read, smallest paths first."""
    unread = (".lock", ".svg", ".min.js", ".map")
    files = [path for path in tree.files() if not is_secret(path) and not path.endswith(unread)]
    return tuple(sorted(files, key=lambda path: (path.count("/"), path)))


def _quietly(tree: Tree, path: str) -> str:
    """A file's text, "" where it is not to be shown whole."""
    try:
        return read_text(tree, path) if tree.path(path).stat().st_size <= _READABLE else ""
    except (PathRefused, OSError):
        return ""


def _mentioned(text: str, files: Sequence[str]) -> list[str]:
    """Files whose path, or whose unique name, stands in a text."""
    words = {word.strip("./\\'\"`,:;()[]") for word in re.split(r"[\s:,'\"`()\[\]]+", text)}
    words |= {word for whole in words if "/" in whole for word in _tails(whole)}
    names: dict[str, list[str]] = {}
    for path in files:
        names.setdefault(PurePosixPath(path).name, []).append(path)
    by_name = {paths[0] for name, paths in names.items() if name in words and len(paths) == 1 and "." in name}
    return [path for path in files if path in words or path in by_name]


def _tails(path: str) -> Iterable[str]:
    """A path as seen from each of its folders: a traceback's path begins where the tests ran."""
    parts = path.split("/")
    return ("/".join(parts[start:]) for start in range(1, len(parts) - 1))


def _imported(source: str, files: Sequence[str]) -> list[str]:
    """Files of the tree that a Python source imports."""
    modules: set[str] = set()
    for match in _IMPORT.finditer(source):
        base, names, plain = match.groups()
        if base:
            modules |= {base, *(f"{base}.{name.strip()}" for name in names.split(","))}
        else:
            modules |= {name.split(" as ")[0].strip() for name in plain.split(",")}
    ends = {module.strip(".").replace(".", "/") for module in modules if module.strip(".")}
    return [
        path
        for path in files
        if any(f"/{path}".endswith((f"/{end}.py", f"/{end}/__init__.py")) for end in ends)
    ]
