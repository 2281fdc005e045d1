"""Tests that must fail, for the languages whose runs are scripts: files that a run finds beside the others.

See `protocols.Guards`. A file of its own tells a report that the code under test wrote from the runner's. In
Go and mocha it runs in the process of the other tests, and after them, so that it also tells when that was
ended early; in Ruby and PHP it runs in that process, too. Rust, Java and C have none: there it would have to
be built.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from acr_cli.protocols import TestPlan
from acr_cli.toolchains import suite, trees
from acr_cli.toolchains.python_detect import read_text
from acr_cli.toolchains.python_tables import matches
from acr_cli.toolchains.tables import table

_PACKAGES = 300  # of Go that get a canary
_GO = """\
package {package}

import "testing"

func TestZ{name}(t *testing.T) {{
\tt.Fatal("{name}")
}}
"""
_JAVASCRIPT = {
    "node": "import('node:test').then(({{ test }}) => {test});\n",
    "jest": "{test};\n",
    "vitest": "import {{ test }} from 'vitest';\n{test};\n",
}
_PHP = """\
<?php

final class {name}Test extends \\PHPUnit\\Framework\\TestCase
{{
    public function test{name}(): void
    {{
        $checks = [
            function () {{ $this->assertTrue(false); }},
            function () {{ $this->assertSame(1, 2); }},
            function () {{ $this->assertEquals(1, 2); }},
            function () {{ $this->fail('{name}'); }},
        ];
        foreach ($checks as $check) {{
            try {{
                $check();
            }} catch (\\Throwable $error) {{
                continue;
            }}
            return;
        }}
        throw new \\RuntimeException('{name}');
    }}
}}
"""
_STOPS = re.compile(r'\bstopOn\w+\s*=\s*"true"')  # of PHPUnit: at the canary, too
_FAILS = "test('{name}', () => {{ throw new Error('{name}'); }})"
_CONSTRAINT = re.compile(r"^//\s*(?:go:build|\+build)\b", re.MULTILINE)
_PACKAGE = re.compile(r"^package (\w+)", re.MULTILINE)
_SYSTEMS = re.compile(
    r"_(?:aix|android|darwin|dragonfly|freebsd|illumos|ios|js|linux|netbsd|openbsd|plan9|solaris|wasip1|windows"
    r"|386|amd64|arm|arm64|loong64|mips\w*|ppc64\w*|riscv64|s390x|wasm)_test\.go$"
)


def added(tree: Path, plan: TestPlan, name: str) -> TestPlan | None:
    """The plan with a canary for each of its runs that takes one; None where none does."""
    files: dict[str, bytes] = {}
    environment: dict[str, str] = {}
    runs = suite.runners(plan)
    for folder, runner in runs:
        if runner == "go":
            files.update(_go(tree, folder, name))
        elif runner == "phpunit":
            files.update(_php(tree, folder, name))
        elif runner in ("mocha", "minitest", "rspec"):
            environment["ACR_GUARD"] = name
        elif runner in _JAVASCRIPT:
            files.update(_javascript(tree, folder, runner, name, [other for other, _ in runs]))
    if not files and not environment:
        return None
    return replace(plan, files={**plan.files, **files}, environment={**plan.environment, **environment})


def _go(tree: Path, module: str, name: str) -> Iterator[tuple[str, bytes]]:
    """One in each package that has tests for this machine, in the package of one of them."""
    modules = trees.projects(tree, ["go.mod"])
    packages: dict[str, str] = {}
    for path in trees.files_of(tree, module, others=modules):
        folder, _, file = path.rpartition("/")
        if not file.endswith("_test.go") or folder in packages or _SYSTEMS.search(file):
            continue
        text = read_text(tree, module, path)
        said = _PACKAGE.search(text)
        if said and not _CONSTRAINT.search(text[: said.start()]):
            packages[folder] = said.group(1)
    for folder, package in list(packages.items())[:_PACKAGES]:
        # The go command runs the tests of a package in the order of its files.
        place = PurePosixPath(module, folder, f"zz_{name}_test.go")
        yield place.as_posix(), _GO.format(package=package, name=name).encode()


def _javascript(
    tree: Path, folder: str, runner: str, name: str, others: Sequence[str]
) -> Iterator[tuple[str, bytes]]:
    """One beside the first test file of a project, named as that is."""
    patterns = table("javascript")["detect"]["test_files"]
    for path in trees.files_of(tree, folder, others=others):
        inside, _, file = path.rpartition("/")
        if matches(file, patterns) or f"/{inside}/".endswith(("/__tests__/", "/test/")):
            if not file.endswith((".js", ".mjs", ".cjs", ".ts", ".mts", ".jsx", ".tsx")) or ".d." in file:
                continue
            place = PurePosixPath(folder, inside, _named_like(file, name))
            yield place.as_posix(), _JAVASCRIPT[runner].format(test=_FAILS.format(name=name)).encode()
            return


def _php(tree: Path, folder: str, name: str) -> Iterator[tuple[str, bytes]]:
    """One beside the first test file."""
    found = table("php")["detect"]["configuration"]
    if any(
        _STOPS.search(read_text(tree, folder, each)) for each in found if (tree / folder / each).is_file()
    ):
        return
    for path in trees.files_of(tree, folder, others=()):
        inside, _, file = path.rpartition("/")
        if file.endswith("Test.php"):
            yield PurePosixPath(folder, inside, f"{name}Test.php").as_posix(), _PHP.format(name=name).encode()
            return


def _named_like(file: str, name: str) -> str:
    stem, dot, rest = file.partition(".")
    for end in ("_test", "-test"):
        if stem.endswith(end):
            return f"{name}{end}{dot}{rest}"
    return f"test-{name}{dot}{rest}" if stem.startswith("test-") else f"{name}{dot}{rest}"
