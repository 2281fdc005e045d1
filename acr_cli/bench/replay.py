"""The protocol: a stream of tasks, up to K attempts each; verdicts and costs of what was tried, no more."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING

from acr_cli.bench.player import Player, Setting
from acr_cli.errors import UsageError
from acr_cli.matrix import Matrix
from acr_cli.records import Candidate, Choice, Context, Dimension, Outcome, Price, Usage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]
    Flags = NDArray[np.bool_]

UNVERIFIABLE = frozenset({Dimension.CODE_REFACTORING.value, Dimension.CODE_UNDERSTANDING.value})
"""Dimensions without an executable verifier: one attempt there."""

PASSES = 0.5
"""The score from which a verdict is "passed"."""

SECONDS_A_TASK = 60.0  # of the stream's clock, which only forgetting looks at

Dimensions = Callable[[str], str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rules:
    """What all players of a replay share."""

    attempts: int = 1
    false_accept: float = 0.0
    false_reject: float = 0.0
    shared_accepts: float = 0.0  # share of the false accepts that a task gives to every wrong answer
    dimension: str = "given"  # "given" | "inferred" | "none"
    infer: Dimensions | None = None  # text -> dimension, for "inferred"
    prices: Mapping[str, Price] = field(default_factory=dict)  # known beforehand, by model
    budget: float = float("inf")  # USD for the whole stream
    all_attempts: bool = False  # K attempts also where nothing can be executed
    vectors: Mapping[str, tuple[float, ...]] = field(default_factory=dict)  # of texts, where embedded
    embedder: str = ""  # the key of what made the vectors


@dataclass(frozen=True, kw_only=True, slots=True)
class Try:
    """One attempt, as it happened; indexes of the matrix."""

    task: int
    model: int
    passed: bool
    cost_usd: float
    propensity: float


class Log:
    """Attempts as columns of numbers: a long stream has millions of them."""

    def __init__(self) -> None:
        self.task, self.model, self.passed = array("q"), array("q"), array("b")
        self.cost_usd, self.propensity = array("d"), array("d")

    def append(self, task: int, model: int, *, passed: bool, cost_usd: float, propensity: float) -> None:
        self.task.append(task)
        self.model.append(model)
        self.passed.append(passed)
        self.cost_usd.append(cost_usd)
        self.propensity.append(propensity)

    def __len__(self) -> int:
        return len(self.task)

    def tries(self) -> list[Try]:
        columns = (self.task, self.model, self.passed, self.cost_usd, self.propensity)
        return [
            Try(task=task, model=model, passed=bool(passed), cost_usd=cost, propensity=propensity)
            for task, model, passed, cost, propensity in zip(*columns, strict=True)
        ]


@dataclass(frozen=True, kw_only=True, eq=False)
class Record:
    """What one player did with one stream; arrays of T in the order of the stream."""

    order: NDArray[np.int64]  # rows of the matrix
    answer: NDArray[np.int64]  # columns of the matrix; -1 for none
    score: Numbers  # true score of the answer
    cost: Numbers  # USD, sum of all attempts
    attempts: NDArray[np.int64]
    decisions: int
    seconds: float  # in `choose` and `learn`
    log: Log

    @property
    def tries(self) -> list[Try]:
        """Every attempt, in order; made when it is asked for."""
        return self.log.tries()


class Verifier:
    """Verdicts on a matrix: one draw a pair and a seed, the same for every player."""

    def __init__(self, matrix: Matrix, rules: Rules, seed: int) -> None:
        import numpy as np

        rng = np.random.default_rng([seed, 1])
        shape = matrix.score.shape
        right = matrix.score >= PASSES
        weak = rng.random((shape[0], 1)) < rules.false_accept * rules.shared_accepts
        draw = rng.random(shape)
        alone = rules.false_accept * (1 - rules.shared_accepts)
        alone /= max(1 - rules.false_accept * rules.shared_accepts, 1e-12)
        self.passed: Flags = np.where(right, draw >= rules.false_reject, weak | (draw < alone))


def replay(
    player: Player,
    matrix: Matrix,
    rules: Rules,
    *,
    seed: int,
    warm: Matrix | None = None,
    order: Sequence[int] | None = None,
    tick: Callable[[], None] = lambda: None,
) -> Record:
    """One stream, its order and the candidates' drawn from `seed`; `tick` is called once a task.

    Raises: UsageError when a player tries what is not there."""
    import numpy as np

    stream = _Stream(player, matrix, rules, seed, warm)
    rows = np.random.default_rng([seed, 2]).permutation(matrix.tasks) if order is None else np.asarray(order)
    answers, scores, costs, attempts = (np.zeros(len(rows), dtype) for dtype in ("i8", "f8", "f8", "i8"))
    for position, row in enumerate(rows):
        answers[position], costs[position], attempts[position] = stream.play(position, int(row))
        scores[position] = matrix.score[row, answers[position]] if answers[position] >= 0 else 0.0
        tick()
    return Record(
        order=rows,
        answer=answers,
        score=scores,
        cost=costs,
        attempts=attempts,
        decisions=stream.decisions,
        seconds=stream.seconds,
        log=stream.log,
    )


class _Stream:
    def __init__(self, player: Player, matrix: Matrix, rules: Rules, seed: int, warm: Matrix | None) -> None:
        self.player, self.matrix, self.rules = player, matrix, rules
        self.column = anonymous(matrix, seed)
        self.candidates = tuple(
            candidate(name, rules.prices.get(matrix.models[column])) for name, column in self.column.items()
        )
        self.passed = Verifier(matrix, rules, seed).passed
        self.rng = Random(seed)
        self.left = rules.budget
        self.decisions, self.seconds = 0, 0.0
        self.log = Log()
        self.there = matrix.available
        player.prepare(
            Setting(
                candidates=self.candidates,
                attempts=rules.attempts,
                warm=None if warm is None else _aligned(warm, matrix, self.column, rules),
                false_accept=rules.false_accept,
                false_reject=rules.false_reject,
                seed=seed,
                vectors=rules.vectors,
            )
        )

    def play(self, position: int, row: int) -> tuple[int, float, int]:
        """One task: the answer's column, what it cost, how many attempts."""
        there = self.there[row]
        candidates = tuple(c for c in self.candidates if there[self.column[c.id]])
        true_dimension = self.matrix.dimensions[row]
        limit = 1 if true_dimension in UNVERIFIABLE and not self.rules.all_attempts else self.rules.attempts
        context = replace(shown(self.matrix, self.rules, row), attempts=limit)
        cost = 0.0
        while context.attempts and self.left > 0 and (choice := self._choose(context, candidates)):
            column = self.column[choice.candidate]
            paid, passed = float(self.matrix.cost[row, column]), bool(self.passed[row, column])
            cost += paid
            self.left -= paid
            self._learn(
                context, self._outcome(position, context, choice, candidates, passed=passed, paid=paid)
            )
            self.log.append(row, column, passed=passed, cost_usd=paid, propensity=choice.propensity)
            context = replace(
                context, failed=(*context.failed, choice.candidate), attempts=context.attempts - 1
            )
            if passed:
                return column, cost, len(context.failed)
        if not context.failed:
            return -1, cost, 0
        return self.column[self.player.answer(context)], cost, len(context.failed)

    def _choose(self, context: Context, candidates: Sequence[Candidate]) -> Choice | None:
        started = time.perf_counter()
        choice = self.player.choose(context, candidates, self.rng)
        self.seconds += time.perf_counter() - started
        self.decisions += 1
        if choice and (
            choice.candidate in context.failed or all(c.id != choice.candidate for c in candidates)
        ):
            raise UsageError(f"The policy {self.player.name} chose {choice.candidate}, which is not there.")
        return choice

    def _learn(self, context: Context, outcome: Outcome) -> None:
        started = time.perf_counter()
        self.player.learn(context, outcome)
        self.seconds += time.perf_counter() - started

    def _outcome(
        self,
        position: int,
        context: Context,
        choice: Choice,
        candidates: Sequence[Candidate],
        *,
        passed: bool,
        paid: float,
    ) -> Outcome:
        forecast = choice.forecast(choice.candidate)
        number = len(context.failed) + 1
        return Outcome(
            id=f"{position}.{number}",
            run=str(position),
            step="1",
            attempt=number,
            time=position * SECONDS_A_TASK,
            text=context.text,
            vector=context.vector,
            embedder=context.embedder,
            kind=context.kind.value,
            dimension=context.dimension,
            language=context.language,
            repository="",
            candidate=choice.candidate,
            family="",
            price=Price(),
            available=tuple(c.id for c in candidates),
            failed_before=context.failed,
            policy=choice.policy,
            propensity=choice.propensity,
            verdict="passed" if passed else "failed",
            verifier=context.verifier,
            u=float(passed),
            signals=(),
            cost_usd=paid,
            usage=Usage(),
            seconds=0.0,
            votes=tuple((vote.voter, vote.value) for vote in forecast.votes) if forecast else (),
            p_success=forecast.p_success if forecast else None,
        )


