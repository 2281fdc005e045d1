"""Where the dependencies of a language without environments lie: one folder outside the tree.

The setup commands of a recipe find its path in `ACR_DEPENDENCIES` and fill it; the tests find it there again,
read-only. On this machine it is a cached folder a repository and lock file, unless the user has installed the
dependencies in the repository already: then these are taken, and nothing is downloaded.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

VARIABLE = "ACR_DEPENDENCIES"
IN_IMAGE = "/opt/acr-dependencies"
_DEPTH = 4  # folders below the root that are looked into
_LEFT_OUT = frozenset({".git", ".venv", "target", "build", "dist"})


def users(
    repository: Path | None, names: Sequence[str], environ: Mapping[str, str] | None = None
) -> tuple[Path, ...]:
    """The folders of these names in the user's own repository, the root's first; () without the root's.

    A name that begins with ~/ is a folder of the user's home (a package manager's own store)."""
    home = (environ or {}).get("HOME", "")
    stores = [Path(home, name[2:]) for name in names if name.startswith("~/") and home]
    if any(store.is_dir() for store in stores):
        return tuple(store for store in stores if store.is_dir())
    if repository is None or not any((repository / name).is_dir() for name in names):
        return ()
    found: list[Path] = []
    for folder, folders, _ in os.walk(repository.absolute()):
        here = Path(folder)
        found += [here / name for name in sorted(folders) if name in names and not (here / name).is_symlink()]
        deep = len(here.relative_to(repository.absolute()).parts) >= _DEPTH
        folders[:] = [] if deep else sorted(set(folders) - set(names) - _LEFT_OUT)
    return tuple(found)
