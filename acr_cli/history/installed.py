"""Whether the environment that the tests run with holds a copy of the repository's own code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path


def environments(environ: Mapping[str, str], root: Path) -> tuple[Path, ...]:
    """The Python environments that a sandbox on this machine may show to the tests."""
    named = environ.get("VIRTUAL_ENV")
    return tuple(place for place in (*([Path(named)] if named else []), root / ".venv") if place.is_dir())


def installed_copy(places: Sequence[Path], sources: Iterable[str]) -> Path | None:
    """The first file in one of these environments that is an installed copy of one of these sources."""
    for source in sources:
        name = source.removeprefix("src/")
        if not name.endswith(".py"):
            continue
        for place in places:
            found = (folder / name for folder in place.glob("lib*/python3*/site-packages"))
            if copy := next((path for path in found if path.is_file()), None):
                return copy
    return None
