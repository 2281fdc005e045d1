"""Providers found by their key and servers found on this machine: proposed, and used once accepted."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from acr_cli.cli.terminal import clean, confirmed
from acr_cli.settings import Settings

if TYPE_CHECKING:
    from acr_cli.models.catalogue import Found
    from acr_cli.records import Price
    from acr_cli.settings import ModelEntry


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """One provider that could be used, and a sentence on what that would mean."""

    name: str  # as in Settings.providers
    says: str
    evidence: str = ""  # the variable that holds the key, or the URL that answers
    models: tuple[ModelEntry, ...] = ()
    prices: tuple[Price, ...] = ()  # one a model


def found(settings: Settings) -> tuple[Proposal, ...]:
    """What could be accepted; local servers are asked, nothing leaves this machine."""
    from acr_cli import build

    return tuple(
        Proposal(
            name=each.provider,
            says=_sentence(each),
            evidence=each.evidence,
            models=each.models,
            prices=each.prices,
        )
        for each in build.detect(settings)
    )


def _sentence(each: Found) -> str:
    models = []
    for model, price in zip(each.models, each.prices, strict=True):
        cost = f" ({price.input:g}/{price.output:g})" if price.known and not price.per_second else ""
        models.append(f"{model.id}{cost}")
    source = "answers on this machine" if "://" in each.evidence else f"has a key in {each.evidence}"
    return f"{each.provider} {source}: {', '.join(models)}."


def accept(proposals: Sequence[Proposal], file: Path, *, yes: bool = False) -> tuple[str, ...]:
    """Ask about each proposal, or take all with `yes`; the answer is written to the config file."""
    accepted = []
    for proposal in proposals:
        sys.stderr.write(f"{clean(proposal.says)} Prices are USD per million tokens in/out.\n")
        if yes or confirmed(f"Let acr send your code to {proposal.name}?"):
            accepted.append(proposal.name)
    if proposals:
        from acr_cli.cli.edit_config import accept_providers

        accept_providers(file, accepted)  # none of them: an empty list, so that the question is settled
    return tuple(accepted)
