"""What an installation of the repository would tell: read from its manifests, registered without a build."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from acr_cli.toolchains.python import Python
from acr_cli.toolchains.python_package import UNKNOWN, Package, command, read

MakeTree = Callable[[Mapping[str, str]], Path]

NAMED = '[project]\nname = "shop-kit"\n'
DYNAMIC = NAMED + 'dynamic = ["version"]\n'
SCM = DYNAMIC + "[tool.setuptools_scm]\n"
FLIT = '[tool.flit.metadata]\nmodule = "shop"\n'
CFG = "[metadata]\nname = shop\n"


@pytest.mark.parametrize(
    ("files", "name", "version"),
    [
        ({"pyproject.toml": NAMED + 'version = "1.2"\n'}, "shop-kit", "1.2"),
        ({"pyproject.toml": '[tool.poetry]\nname = "shop"\nversion = "3.1"\n'}, "shop", "3.1"),
        ({"setup.cfg": CFG + "version = 2.0\n"}, "shop", "2.0"),
        (
            {"setup.cfg": CFG + "version = attr: shop.__version__\n", "shop.py": "__version__ = '2.1'\n"},
            "shop",
            "2.1",
        ),
        ({"setup.cfg": CFG + "version = file: VERSION\n", "VERSION": "2.2\n"}, "shop", "2.2"),
        ({"setup.py": "from setuptools import setup\nsetup(name='shop', version='4')\n"}, "shop", "4"),
        (
            {
                "pyproject.toml": DYNAMIC
                + '[tool.setuptools.dynamic]\nversion = {attr = "shop.about.__version__"}\n',
                "src/shop/about.py": '__version__: str = "5.1"\n',
            },
            "shop-kit",
            "5.1",
        ),
        (
            {
                "pyproject.toml": DYNAMIC + '[tool.hatch.version]\npath = "lib/a.py"\n',
                "lib/a.py": '__version__ = "6"\n',
            },
            "shop-kit",
            "6",
        ),
        ({"pyproject.toml": DYNAMIC, "src/shop_kit/__init__.py": '__version__ = "7.0"\n'}, "shop-kit", "7.0"),
        ({"pyproject.toml": FLIT, "shop/__init__.py": '__version__ = "8"\n'}, "shop", "8"),
        ({"pyproject.toml": SCM + 'fallback_version = "1.6.0+x"\n'}, "shop-kit", "1.6.0+x"),
        ({"pyproject.toml": SCM}, "shop-kit", UNKNOWN),
    ],
)
def test_name_and_version_are_read_wherever_they_stand(
    tree: MakeTree, files: dict[str, str], name: str, version: str
) -> None:
    package = read(tree(files))
    assert package is not None
    assert (package.name, package.version, package.certain) == (name, version, version != UNKNOWN)


@pytest.mark.parametrize(
    "text", ["", "[project]\n", "[project]\nname = 3\n", "project = 1\n", "[project]\nname = '; rm'\n"]
)
def test_a_tree_without_a_name_is_no_distribution(tree: MakeTree, text: str) -> None:
    assert read(tree({"pyproject.toml": text})) is None


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            {"pyproject.toml": NAMED + '[project.scripts]\nshop = "shop.cli:main"\n'},
            {"console_scripts": {"shop": "shop.cli:main"}},
        ),
        (
            {"pyproject.toml": NAMED + '[project.entry-points.pytest11]\nshop = "shop.plugin"\n'},
            {"pytest11": {"shop": "shop.plugin"}},
        ),
        (
            {"pyproject.toml": '[tool.poetry]\nname = "s"\n[tool.poetry.plugins."a.b"]\nx = "s:y"\n'},
            {"a.b": {"x": "s:y"}},
        ),
        (
            {"setup.cfg": CFG + "[options.entry_points]\nconsole_scripts =\n    shop = shop:main\n"},
            {"console_scripts": {"shop": "shop:main"}},
        ),
        (
            {"setup.py": "setup(name='s', entry_points={'pytest11': ['s = s.plugin']})\n"},
            {"pytest11": {"s": "s.plugin"}},
        ),
    ],
)
def test_entry_points_are_read(
    tree: MakeTree, files: dict[str, str], expected: dict[str, dict[str, str]]
) -> None:
    assert (read(tree(files)) or Package(name="", version="")).entry_points == expected


@pytest.mark.parametrize(
    "files",
    [
        {"pyproject.toml": SCM + 'version_file = "src/shop/_version.py"\n', "src/shop/__init__.py": ""},
        {"pyproject.toml": SCM + 'write_to = "shop/_version.py"\n', "shop/__init__.py": ""},
        {"pyproject.toml": DYNAMIC + '[tool.hatch.build.hooks.vcs]\nversion-file = "shop/_version.py"\n'},
        {"setup.py": "setup(name='shop', use_scm_version={'write_to': 'shop/_version.py'})\n"},
    ],
)
def test_modules_that_a_build_writes_are_known(tree: MakeTree, files: dict[str, str]) -> None:
    root = tree(files)
    assert (read(root) or Package(name="", version="")).modules == ("shop._version",)
    (root / "src" if "src/shop/__init__.py" in files else root).joinpath("shop").mkdir(exist_ok=True)
    (root / "src" if "src/shop/__init__.py" in files else root).joinpath("shop/_version.py").write_text("")
    assert (read(root) or Package(name="", version="")).modules == ()


def test_nothing_is_registered_where_nothing_asks_for_it(tree: MakeTree) -> None:
    files = {"pyproject.toml": NAMED + 'version = "1"\n', "shop.py": "", "test_x.py": "def test_x(): pass\n"}
    assert command(tree(files)) == ("", ())


ASKS = """
from importlib.metadata import entry_points, metadata, version

import shop._version
from shop import name

def test_what_an_installation_tells():
    assert version("shop-kit") == shop._version.version == "1.2"
    assert metadata("shop-kit")["Project-URL"] == "Home, https://example.org"
    assert [point.load() for point in entry_points(group="shop.names")] == [name]
"""
WHOLE = (
    NAMED
    + 'version = "1.2"\n[project.urls]\nHome = "https://example.org"\n'
    + '[project.scripts]\nshop = "shop:main"\n[project.entry-points."shop.names"]\nfirst = "shop:name"\n'
    + '[tool.setuptools_scm]\nversion_file = "src/shop/_version.py"\n'
)
CODE = "def name(): pass\ndef main():\n    print('as a program')\n    return 3\n"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("environment") / "venv"
    make = [sys.executable, "-m", "venv", "--system-site-packages", "--without-pip", str(folder)]
    subprocess.run(make, check=True)
    return folder


def test_an_environment_tells_what_an_installation_would(tree: MakeTree, environment: Path) -> None:
    root = tree({"pyproject.toml": WHOLE, "src/shop/__init__.py": CODE, "test_x.py": ASKS})
    recipe = Python().recipe(root, setup=None)
    assert recipe is not None
    command = shlex.split(recipe.setup[-1])
    python = environment / "bin" / "python3"
    for _ in range(2):  # what is there already is replaced
        subprocess.run([python, *command[1:]], check=True, cwd="/")
    more = {"PYTHONPATH": f"src:{Path(pytest.__file__).parent.parent}"}
    tests = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    ran = subprocess.run(tests, cwd=root, env=more, capture_output=True, text=True, check=False)
    assert "1 passed" in ran.stdout, ran.stdout
    program = subprocess.run(
        [environment / "bin" / "shop"], cwd=root, env=more, capture_output=True, check=False
    )
    assert (program.stdout, program.returncode) == (b"as a program\n", 3)
