"""Distributions built from this checkout, and clean environments to install them into."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import site
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
EPOCH = "1700000000"
FOR_ALL = tempfile.gettempdir()  # a test's own folder is gone when it ends


def sources(target: Path) -> Path:
    """A copy of what the sdist is made of."""
    target.mkdir(parents=True)
    included = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"][
        "sdist"
    ]
    for name in included["include"]:
        place = ROOT / name.strip("/")
        if place.is_dir():
            shutil.copytree(
                place, target / place.name, ignore=shutil.ignore_patterns("__pycache__", ".*cache")
            )
        else:
            shutil.copy(place, target / place.name)
    return target


def build(tree: Path, target: Path) -> tuple[Path, Path]:
    """The sdist of a tree, and the wheel made of that sdist."""
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", target, tree],
        env={**os.environ, "SOURCE_DATE_EPOCH": EPOCH},
        check=True,
        capture_output=True,
    )
    (sdist,) = target.glob("*.tar.gz")
    (wheel,) = target.glob("*.whl")
    return sdist, wheel


@functools.cache
def snapshot() -> Path:
    """The sources as they are at first."""
    folder = Path(tempfile.mkdtemp(prefix="acr-dist-", dir=FOR_ALL))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return sources(folder / "tree")


@functools.cache
def built() -> tuple[Path, Path]:
    """The sdist and the wheel of these sources, built once."""
    return build(snapshot(), snapshot().parent / "dist")


def clean_environment(folder: Path) -> Path:
    """The programs of a new virtual environment, which has all packages of this one but acr."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    shared = folder / "shared"
    shared.mkdir()
    for place in map(Path, site.getsitepackages()):
        for entry in place.iterdir():
            ours = entry.name.startswith(("acr_cli", "__editable__", "_editable", "pip", "setuptools"))
            if not ours and entry.suffix != ".pth" and not (shared / entry.name).exists():
                (shared / entry.name).symlink_to(entry)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "shared.pth").write_text(f"{shared}\n")
    return folder / "bin"
