"""The parsers of what lies in a repository: manifests, task files, CI files, containers."""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path, PurePosixPath
from typing import Any

from acr_cli.parts import load
from acr_cli.protocols import Toolchain
from acr_cli.sandbox import devcontainer, dockerfile, programs
from acr_cli.toolchains import BUILTIN, monorepo
from acr_cli.toolchains.several import Several
from acr_cli.worktree.delivery import Change, Content
from acr_cli.worktree.unasked import unasked
from tests.security.fuzzing import Parser, encoded

PYTHON = {
    "src/shop/__init__.py": "import attrs\n",
    "tests/test_a.py": "import pytest\n\n\ndef test_a(mocker): ...\n",
}
NODE = {"index.js": "module.exports = 1\n", "a.test.js": "const t = require('node:test')\n"}
GO = {"a.go": "package a\n", "a_test.go": "package a\n"}
RUST = {"src/lib.rs": "#[test]\nfn a() {}\n"}
JAVA = {"src/test/java/ATest.java": "class ATest { @Test void a() {} }\n"}
RUBY = {
    "lib/a.rb": "x = 1\n",
    "spec/a_spec.rb": "RSpec.describe 'a' do end\n",
    "test/a_test.rb": "require 'minitest'\n",
}
PHP = {
    "src/A.php": "<?php\n",
    "tests/ATest.php": "<?php class ATest extends PHPUnit\\Framework\\TestCase {}\n",
}
C = {"a.c": "int main(void) { return 0; }\n"}

_PYPROJECT = """[build-system]
requires = ["hatchling"]
[project]
name = "shop"
dynamic = ["version"]
dependencies = ["attrs>=1", "x[y]==2; python_version>'3'"]
optional-dependencies = {test = ["pytest"]}
scripts = {shop = "shop:main"}
urls = {a = "b"}
[dependency-groups]
test = ["pytest", {include-group = "dev"}]
dev = ["ruff"]
[tool.poetry]
packages = [{include = "shop", from = "src"}]
dependencies = {python = "^3.11", attrs = {version = "^1", extras = ["z"]}}
group = {dev = {dependencies = {pytest = "*"}}}
[tool.setuptools]
packages = {find = {where = ["src"]}}
package-dir = {"" = "src"}
dynamic = {version = {attr = "shop.v"}, dependencies = {file = ["requirements.txt"]}}
[tool.hatch.version]
path = "src/shop/__init__.py"
[tool.hatch.build.targets.wheel]
packages = ["src/shop"]
[tool.hatch.envs.test]
dependencies = ["pytest"]
scripts = {test = "pytest -q"}
[tool.pytest.ini_options]
addopts = "-p no:x --cov --timeout=3"
python_files = ["test_*.py"]
asyncio_mode = "auto"
[tool.pdm]
dev-dependencies = {test = ["pytest"]}
scripts = {test = {cmd = "pytest"}}
[tool.uv]
dev-dependencies = ["pytest"]
workspace = {members = ["a/*"]}
sources = {x = {path = "../x"}}
[tool.poe.tasks]
test = {cmd = "pytest tests"}
"""
_SETUP_CFG = (
    "[metadata]\nname = shop\nversion = attr: shop.v\n[options]\ninstall_requires =\n  attrs>=1\n  b\n"
    "[options.extras_require]\ntest = pytest; x\n[tool:pytest]\naddopts = -n 2\npython_files = a b\n"
    "[options.entry_points]\nconsole_scripts =\n  shop = shop:main\n"
)
_SETUP_PY = (
    "from setuptools import setup\nsetup(name='shop', version='1', install_requires=['a'], extras_require={'t"
    "est': ['b']})\n"
)
_TOX = (
    "[tox]\nenvlist = py\n[testenv]\ndeps =\n  pytest\n  -r requirements.txt\ncommands =\n  pytest {posargs} "
    "tests\n"
)
_REQUIREMENTS = (
    "-r other.txt\n-e .\nattrs==1 --hash=sha256:ab  # x\nfoo[bar]>=1,<2 ; python_version>'3' \\\n  or x\n-c c"
    ".txt\n"
)
_NOX = "import nox\n\n@nox.session\ndef tests(session):\n    session.run('pytest', '-q', 'tests')\n"
_LOCK = (
    '[[package]]\nname = "attrs"\nversion = "1"\n[[package]]\nname = "b"\nversion = "2"\nsource = {registry ='
    ' "x"}\n'
)
_PIPFILE = '[packages]\nattrs = "*"\nb = {version = ">=1", extras = ["c"]}\n[dev-packages]\npytest = "*"\n'
_PACKAGE = (
    '{"name": "@a/b", "version": "1.0.0", "packageManager": "yarn@4.1.0", "scripts": {"test": "tsc && jes'
    't --ci", '
    '"pretest": "x", "build": "tsc"}, "dependencies": {"a": "^1", "b": "file:../b"}, "devDependencies": {'
    '"jest": '
    '"29", "vitest": "1", "mocha": "10"}, "workspaces": {"packages": ["p/*"]}, "jest": {"testMatch": ["x"]}, '
    '"engines": {"node": ">=18"}}'
)
_CARGO = (
    '[package]\nname = "a"\nversion = "0.1.0"\n[lib]\npath = "src/lib.rs"\n[[bin]]\nname = "b"\n[dependen'
    "cies]\n"
    'serde = "1"\nx = {path = "../x"}\n[workspace]\nmembers = ["b"]\n[target."cfg(unix)".dependencies]\ny'
    ' = "1"\n'
)
_POM = (
    "<project><parent><artifactId>p</artifactId></parent><artifactId>a</artifactId><modules><module>m</mo"
    "dule>"
    "</modules><dependencies><dependency><artifactId>junit</artifactId></dependency></dependencies></project>"
)
_GRADLE = (
    "plugins { id 'java' }\ndependencies { testImplementation project(':b') }\ntest { useJUnitPlatform() }\n"
)
_COMPOSER = (
    '{"name": "a/b", "require-dev": {"phpunit/phpunit": "^10"}, "autoload": {"psr-4": {"A\\\\": "src/"}}, '
    '"scripts": {"test": ["phpunit"]}, "repositories": [{"type": "path", "url": "../x"}]}'
)
_PHPUNIT = '<phpunit bootstrap="vendor/autoload.php" stopOnFailure="true"><testsuites/></phpunit>'
_CMAKE = 'project(a)\nenable_testing()\noption(A_BUILD_TESTS "x" OFF)\nadd_test(NAME t COMMAND a)\n'
_MESON = "project('a', 'c')\ntest('t', executable('a', 'a.c'))\n"
_MAKE = "X := $(shell ls)\ntest: all\n\tgo test ./...\ncheck:\n\tpytest\n"
_JUST = "test *args:\n    pytest {{args}}\n"
_CI = (
    "jobs:\n  t:\n    steps:\n      - run: pip install -e .\n      - run: |\n          cmake -B b -DA=1\n    "
    "      pytest -q tests\n"
)
_CONTAINER = (
    '{\n  // words\n  "name": "x", /* more */\n  "build": {"dockerfile": "Dockerfile", "context": ".."},\n}\n'
)