def candidate(name: str, price: Price | None) -> Candidate:
    """A candidate that is nothing but its name and what the user says of its price. Pure."""
    return Candidate(id=name, backend="agent", model=name, price=price or Price())


def anonymous(matrix: Matrix, seed: int) -> dict[str, int]:
    """The names that policies know the models by, in the candidates' order, and their columns. Pure."""
    import numpy as np

    columns = np.random.default_rng([seed, 0]).permutation(len(matrix.models))
    return {f"m{place}": int(column) for place, column in enumerate(columns)}


def shown(matrix: Matrix, rules: Rules, row: int) -> Context:
    """What a policy sees of a task. Pure."""
    text = matrix.texts[row]
    vector = rules.vectors.get(text, ()) if text else ()
    return Context(
        text=text,
        vector=vector,
        embedder=rules.embedder if vector else "",
        dimension=shown_dimension(matrix.dimensions[row], text, rules),
        language=matrix.languages[row],
        repository="",
    )


def shown_dimension(given: str, text: str, rules: Rules) -> str:
    """A task's dimension as the policies are told it; "" for none. Pure."""
    if rules.dimension == "given":
        return given
    return rules.infer(text) if rules.dimension == "inferred" and rules.infer and text else ""


def _aligned(warm: Matrix, matrix: Matrix, column: Mapping[str, int], rules: Rules) -> Matrix:
    """The warm rows as the candidates see them: their names, their order, the dimensions that are shown."""
    import numpy as np
    import polars as pl

    place = {model: index for index, model in enumerate(warm.models)}
    if unknown := [model for model in matrix.models if model not in place]:
        raise UsageError(f"The warm splits know nothing of {', '.join(unknown)}.")
    columns = np.array([place[matrix.models[index]] for index in column.values()])
    dimensions = warm.dimensions
    if rules.dimension != "given":
        pairs = zip(warm.dimensions, warm.texts, strict=True)
        told = [shown_dimension(given, text, rules) for given, text in pairs]
        dimensions = pl.Series("dimension", told, dtype=pl.String)
    return replace(
        warm,
        models=tuple(column),
        score=warm.score[:, columns],
        cost=warm.cost[:, columns],
        dimensions=dimensions,
    )
