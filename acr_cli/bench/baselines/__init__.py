"""Policies of other people and of the textbook, each a player of its own; imported only when chosen.

A name is followed by a parameter after a colon where its class takes one: "ladder:10", "always:m3".
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from acr_cli.bench.player import Player
from acr_cli.errors import UsageError

_HERE = "acr_cli.bench.baselines"

BASELINES: Mapping[str, str] = {
    "always": f"{_HERE}.plain:Always",
    "random": f"{_HERE}.plain:Uniform",
    "dimension_best": f"{_HERE}.lookup:DimensionBest",
    "dimension_best_cost": f"{_HERE}.lookup:DimensionBestCost",
    "dimension_language_best": f"{_HERE}.lookup:DimensionLanguageBest",
    "thompson": f"{_HERE}.bandits:Thompson",
    "epsilon_greedy": f"{_HERE}.bandits:EpsilonGreedy",
    "cascade": f"{_HERE}.cascade:Cascade",
    "ladder": f"{_HERE}.ladder:Ladder",
    "knn": f"{_HERE}.text:Knn",
    "tfidf_logreg": f"{_HERE}.text:TfidfLogReg",
    "tfidf_mlp": f"{_HERE}.text:TfidfMlp",
    "linucb": f"{_HERE}.linear:LinUcb",
    "lints": f"{_HERE}.linear:LinTs",
    "frugalgpt": f"{_HERE}.frugalgpt:FrugalGpt",
    "automix": f"{_HERE}.automix:AutoMix",
    "litellm_bandit": f"{_HERE}.litellm_bandit:LitellmBandit",
}
"""By name, the class; every class can be made without arguments, but for `Always`."""

NOT_RUN: Mapping[str, str] = {
    "routellm_mf": "RouteLLM's matrix factorisation makes an OpenAI client when it is imported, and asks "
    "that provider for an embedding of every prompt; it chooses between two models only",
    "routellm_bert": "RouteLLM's classifier needs weights that are fetched over the network, and chooses "
    "between two models only",
}
"""Peers that do not take part, and why."""


def open_baseline(name: str) -> Player:
    """A new player by "NAME" or "NAME:PARAMETER".

    Raises: UsageError for an unknown name, a peer that does not run, or a parameter that does not fit."""
    base, colon, parameter = name.partition(":")
    if base in NOT_RUN:
        raise UsageError(f"The policy {base} does not run: {NOT_RUN[base]}.")
    if base not in BASELINES:
        raise UsageError(f"No policy is named {base!r}.", hint=f"Known: {', '.join(BASELINES)}.")
    module, _, attribute = BASELINES[base].partition(":")
    made = getattr(import_module(module), attribute)
    try:
        player: Player = made(parameter) if colon else made()
    except (TypeError, ValueError) as error:
        given = f"the parameter {parameter!r}" if colon else "no parameter"
        raise UsageError(f"The policy {base} cannot be made with {given}.") from error
    player.name = name
    return player
