"""The voters' weights, learned from outcomes: the published ones are the start, not the end.

Exponentiated gradient on the logarithmic loss with rate 1 (Vovk 1990; Freund and Schapire 1997), in its form
for experts that may be silent (Freund et al. 1997): a voter's weight is multiplied by p_voter / p_all for
what then happened, whenever it had voted. So a weight is its start times the exponential of a sum over
outcomes, and the same whether it was learned online or summed up from memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from acr_cli.protocols import Voter

_START = {"trait": 1.5, "neighbours": 1.2}
"""Of the released router v4.5 (arXiv 2606.22902); the trait takes the place of its strongest voter."""


def weights(
    voters: Sequence[str], gains: Mapping[str, float], start: Mapping[str, float]
) -> dict[str, float]:
    """Each voter's share, positive and summing to 1. Pure.

    `gains` is the sum of log p_voter - log p_all by voter, `start` the weights before anything was learnt."""
    logs = np.array([np.log(start[name]) + gains.get(name, 0.0) for name in voters])
    shares = np.exp(logs - logs.max())
    shares = np.maximum(shares / shares.sum(), 1e-6)
    return dict(zip(voters, (shares / shares.sum()).tolist(), strict=True))


def starts(voters: Sequence[Voter]) -> dict[str, float]:
    """What each voter weighs before anything was learned, the trait included. Pure."""
    given = {voter.name: voter.weight for voter in voters}
    return {**given, **{name: _START[name] for name in _START if name in given or name == "trait"}}
