"""Which of the models that an advisor knows a candidate is."""

from __future__ import annotations

from collections.abc import Sequence

from acr_cli.orchestrator.prior import plain_name
from acr_cli.records import Candidate


def known_as(candidate: Candidate, known: Sequence[str]) -> str | None:
    """The candidate's own id, else the id without its effort, else the only name that is the same without
    provider, date and tag; None where there is none. Pure."""
    for name in (candidate.id, candidate.id.split("@")[0], candidate.model):
        if name and name in known:
            return name
    plain = plain_name(candidate.model or candidate.id.split("@")[0])
    same = [name for name in known if plain_name(name.split("@")[0]) == plain]
    return same[0] if len(same) == 1 else None
