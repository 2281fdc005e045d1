"""What a repository asks of those who change it: its AGENTS.md and CONTRIBUTING, cut to what is needed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from acr_cli.agent.sight import Sight

_AGENTS = "AGENTS.md"
_CONTRIBUTING = re.compile(r"(\.github/|docs/)?CONTRIBUTING(\.md|\.rst|\.txt)?", re.IGNORECASE)
_HEADING = re.compile(r"^#{1,6}\s+(.+)$", re.MULTILINE)
_ABOUT_CODE = re.compile(
    r"styl|convention|format|lint|test|code|commit|naming|typing|guideline", re.IGNORECASE
)
_ROOM = 4_000  # characters of all together
_LEAST = 200  # characters; less says nothing


def conventions(sight: Sight, files: Sequence[str], near: Iterable[str], *, room: int = _ROOM) -> str:
    """The repository's own words on how its code is to be written, at most `room` characters; "" for none.

    The AGENTS.md of the root and of the folders around the files in `near`, the nearest last; of a
    CONTRIBUTING the sections about code and tests."""
    there = set(files)
    folders = {parent for path in near for parent in PurePosixPath(path).parents}
    places = sorted({PurePosixPath("."), *folders}, key=lambda folder: (len(folder.parts), str(folder)))
    agents = [name for folder in places if (name := str(folder / _AGENTS)) in there]
    guides = [path for path in files if _CONTRIBUTING.fullmatch(path)][:1]
    parts = []
    for path in (*agents, *guides):
        text = sight.quietly(path).strip()
        text = about_code(text) if path in guides else text
        left = min(room, _ROOM // 2 if path in guides else _ROOM)
        if not text or left < _LEAST:
            continue
        shown = text if len(text) <= left else text[:left].rpartition("\n")[0] + "\n[...]"
        parts.append(f"{path}:\n{shown}")
        room -= len(shown)
    return "\n\n".join(parts)


def about_code(text: str) -> str:
    """The sections of a text whose headings speak of code or tests; "" where none does. Pure."""
    headings = list(_HEADING.finditer(text))
    ends = [*(heading.start() for heading in headings[1:]), len(text)]
    return "\n".join(
        text[heading.start() : end].strip()
        for heading, end in zip(headings, ends, strict=False)
        if _ABOUT_CODE.search(heading.group(1))
    )
