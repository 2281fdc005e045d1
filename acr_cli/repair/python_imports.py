"""Python: the imports that a file lacks, by what the repository imports and defines elsewhere.

Names that nothing in the file binds are looked up in this order: how other files of the repository import
them, where the repository defines them, the standard library's modules, and what common ones of these export.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cache
from itertools import takewhile
from types import ModuleType

VARIANTS = 4  # statements that are proposed for one name
ENOUGH = 20  # imports of a name after which no more files are asked for it
MOST_BYTES = 2_000_000  # of all files that are parsed

_EXPORTERS = (
    "typing", "collections.abc", "collections", "functools", "itertools", "contextlib", "dataclasses", "enum",
    "abc", "pathlib", "datetime", "decimal", "fractions", "types", "operator", "copy", "math", "textwrap",
    "threading", "io", "string", "uuid", "inspect", "warnings", "urllib.parse", "json", "re", "os.path",
)  # fmt: skip
_GIVEN = frozenset((*dir(builtins), "__file__", "__path__", "__class__", "__spec__", "__loader__"))


def missing(path: str, text: bytes, files: Mapping[str, bytes]) -> tuple[str, ...]:
    """Statements, ready to be put before a file's first one, that bind all that it uses and nothing binds.

    The likeliest come first. `files`: the repository's sources by path, asked about nothing but imports and
    what they define at their top level. Nothing where the file binds unknown names (`import *`). Pure."""
    tree = _parsed(text)
    names = unbound(tree) if tree is not None else ()
    if not names:
        return ()
    known = _statements(path, names, files)
    most = max((len(found) for found in known.values()), default=0)
    return tuple(
        _joined([found[min(variant, len(found) - 1)] for found in known.values()])
        for variant in range(min(VARIANTS, most))
    )


def _joined(statements: Iterable[str]) -> str:
    """One line for each module, in order: `from m import a, b` and not one line for each name."""
    lines: dict[str, set[str]] = {}
    for statement in sorted(set(statements), key=lambda text: (text.startswith("from "), text)):
        start, word, names = statement.partition(" import ")
        lines.setdefault(f"{start}{word}", set()).add(names)
    return "".join(f"{start}{', '.join(sorted(names))}\n" for start, names in lines.items())


def unbound(tree: ast.Module) -> tuple[str, ...]:
    """Names that a module reads and binds nowhere, builtins left out, in order of their place. Pure."""
    used: dict[str, None] = {}
    bound = set(_GIVEN)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                used.setdefault(node.id)
            else:
                bound.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            if any(alias.name == "*" for alias in node.names):
                return ()
            bound.update(_bound_by(alias) for alias in node.names)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            bound.update(node.names)
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            bound.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            bound.add(node.rest)
    return tuple(name for name in used if name not in bound)


def _statements(path: str, names: Sequence[str], files: Mapping[str, bytes]) -> dict[str, list[str]]:
    """For each name that any do, the statements that bind it in the file at `path`, likely ones first."""
    imported: dict[str, Counter[str]] = {name: Counter() for name in names}
    defined: dict[str, list[str]] = {name: [] for name in names}
    left = MOST_BYTES
    for other in sorted(files, key=lambda each: -_shared(path.split("/"), each.split("/"))):
        text = files[other]
        asked = {name for name in names if imported[name].total() < ENOUGH and name.encode() in text}
        tree = _parsed(text) if asked and other != path and len(text) <= left else None
        if tree is None:
            continue
        left -= len(text)
        for name, statement in _imports(path, other, tree, asked, files):
            imported[name][statement] += 1
        module = _module(path, other, files)
        for name in asked & _defined_in(tree) if module else ():
            defined[name].append(f"from {module} import {name}")
    found = {}
    for name in names:
        own = [name] if name in sys.stdlib_module_names else []
        likely = [statement for statement, _ in imported[name].most_common()]
        likely += [*defined[name], *(f"import {module}" for module in own)]
        likely += [f"from {module} import {name}" for module in _exporters().get(name, ())]
        found[name] = list(dict.fromkeys(likely))
    return {name: statements for name, statements in found.items() if statements}


def _imports(
    path: str, other: str, tree: ast.Module, names: Set[str], files: Mapping[str, bytes]
) -> Iterator[tuple[str, str]]:
    """How one file imports names: each, and the statement as the file at `path` would write it."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        for alias in node.names:
            name = _bound_by(alias)
            if name not in names:
                continue
            renamed = f" as {alias.asname}" if alias.asname else ""
            if isinstance(node, ast.Import):
                yield name, f"import {alias.name}{renamed}"
            elif not node.level:
                yield name, f"from {node.module} import {alias.name}{renamed}"
            else:
                folders = other.split("/")[: -node.level]
                inside = [*folders, *(node.module or "").split(".")] if node.module else folders
                if module := _named(path, inside, files):
                    yield name, f"from {module} import {alias.name}{renamed}"


def _module(path: str, other: str, files: Mapping[str, bytes]) -> str:
    """The module that a file of the repository is, as the file at `path` would name it; "" if it is none."""
    parts = other.removesuffix(".py").split("/")
    if parts[-1] == "__init__":
        parts.pop()
    return _named(path, parts, files)


def _named(path: str, parts: list[str], files: Mapping[str, bytes]) -> str:
    """Folders and a module as an import in the file at `path`: relative inside one package, else absolute."""
    own = path.split("/")[:-1]
    shared = _shared(own, parts)
    outside = _outside(parts, files)
    if shared > outside:
        return "." * (len(own) - shared + 1) + ".".join(parts[shared:])
    return ".".join(parts[outside:]) if all(part.isidentifier() for part in parts[outside:]) else ""


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """How many parts two paths begin with in common. Pure."""
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return sum(1 for _ in pairs)


def _outside(parts: list[str], files: Mapping[str, bytes]) -> int:
    """How many of the first folders are no packages."""
    folders = [
        depth for depth in range(1, len(parts) + 1) if "/".join([*parts[:depth], "__init__.py"]) in files
    ]
    return folders[0] - 1 if folders else len(parts) - 1


def _defined_in(tree: ast.Module) -> frozenset[str]:
    """What a module defines at its top level."""
    return frozenset(name for statement in tree.body for name in _defined_by(statement))


def _defined_by(statement: ast.stmt) -> Iterable[str]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return (statement.name,)
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _bound_by(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


@cache
def _exporters() -> Mapping[str, tuple[str, ...]]:
    """Names to the modules of the standard library that export them."""
    found: dict[str, tuple[str, ...]] = {}
    for module in _EXPORTERS:
        loaded = importlib.import_module(module)
        public = getattr(loaded, "__all__", None) or [
            name
            for name, value in vars(loaded).items()
            if not name.startswith("_") and not isinstance(value, ModuleType)
        ]
        for name in public:
            found[name] = (*found.get(name, ()), module)
    return found


def _parsed(text: bytes) -> ast.Module | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
