"""The pool: which candidates may take part in a run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fnmatch import fnmatchcase

from acr_cli.errors import ConfigurationError
from acr_cli.records import Candidate
from acr_cli.settings.keys import nearest


def pool(
    candidates: Sequence[Candidate],
    *,
    model: str | None = None,
    allow: Sequence[str] = (),
    exclude: Sequence[str] = (),
) -> tuple[Candidate, ...]:
    """The candidates after `--model`, `--allow` and `--exclude`, in their order. Pure.

    A name matches a candidate's id, its model with or without provider, or its family; `*` and `?` are
    wildcards. An exclusion also binds `--model`: it may come from the repository, which may always narrow.

    Raises: ConfigurationError for a name that matches none, and when nothing is left."""
    known = ", ".join(c.id for c in candidates) or "none"
    for name in (*((model,) if model else ()), *allow):
        if not any(matches(c, name) for c in candidates):
            raise ConfigurationError(
                f"No model {name!r} is in the pool{nearest(name, [c.id for c in candidates])}",
                hint=f"Known: {known}. `acr models add` adds one.",
            )
    wanted = (model,) if model else allow
    chosen = [c for c in candidates if not wanted or any(matches(c, name) for name in wanted)]
    left = tuple(c for c in chosen if not any(matches(c, name) for name in exclude))
    if not left:
        raise ConfigurationError("--model, --allow and --exclude leave no model.", hint=f"Known: {known}.")
    return left


def priced(candidates: Sequence[Candidate], cap: float) -> tuple[Candidate, ...]:
    """Those that a cap on cost (USD, `inf` for none) can bind: their price is known. Pure.

    Raises: ConfigurationError when none is left."""
    if math.isinf(cap):
        return tuple(candidates)
    left = tuple(c for c in candidates if c.price.known)
    if not left:
        names = " and ".join(c.id for c in candidates)
        raise ConfigurationError(
            f"{names} has no known price, and a run may cost at most ${cap:g}.",
            hint="Give it a price in config.toml, or lift the cap with --max-cost inf.",
        )
    return left


def matches(candidate: Candidate, name: str) -> bool:
    """Whether a name given by the user means this candidate. Pure."""
    plain = candidate.model.rsplit("/", 1)[-1]
    own = {candidate.id, candidate.id.split("@")[0], candidate.model, plain, candidate.family} - {""}
    return any(fnmatchcase(each, name) for each in own)
