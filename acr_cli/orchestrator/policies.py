"""The policies by name, wired with their voters."""

from __future__ import annotations

from collections.abc import Sequence

from acr_cli.errors import ConfigurationError
from acr_cli.orchestrator.acrouter import AcRouter
from acr_cli.orchestrator.ordered import Ordered
from acr_cli.orchestrator.voters import BUILTIN
from acr_cli.parts import load
from acr_cli.protocols import Policy, Voter

POLICIES = ("acrouter", "escalate", "fixed")


def open_policy(name: str, *, exploration: float, attempts: int, voters: Sequence[str] = ()) -> Policy:
    """A policy with the built-in voters and these further ones (entry points of `acr_cli.voters`).

    Raises: ConfigurationError."""
    ballot: list[Voter] = [load("voters", voter, BUILTIN)() for voter in dict.fromkeys((*BUILTIN, *voters))]
    if name == "acrouter":
        return AcRouter(ballot, exploration=exploration, attempts=attempts)
    if name in POLICIES:
        return Ordered(name, ballot, attempts=attempts)
    raise ConfigurationError(f"No policy is named {name!r}.", hint=f"Known: {', '.join(POLICIES)}.")