MANIFESTS: tuple[tuple[str, str, Mapping[str, str], str], ...] = (
    ("pyproject.toml", _PYPROJECT, PYTHON, "toml"),
    ("setup.cfg", _SETUP_CFG, PYTHON, ""),
    ("setup.py", _SETUP_PY, PYTHON, ""),
    ("tox.ini", _TOX, PYTHON, ""),
    ("pytest.ini", "[pytest]\naddopts = -p x\npython_files = a_*.py\n", PYTHON, ""),
    ("requirements.txt", _REQUIREMENTS, PYTHON, ""),
    ("noxfile.py", _NOX, PYTHON, ""),
    ("poetry.lock", _LOCK, {**PYTHON, "pyproject.toml": _PYPROJECT}, "toml"),
    ("Pipfile", _PIPFILE, PYTHON, "toml"),
    ("conftest.py", "import pytest\n\n@pytest.fixture\ndef a(b): ...\n\npytest.mark.asyncio\n", PYTHON, ""),
    ("package.json", _PACKAGE, NODE, "json"),
    ("pnpm-lock.yaml", "lockfileVersion: '9.0'\n", {**NODE, "package.json": _PACKAGE}, ""),
    (
        "go.mod",
        "module example.org/a\n\nrequire example.org/b v1.0.0\nreplace example.org/b => ../b\n",
        GO,
        "",
    ),
    (
        "a_test.go",
        '//go:build linux\n\npackage a_test\n\nimport "example.org/x/a"\n',
        {"a.go": "package a\n"},
        "",
    ),
    ("Cargo.toml", _CARGO, RUST, "toml"),
    ("pom.xml", _POM, JAVA, ""),
    ("build.gradle", _GRADLE, JAVA, ""),
    ("Gemfile", "source 'x'\ngem 'rspec'\ngemspec\n", RUBY, ""),
    ("composer.json", _COMPOSER, PHP, "json"),
    ("phpunit.xml", _PHPUNIT, {**PHP, "composer.json": _COMPOSER}, ""),
    ("CMakeLists.txt", _CMAKE, C, ""),
    ("meson.build", _MESON, C, ""),
    ("Makefile", _MAKE, {}, ""),
    ("justfile", _JUST, {}, ""),
    (".github/workflows/ci.yml", _CI, {**C, "CMakeLists.txt": _CMAKE}, ""),
)


