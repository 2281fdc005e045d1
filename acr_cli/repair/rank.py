"""Which candidate comes first: suspicion of its place, prior of its kind, hints, size of the change.

score = suspicion^2 * prior * boost * weight * smallness. A kind that has had many candidates gives way to the
others, so that none starves.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import sqrt

from tree_sitter import Node

from acr_cli.repair.hints import Hints
from acr_cli.repair.mutation import Mutation, Mutator, Proposal
from acr_cli.repair.source import Source
from acr_cli.repair.suspects import Suspicion

FAIRNESS = 30.0  # candidates of one kind after which its score is halved against others
PLENTY = 40_000  # mutations of one file: far more than can be tried
AT_DEFINITION = 0.85  # suspicion of a definition's header, as a share of its body's


@dataclass(frozen=True, kw_only=True, slots=True)
class Ranked:
    """A mutation and its score; a higher one is tried earlier."""

    mutation: Mutation
    score: float
    base: float  # the score without the failures' hints: a passing candidate has explained them already


def propose(source: Source, suspicion: Suspicion, hints: Hints, mutators: Sequence[Mutator]) -> list[Ranked]:
    """Mutations of one file, at its most suspicious places first until there are plenty; unordered."""
    found: dict[tuple[int, int, bytes], Ranked] = {}
    places = _Places(source, suspicion)
    doubtful = [(doubt, node) for node in source.nodes if (doubt := places.of(node)) > 0.0]
    # Stable: equally suspicious nodes stay in the order of the source.
    doubtful.sort(key=lambda entry: -entry[0])
    for doubt, node in doubtful:
        if len(found) >= PLENTY:
            break
        for mutator in mutators:
            for proposal in mutator.propose(source, node, hints):
                ranked = _ranked(source, mutator, proposal, hints, doubt)
                key = (ranked.mutation.start, ranked.mutation.end, ranked.mutation.text)
                if key not in found or found[key].score < ranked.score:
                    found[key] = ranked
    unchanged = [key for key in found if source.text[key[0] : key[1]] == key[2]]
    for key in unchanged:
        del found[key]
    return list(found.values())


def _ranked(source: Source, mutator: Mutator, proposal: Proposal, hints: Hints, doubt: float) -> Ranked:
    text = proposal.text.encode()
    line = proposal.line or source.text.count(b"\n", 0, proposal.start) + 1
    mutation = Mutation(
        path=source.path,
        start=proposal.start,
        end=proposal.end,
        text=text,
        kind=mutator.kind,
        weight=proposal.weight,
        line=line,
    )
    base = doubt**2 * mutator.prior * proposal.weight * smallness(source.text, mutation)
    return Ranked(mutation=mutation, score=base * hints.boost(mutator.kind), base=base)


WHOLE_PATTERNS = frozenset(
    {"guard", "shared_default", "base_call", "shared", "capture", "import", "insert", "move", "swap"}
)
"""Kinds whose change is one idea however many characters it takes."""


def smallness(text: bytes, mutation: Mutation) -> float:
    """(0, 1]: 1 for a change of nothing, falling slowly with the characters that go and come."""
    size = changed_bytes(text, mutation)
    if mutation.kind in WHOLE_PATTERNS:
        size = min(size, 25)
    return 1.0 / (1.0 + sqrt(size) / 20.0)


def changed_bytes(text: bytes, mutation: Mutation) -> int:
    """Bytes removed plus bytes added, without what the old and the new text have in common at their ends."""
    old, new = text[mutation.start : mutation.end], mutation.text
    limit = min(len(old), len(new))
    head = 0
    while head < limit and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < limit - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return len(old) + len(new) - 2 * (head + tail)


class _Places:
    """Suspicion of nodes: that of their statement's header, and for definitions a share of their body's."""

    def __init__(self, source: Source, suspicion: Suspicion) -> None:
        self.source = source
        self.suspicion = suspicion
        self._statements: dict[int, float] = {}
        self._used = self._names_in_doubt()

    def of(self, node: Node) -> float:
        statement = self.source.statement_of(node)
        known = self._statements.get(statement.id)
        if known is None:
            known = self._statements[statement.id] = self._statement(statement)
        if node.type in self.source.table.blocks and node.named_children:
            return max(known, self.of(node.named_children[-1]))
        return known

    def _statement(self, statement: Node) -> float:
        source, t = self.source, self.source.table
        if statement.type in t.functions | t.classes | t.decorated:
            body = range(statement.start_point.row + 2, statement.end_point.row + 2)
            return AT_DEFINITION * self.suspicion.of(source.path, body)
        doubt = self.suspicion.of(source.path, source.header_lines(statement))
        if statement.type in ("else_clause", "finally_clause", "elif_clause", "try_statement"):
            if doubt or statement.parent is None:
                return doubt
            # The statement around it itself, not its last block, which may be the very one asked about.
            return 0.8 * self._statement(source.statement_of(statement.parent))
        if source.function_of(statement) is None and doubt:
            # Module and class level runs at import: it counts by who uses what it binds.
            bound = [source.of(n) for n in _leaves(statement) if n.type in t.identifiers]
            return max([doubt, *(0.7 * self._used.get(name, 0.0) for name in bound[:1])])
        return doubt

    def _names_in_doubt(self) -> dict[str, float]:
        """Names to the highest suspicion of a line inside functions that mentions them."""
        used: dict[str, float] = {}
        for node in self.source.nodes:
            if node.type in self.source.table.identifiers and self.source.function_of(node) is not None:
                doubt = self.suspicion.of(self.source.path, (node.start_point.row + 1,))
                name = self.source.of(node)
                if doubt > used.get(name, 0.0):
                    used[name] = doubt
        return used


def _leaves(node: Node) -> Iterator[Node]:
    stack = [node]
    while stack:
        top = stack.pop()
        if not top.named_children:
            yield top
        stack.extend(reversed(top.named_children))


def interleave(candidates: Iterable[Ranked]) -> Iterator[Ranked]:
    """Best first, but a kind loses ground with every candidate that it has had. Deterministic."""
    queues: dict[str, list[Ranked]] = {}
    for ranked in candidates:
        queues.setdefault(ranked.mutation.kind, []).append(ranked)
    heap = []
    for kind, queue in queues.items():
        queue.sort(key=lambda r: (r.score, -r.mutation.start, r.mutation.text))
        heap.append((-queue[-1].score, kind, 0))
    heapq.heapify(heap)
    while heap:
        _, kind, had = heapq.heappop(heap)
        queue = queues[kind]
        yield queue.pop()
        if queue:
            heapq.heappush(heap, (-queue[-1].score / (1.0 + (had + 1) / FAIRNESS), kind, had + 1))
