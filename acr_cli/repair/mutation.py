"""One change to one span of a file, and what a mutator is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tree_sitter import Node

from acr_cli.repair.hints import Hints
from acr_cli.repair.source import Source


@dataclass(frozen=True, kw_only=True, slots=True)
class Mutation:
    """Replace the bytes from `start` to `end` by `text`."""

    path: str
    start: int
    end: int
    text: bytes
    kind: str
    weight: float  # (0, 1], against other mutations of the same kind at the same place
    line: int  # where it acts, from 1; suspicion is looked up there

    def apply(self, source: bytes) -> bytes:
        return source[: self.start] + self.text + source[self.end :]


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """What a mutator yields: a span by its first and last byte, the new text, and its weight in (0, 1]."""

    start: int
    end: int
    text: str
    weight: float = 1.0
    line: int = 0  # where it acts, when that is not where its span begins


def replace(node: Node, text: str, weight: float = 1.0) -> Proposal:
    """Put `text` in the place of a node."""
    return Proposal(start=node.start_byte, end=node.end_byte, text=text, weight=weight)


@dataclass(frozen=True, kw_only=True, slots=True)
class Mutator:
    """A kind of change, how often defects need it (see `rank`), and the function that proposes it."""

    kind: str
    prior: float
    propose: Callable[[Source, Node, Hints], Iterable[Proposal]]
