"""The policies by name, wired with their voters."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from acr_cli.errors import ConfigurationError
from acr_cli.orchestrator.acrouter import AcRouter
from acr_cli.orchestrator.learned import VALUE_OF_SUCCESS, Learned
from acr_cli.orchestrator.mistakes import Mistakes, usual
from acr_cli.orchestrator.ordered import Ordered
from acr_cli.orchestrator.voters import BUILTIN
from acr_cli.parts import load
from acr_cli.protocols import Policy, Voter

POLICIES = ("learned", "acrouter", "escalate", "fixed")

_OF_THE_VOTE = ("prior", "posterior", "price")
"""Voters that `learned` does without: prior and outcomes are in its model, prices in its rule."""


def open_policy(
    name: str,
    *,
    exploration: float,
    voters: Sequence[str] = (),
    advisors: Sequence[Voter] = (),
    value_of_success: float = VALUE_OF_SUCCESS,
    value_of_hour: float = 0.0,
    mistakes: Callable[[str], Mistakes] = usual,
) -> Policy:
    """A policy with the built-in voters, these further ones (entry points of `acr_cli.voters`) and trained
    advisors. Values are in USD; `mistakes` gives the rates of a kind of verifier.

    Raises: ConfigurationError."""
    ballot: list[Voter] = [load("voters", voter, BUILTIN)() for voter in dict.fromkeys((*BUILTIN, *voters))]
    ballot += advisors
    if name == "learned":
        return Learned(
            [voter for voter in ballot if voter.name not in _OF_THE_VOTE],
            exploration=exploration,
            value_of_success=value_of_success,
            value_of_hour=value_of_hour,
            mistakes=mistakes,
        )
    if name == "acrouter":
        return AcRouter(ballot, exploration=exploration)
    if name in POLICIES:
        return Ordered(name, ballot)
    raise ConfigurationError(f"No policy is named {name!r}.", hint=f"Known: {', '.join(POLICIES)}.")
