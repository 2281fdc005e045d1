"""How the dependencies of a JavaScript repository are installed: by its lock file, without its own scripts.

The manifests alone are there when this runs, so a script of the repository itself (`prepare`, `postinstall`)
could only fail; those of the packages are run afterwards, and one that fails is left out.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from acr_cli.toolchains import trees
from acr_cli.toolchains.python_detect import read_text
from acr_cli.toolchains.python_tables import matches
from acr_cli.toolchains.tables import table

_KINDS = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")
_MANIFESTS = [
    *("package.json", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "pnpm-workspace.yaml"),
    *("yarn.lock", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", "*.patch"),
]
_OF_YARN = ("releases", "plugins", "patches")


def commands(tree: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The manifests, and what installs from them into `$ACR_DEPENDENCIES`; () where nothing is needed."""
    files = [path for path in trees.walk(tree) if matches(path.rpartition("/")[2], _MANIFESTS)]
    manifests = [path for path in files if path.endswith("package.json")]
    files += [p.relative_to(tree).as_posix() for p in sorted(tree.glob(".yarn/*")) if p.name in _OF_YARN]
    needed = [m for m in manifests if any(trees.load_json(tree, m).get(kind) for kind in _KINDS)]
    if not needed:
        return tuple(files), ()
    folders = sorted({m.rpartition("/")[0] for m in needed})
    roots = [""] if (tree / "package.json").is_file() else folders
    made = ['cp -R . "$ACR_DEPENDENCIES"']
    for root in roots:
        install = _install(tree / root)
        inside = f"cd {_inside(root)}"
        made.append(f"{inside} && {install}")
        # It runs the scripts of the installed packages, and nothing of the repository's own.
        made += [f"{inside} && npm rebuild || true"] if install.startswith("npm ") else []
    return tuple(files), tuple(made)


def _inside(folder: str) -> str:
    return f'"$ACR_DEPENDENCIES"/{shlex.quote(folder)}' if folder else '"$ACR_DEPENDENCIES"'


def _install(folder: Path) -> str:
    known = table("javascript")
    lock_text = read_text(folder, "yarn.lock") if (folder / "yarn.lock").is_file() else ""
    if (folder / ".yarnrc.yml").is_file() or "\n__metadata:" in f"\n{lock_text}":
        berry = known["yarn_berry"]
        return str(berry["command"]).replace("{version}", _version(folder, "yarn") or berry["version"])
    for rule in known["install"]:
        if not rule["lock"] or (folder / rule["lock"]).is_file():
            version = _version(folder, rule["manager"]) or rule["version"]
            return str(rule["command"]).replace("{version}", version)
    raise AssertionError("the last rule of the table fits every folder")


def _version(folder: Path, manager: str) -> str:
    """What `packageManager` says, else what pnpm's lock file implies."""
    named = str(trees.load_json(folder, "package.json").get("packageManager", ""))
    found = re.match(rf"{manager}@(\d+(?:\.\d+)*)", named)
    if found:
        return found.group(1)
    if manager == "pnpm":
        lock = re.search(
            r"^lockfileVersion:\s*['\"]?(\d+)", read_text(folder, "pnpm-lock.yaml"), re.MULTILINE
        )
        return {"5": "7", "6": "8"}.get(lock.group(1), "") if lock else ""
    return ""
