"""A policy of the product as a player: it is handed what memory would know, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from acr_cli.bench.player import Setting
from acr_cli.bench.rows import tallies_of
from acr_cli.bench.tallies import Gains, Tallies
from acr_cli.matrix import Matrix
from acr_cli.protocols import Policy
from acr_cli.records import Candidate, Choice, Context, Neighbour, Outcome

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NEAREST = 10
THRESHOLD = 0.5
"""As memory hands neighbours out (arXiv 2606.22902): so many, of at least this cosine."""

PASSES = 0.5  # the score from which a warm row counts as passed


@runtime_checkable
class Answering(Protocol):
    """A policy that says itself which of its rejected attempts to hand in."""

    def answer(self, context: Context, candidates: Sequence[Candidate]) -> str: ...


class Adapted:
    """Implements `player.Player` around a policy that `make` opens for a setting.

    Tallies are the outcomes of this stream, with `rows` after those of the warm rows. Neighbours are there
    where texts were embedded: the nearest of the warm rows (each with all of its models) and of the stream's
    own outcomes. The answer, where nothing
    was accepted, is the policy's own (`answer`), else the tried candidate that it had thought likeliest when
    it first had an opinion on the task, else the last."""

    def __init__(
        self,
        name: str,
        make: Callable[[Setting], Policy],
        *,
        half_life: float | None = None,
        gains: Gains = lambda _: {},
        rows: bool = False,
    ) -> None:
        self.name = name
        self._rows = rows
        self._make = make
        self._half_life = half_life
        self._gains = gains

    def prepare(self, setting: Setting) -> None:
        self._policy = self._make(setting)
        self._tallies = Tallies(half_life=self._half_life, gains=self._gains)
        self._near = _Nearest(setting) if setting.vectors else None
        self._expected: dict[str, float] = {}
        self._candidates: Sequence[Candidate] = ()
        self._warm = tallies_of(setting.warm, setting.attempts) if setting.warm and self._rows else ()

    def choose(self, context: Context, candidates: Sequence[Candidate], rng: Random) -> Choice | None:
        if not context.failed:
            self._expected = {}
        self._candidates = candidates
        known = self._known(context)
        choice = self._policy.choose(known, candidates, rng)
        for forecast in choice.forecasts if choice else ():
            self._expected.setdefault(forecast.candidate, forecast.p_success)
        return choice

    def learn(self, context: Context, outcome: Outcome) -> None:
        self._tallies.count(outcome)
        if self._near and context.vector:
            self._near.add(context.vector, (_neighbour(outcome),))

    def answer(self, context: Context) -> str:
        if isinstance(self._policy, Answering):
            return self._policy.answer(self._known(context), self._candidates)
        # Of equals the last: the policy has gone on to it knowing more.
        return max(reversed(context.failed), key=lambda name: self._expected.get(name, -1.0))

    def _known(self, context: Context) -> Context:
        near = self._near.of(context.vector) if self._near and context.vector else ()
        return replace(context, tallies=self._warm + self._tallies.now(), neighbours=near)


class _Nearest:
    """Exact search by cosine over unit vectors; an entry is one past task or outcome."""

    def __init__(self, setting: Setting) -> None:
        import numpy as np

        size = len(next(iter(setting.vectors.values())))
        self._vectors: NDArray[np.float32] = np.empty((1024, size), np.float32)
        self._entries: list[tuple[Neighbour, ...]] = []
        if setting.warm is not None:
            for row, text in enumerate(setting.warm.texts):
                if vector := setting.vectors.get(text):
                    self.add(vector, tuple(_of_row(setting.warm, row)))

    def add(self, vector: Sequence[float], entry: tuple[Neighbour, ...]) -> None:
        import numpy as np

        count = len(self._entries)
        if count == len(self._vectors):
            self._vectors = np.concatenate([self._vectors, np.empty_like(self._vectors)])
        self._vectors[count] = vector
        self._entries.append(entry)

    def of(self, vector: Sequence[float]) -> tuple[Neighbour, ...]:
        """The neighbours in the nearest entries, nearest first."""
        import numpy as np

        count = len(self._entries)
        cosine = self._vectors[:count] @ np.asarray(vector, np.float32)
        nearest = np.argsort(-cosine, kind="stable")[:NEAREST]
        return tuple(
            replace(neighbour, similarity=float(cosine[place]))
            for place in nearest
            if cosine[place] >= THRESHOLD
            for neighbour in self._entries[place]
        )


def _neighbour(outcome: Outcome) -> Neighbour:
    return Neighbour(
        id=outcome.id,
        similarity=0.0,
        candidate=outcome.candidate,
        passed=outcome.passed,
        u=outcome.u,
        cost_usd=outcome.cost_usd,
    )


def _of_row(warm: Matrix, row: int) -> list[Neighbour]:
    there = warm.available[row]
    return [
        Neighbour(
            id=f"warm.{row}.{model}",
            similarity=0.0,
            candidate=model,
            passed=bool(warm.score[row, column] >= PASSES),
            u=float(warm.score[row, column]),
            cost_usd=float(warm.cost[row, column]),
        )
        for column, model in enumerate(warm.models)
        if there[column]
    ]
