"""Players of a replay by name: the product's own policies, adapted, and the baselines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from acr_cli.errors import UsageError
from acr_cli.orchestrator.policies import POLICIES
from acr_cli.records import Candidate

if TYPE_CHECKING:
    from acr_cli.bench.player import Player, Setting
    from acr_cli.matrix import Matrix
    from acr_cli.orchestrator.prior import Prior, Rates
    from acr_cli.protocols import Policy, Voter

Make = Callable[["Matrix", int], "Player"]
"""(matrix, seed) -> a player for that one stream."""

EXPLORATION = 0.05  # the default of the setting
CURVE = ("0.1", "0.5", "1", "2", "5", "10", "20", "50", "100")
"""The lambdas, in score per USD, that stand for a ladder's curve."""

NEUTRAL = 0.5


def own(name: str) -> bool:
    """Whether a policy is the product's. Pure."""
    return name.partition(":")[0] in POLICIES


def subjects_of(names: Sequence[str]) -> list[str]:
    """The policies that are compared with all others: the product's, else the first. Pure."""
    return [name for name in names if own(name)] or list(names[:1])


def default_policies(matrix: Matrix, warm: Matrix | None) -> tuple[str, ...]:
    """All that may take part: `always` once a model, the ladder as a curve. `fixed` stays out: the order of a
    pool of anonymous models means nothing."""
    from acr_cli.bench.baselines import BASELINES

    ours = [name for name in POLICIES if name != "fixed"]
    names: list[str] = sorted(ours, key=lambda name: name != "learned")
    for name in BASELINES:
        if name == "always":
            names += [f"always:{model}" for model in matrix.models]
        elif name == "ladder" and warm is not None:
            names += [f"ladder:{lam}" for lam in CURVE]
        else:
            names.append(name)
    return tuple(names)


def expanded(names: Sequence[str], matrix: Matrix) -> tuple[str, ...]:
    """Names as a user gives them: `always` stands for every model, `ladder` for its curve. Pure."""
    found: list[str] = []
    for name in names:
        if name == "always":
            found += [f"always:{model}" for model in matrix.models]
        elif name == "ladder":
            found += [f"ladder:{lam}" for lam in CURVE]
        else:
            found.append(name)
    return tuple(dict.fromkeys(found))


def make_player(name: str, *, half_life: float | None) -> Make:
    """How a policy's player is made. `half_life` in tasks.

    Raises: UsageError, also when it is called, for what cannot take part."""
    if own(name):
        return _adapted(name, half_life)
    from acr_cli.bench.baselines import BASELINES, NOT_RUN, open_baseline
    from acr_cli.bench.replay import anonymous

    kind, _, parameter = name.partition(":")
    if kind not in BASELINES and kind not in NOT_RUN:
        raise UsageError(
            f"No policy is named {kind!r}.", hint=f"Known: {', '.join((*POLICIES, *BASELINES))}."
        )

    def make(matrix: Matrix, seed: int) -> Player:
        if kind != "always":
            return open_baseline(name)
        if parameter not in matrix.models:
            known = ", ".join(matrix.models)
            raise UsageError(f"The matrix has no model {parameter!r}.", hint=f"It has {known}.")
        column = matrix.models.index(parameter)
        hidden = next(id_ for id_, place in anonymous(matrix, seed).items() if place == column)
        player = open_baseline(f"always:{hidden}")
        player.name = name
        return player

    return make


def _adapted(name: str, half_life: float | None) -> Make:
    from acr_cli.bench.adapted import Adapted
    from acr_cli.bench.replay import SECONDS_A_TASK
    from acr_cli.memory.encoding import gains_of

    seconds = half_life * SECONDS_A_TASK if half_life else None

    def make(_matrix: Matrix, _seed: int) -> Player:
        return Adapted(
            name,
            lambda setting: _policy(name, setting),
            half_life=seconds,
            gains=gains_of,
            rows=name.partition(":")[0] == "learned",
        )

    return make


def _policy(name: str, setting: Setting) -> Policy:
    """A policy whose prior knows the warm rows and nothing that was published."""
    from acr_cli.orchestrator.acrouter import AcRouter
    from acr_cli.orchestrator.learned import VALUE_OF_SUCCESS, Learned
    from acr_cli.orchestrator.mistakes import Mistakes
    from acr_cli.orchestrator.ordered import Ordered
    from acr_cli.orchestrator.voters.neighbours import NeighbourVoter
    from acr_cli.orchestrator.voters.posterior import PosteriorVoter
    from acr_cli.orchestrator.voters.price import PriceVoter
    from acr_cli.orchestrator.voters.prior import PriorVoter

    rates = rates_of(setting.warm)
    kind, _, value = name.partition(":")
    if kind == "learned":
        stated = Mistakes(false_accept=setting.false_accept, false_reject=setting.false_reject)
        return Learned(
            [NeighbourVoter()],
            exploration=EXPLORATION,
            value_of_success=_value(value) if value else VALUE_OF_SUCCESS,
            mistakes=lambda _: stated,
            rates=rates,
        )
    ballot: list[Voter] = [PriorVoter(rates), NeighbourVoter(), PosteriorVoter(rates), PriceVoter()]
    if name == "acrouter":
        return AcRouter(ballot, exploration=EXPLORATION)
    return Ordered(name, ballot)


def _value(text: str) -> float:
    """The parameter of `learned:USD`. Raises: UsageError."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise UsageError(f"learned takes a value of success in USD, not {text!r}.", hint="Like: learned:0.5")
    return value


def rates_of(warm: Matrix | None) -> Rates:
    """What is expected of a candidate before the stream: its mean score over the warm rows of the dimension,
    or over all of them where they do not know it; without warm rows the same of everybody."""
    import numpy as np

    from acr_cli.orchestrator.prior import Prior

    if warm is None:
        return lambda _candidate, _dimension: Prior(value=NEUTRAL, note="nothing is known")
    labels = warm.dimensions.to_numpy()
    groups = {label: labels == label for label in sorted(set(labels))}
    groups[None] = np.ones(warm.tasks, dtype=bool)
    table = {
        (label, model): float(np.nan_to_num(np.nanmean(warm.score[rows, column]), nan=NEUTRAL))
        for label, rows in groups.items()
        for column, model in enumerate(warm.models)
        if warm.available[rows, column].any()
    }

    def rate(candidate: Candidate, dimension: str) -> Prior:
        known = table.get((dimension, candidate.id), table.get((None, candidate.id), NEUTRAL))
        return Prior(value=known, note="mean of the warm rows")

    return rate
