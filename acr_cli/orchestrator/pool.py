"""The pool: which candidates may take part in a run."""

from __future__ import annotations

from collections.abc import Sequence

from acr_cli.errors import ConfigurationError
from acr_cli.records import Candidate


def pool(
    candidates: Sequence[Candidate],
    *,
    model: str | None = None,
    allow: Sequence[str] = (),
    exclude: Sequence[str] = (),
) -> tuple[Candidate, ...]:
    """The candidates after `--model`, `--allow` and `--exclude`, in their order. Pure.

    A name matches a candidate's id, its model with or without provider, or its family.

    Raises: ConfigurationError for a name that matches none, and when nothing is left."""
    known = ", ".join(c.id for c in candidates) or "none"
    for name in (*((model,) if model else ()), *allow):
        if not any(matches(c, name) for c in candidates):
            raise ConfigurationError(
                f"No model {name!r} is in the pool.", hint=f"Known: {known}. `acr models add` adds one."
            )
    if model:
        return tuple(c for c in candidates if matches(c, model))
    chosen = [c for c in candidates if not allow or any(matches(c, name) for name in allow)]
    left = tuple(c for c in chosen if not any(matches(c, name) for name in exclude))
    if not left:
        raise ConfigurationError("--allow and --exclude leave no model.", hint=f"Known: {known}.")
    return left


def matches(candidate: Candidate, name: str) -> bool:
    """Whether a name given by the user means this candidate. Pure."""
    plain = candidate.model.rsplit("/", 1)[-1]
    return name in {candidate.id, candidate.id.split("@")[0], candidate.model, plain, candidate.family} - {""}