@cache
def _toolchains() -> tuple[Toolchain, ...]:
    return tuple(load("acr_cli.toolchains", name, BUILTIN)() for name in BUILTIN)


def _project(name: str, beside: Mapping[str, str], text: str) -> object:
    """All that is found out about a repository with this file in it."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        for path, content in {**beside, name: ""}.items():
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_text(content)
        (tree / name).write_bytes(encoded(text))
        chain: Any = Several(_toolchains(), text=f"look at {name}")
        recipe = chain.recipe(tree, setup=None)
        plan = chain.plan(tree, command=None, tests=(), scratch="/s")
        if plan is not None:
            chain.guarded(tree, plan, name="canary", seconds=1.0)
        recipes = [recipe, *(each.recipe(tree, setup=None) for each in _toolchains())]
        for each in _toolchains():
            each.plan(tree, command=None, tests=(), scratch="/s")
        paths = [path for one in recipes if one for path in one.manifests]
        return (*paths, *monorepo.projects(tree).folders)


def _named(text: str) -> object:
    """The files that a task, or a log, names."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "p").mkdir()
        (Path(folder) / "p/a.py").write_text("")
        projects = monorepo.Projects(folders=("p",), manifests={}, needs={})
        return tuple(projects.named(text, Path(folder)))


def inside(paths: tuple[str, ...]) -> bool:
    """Whether all of these lie in the tree. Pure."""
    return not any(PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts for path in paths)


def _container(text: str) -> object:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / ".devcontainer").mkdir()
        (Path(folder) / ".devcontainer/devcontainer.json").write_bytes(encoded(text))
        found = devcontainer.read(Path(folder))
        return (found.dockerfile, found.context)


def _rust_channel(text: str) -> object:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "rust-toolchain.toml").write_bytes(encoded(text))
        (Path(folder) / "rust-toolchain").write_bytes(encoded(text))
        return programs.find("rust", {"HOME": folder, "PATH": ""}, None, Path(folder))


def _asked_for(text: str) -> object:
    """A package.json before and after a patch."""
    change = Change(
        before=Content(mode="100644", data=b"{}"), after=Content(mode="100644", data=encoded(text))
    )
    return unasked({"package.json": change})


def _syntax(text: str) -> object:
    """By one of the grammars; which one, the text decides."""
    known = [chain for chain in _toolchains() if chain.extensions]
    chain = known[zlib.crc32(encoded(text)) % len(known)]
    return chain.syntax_error(f"a{chain.extensions[0]}", encoded(text))


def _dockerfile(text: str) -> object:
    return dockerfile.fetched(text), dockerfile.first_image(text)


PARSERS = (
    *(
        Parser(name=name, feed=partial(_project, name, beside), samples=(text,), shape=shape, sound=inside)
        for name, text, beside, shape in MANIFESTS
    ),
    Parser(
        name="devcontainer.json",
        feed=_container,
        samples=(_CONTAINER, '{"build": {"dockerfile": "D"}}'),
        repeats=("/*", "//", ",\n", '"\\'),
        sound=inside,
    ),
    Parser(
        name="Dockerfile",
        feed=_dockerfile,
        samples=("FROM x\nADD \\\n# a\n a.txt /x\nRUN cat <<E\nE\n", "# escape=`\n"),
        repeats=("\\\n", "ADD ", "ONBUILD ", "<<", "<<'", "# \\", "a\\\\\n", "ADD a\\\n"),
    ),
    Parser(
        name="files that a task names",
        feed=_named,
        samples=("look at p/a.py, x/../p/a.py:12 and a.py.",),
        repeats=("a", "a.", "a/", "./", "/"),
        sound=inside,
    ),
    Parser(
        name="rust-toolchain", feed=_rust_channel, samples=('[toolchain]\nchannel = "1.80"\n', "stable\n")
    ),
    Parser(name="scripts of package.json", feed=_asked_for, samples=(_PACKAGE,), shape="json"),
    Parser(
        name="syntax",
        feed=_syntax,
        samples=("def f():\n    return 1\n", "fn main() {}\n"),
        repeats=("(", "f(", "<a>"),
    ),
)
