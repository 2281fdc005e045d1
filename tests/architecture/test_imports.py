"""The rules of imports that import-linter cannot see: standard library only, and nothing slow at start-up."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import acr_cli

PACKAGE = Path(acr_cli.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))

# The language of the loop. Whoever reads it, or writes a part for it, needs nothing but Python.
CORE = ("caf", "abreast", "course", "progress", "records", "protocols", "events", "errors")
SLOW = {
    *("litellm", "chromadb", "docker", "git", "onnxruntime", "tokenizers"),
    *("torch", "sentence_transformers", "transformers", "peft"),
}


def module_level(tree: ast.Module) -> Iterator[ast.stmt]:
    """What runs when the module is imported: no body of a function, nothing for type checkers alone."""
    pending: list[ast.AST] = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            pending.extend(node.orelse)
            continue
        if isinstance(node, ast.stmt):
            yield node
        pending.extend(ast.iter_child_nodes(node))


def imported(statements: Iterator[ast.AST]) -> Iterator[str]:
    """The full names of the modules that import statements ask for; relative ones start with a dot."""
    for node in statements:
        match node:
            case ast.Import():
                yield from (alias.name for alias in node.names)
            case ast.ImportFrom(module="acr_cli", level=0):
                yield from (f"acr_cli.{alias.name}" for alias in node.names)
            case ast.ImportFrom():
                yield "." * node.level + (node.module or "")


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


@pytest.mark.parametrize("module", CORE)
def test_the_core_imports_the_standard_library_and_itself_only(module: str) -> None:
    path = PACKAGE / f"{module}.py"
    allowed = sys.stdlib_module_names | {"acr_cli"}
    names = set(imported(ast.walk(parsed(path))))

    assert {name for name in names if name.split(".")[0] not in allowed} == set()
    ours = {name.split(".")[1] if "." in name else name for name in names if name.split(".")[0] == "acr_cli"}
    assert ours <= {*CORE, "__version__"}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_module_imports_a_slow_library_when_it_is_imported(path: Path) -> None:
    names = {name.split(".")[0] for name in imported(module_level(parsed(path)))}

    assert names & SLOW == set()
