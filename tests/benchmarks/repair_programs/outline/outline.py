"""Outlines: indented text as a tree, and back."""

from collections.abc import Iterator
from dataclasses import dataclass, field


class OutlineError(ValueError):
    """A line is indented by a wrong number of blanks."""


@dataclass
class Item:
    title: str
    children: list["Item"] = field(default_factory=list)

    def walk(self, depth: int = 0) -> Iterator[tuple[int, "Item"]]:
        """The item and all below it, with their depths."""
        yield depth, self
        for child in self.children:
            yield from child.walk(depth + 1)


def depth_of(line: str, width: int) -> int:
    """How many levels a line is indented."""
    blanks = len(line) - len(line.lstrip(" "))
    if blanks % width:
        raise OutlineError(f"{blanks} blanks are not a multiple of {width}")
    return blanks // width


def parse(text: str, width: int = 2) -> list[Item]:
    """The items of the first level, each with its children; blank lines do not count."""
    roots: list[Item] = []
    path: list[Item] = []
    for line in text.splitlines():
        title = line.strip()
        if not title:
            continue
        depth = depth_of(line.strip(), width)
        if depth > len(path):
            raise OutlineError(f"{title!r} is indented too far")
        item = Item(title)
        del path[depth:]
        siblings = path[-1].children if path else roots
        siblings.append(item)
        path.append(item)
    return roots


def render(items: list[Item], width: int = 2) -> str:
    lines = [" " * (width * depth) + item.title for root in items for depth, item in root.walk()]
    return "\n".join(lines)


def numbered(items: list[Item], prefix: str = "") -> list[str]:
    """Titles with numbers such as 2.1."""
    result = []
    for number, item in enumerate(items, start=1):
        label = f"{prefix}{number}"
        result.append(f"{label} {item.title}")
        result.extend(numbered(item.children, f"{label}."))
    return result
