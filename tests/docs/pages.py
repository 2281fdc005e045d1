"""The documents of this repository, and the code blocks in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = (
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").glob("*.md")),
)
_FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """A fenced block. `tag` is all that follows the fence: "sh", "sh model", "toml config"."""

    page: str
    line: int
    tag: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in _FENCE.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        yield Block(page=page.name, line=line, tag=found[1].strip(), text=found[2])


def every(*tags: str, pages: tuple[Path, ...] = DOCS) -> list[Block]:
    """All blocks of these pages that have one of the tags."""
    return [block for page in pages for block in blocks(page) if block.tag in tags]


def without_code(text: str) -> str:
    """A page without its fenced and indented blocks. Pure."""
    return re.sub(r"(?m)^(?: {4}|\t).*$", "", _FENCE.sub("", text))
