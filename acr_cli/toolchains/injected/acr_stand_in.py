"""Runs once where dependencies are installed: stands in for the installation of the repository itself.

The tests import the repository's code from the tree, so nothing of it is installed but what only an
installation gives: metadata (name, version, entry points, scripts), and modules that a build would have
generated. These are found last, so that one in the tree wins. A release of the same name that a dependency
has brought along gives way, unless the tree does not say what version it is.
Standard library only; its one argument is JSON: name, version, header [[field, value]], entry_points
{group: {name: target}}, certain (whether the tree says its version), modules (dotted names).
"""
# Relative paths as text are what it works on.
# ruff: noqa: PTH101, PTH103, PTH110, PTH118, PTH119, PTH120, PTH123

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import sysconfig
from importlib import metadata
from typing import Any

FINDER = """\
import os
import sys


class Generated:
    base = os.path.join(os.path.dirname(os.path.abspath(__file__)), "acr_generated")

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        file = os.path.join(cls.base, *name.split(".")) + ".py"
        if not os.path.isfile(file):
            return None
        from importlib.util import spec_from_file_location

        return spec_from_file_location(name, file)


sys.meta_path.append(Generated)
"""
MODULE = """\
__version__ = version = {version!r}
__version_tuple__ = version_tuple = {numbers!r}
__commit_id__ = commit_id = None
"""
SCRIPT = """\
#!{python}
import sys
from {module} import {first}

sys.exit({function}())
"""


def write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as handle:
        handle.write(text)


def register(packages: str, given: dict[str, Any]) -> None:
    """The metadata of the distribution, and its scripts."""
    name, version = given["name"], given["version"]
    folder = os.path.join(packages, f"{name.replace('-', '_')}-{version}.dist-info")
    header = [("Metadata-Version", "2.1"), ("Name", name), ("Version", version), *given["header"]]
    text = "".join(f"{key}: {' '.join(value.split())}\n" for key, value in header)
    write(os.path.join(folder, "METADATA"), text)
    write(os.path.join(folder, "INSTALLER"), "acr\n")
    lines = []
    for group, entries in given["entry_points"].items():
        lines.append(f"[{group}]")
        lines += [f"{entry} = {target}" for entry, target in entries.items()]
    write(os.path.join(folder, "entry_points.txt"), "\n".join([*lines, ""]))
    for script, target in given["entry_points"].get("console_scripts", {}).items():
        module, _, function = target.partition("[")[0].strip().partition(":")
        path = os.path.join(sysconfig.get_path("scripts"), os.path.basename(script))
        if function and not os.path.exists(path):
            first = function.partition(".")[0]
            text = SCRIPT.format(python=sys.executable, module=module, function=function, first=first)
            write(path, text)
            os.chmod(path, 0o755)  # noqa: S103 - a program


def installed(name: str) -> str | None:
    """The version of a distribution, None where there is none."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def forget(packages: str, name: str) -> None:
    """Removes the metadata of a release that is installed in this environment; its code stays."""
    for found in metadata.distributions(name=name, path=[packages]):
        folder = str(getattr(found, "_path", ""))
        if os.path.dirname(folder) == packages and folder.endswith(".dist-info"):
            shutil.rmtree(folder, ignore_errors=True)


def generate(packages: str, modules: list[str], version: str) -> None:
    """The modules of a build, and the hook that finds them."""
    release = re.match(r"\d+(?:\.\d+)*", version)
    numbers = tuple(int(part) for part in release.group().split(".")) if release else ()
    source = MODULE.format(version=version, numbers=numbers)
    for name in modules:
        write(os.path.join(packages, "acr_generated", *name.split(".")) + ".py", source)
    write(os.path.join(packages, "acr_generated_finder.py"), FINDER)
    write(os.path.join(packages, "acr_generated.pth"), "import acr_generated_finder\n")


def main() -> None:
    given = json.loads(sys.argv[1])
    packages = sysconfig.get_path("purelib")
    version = installed(given["name"])
    if version is None or given["certain"]:
        version = given["version"]
        forget(packages, given["name"])
        register(packages, given)
    if given["modules"]:
        generate(packages, given["modules"], version)


if __name__ == "__main__":
    main()
