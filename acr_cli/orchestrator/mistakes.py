"""How often a verifier is wrong: in the likelihood, so that a cheap success behind weak tests is worth less.

Tests that were there before say little of what they do not cover: of patches that pass the tests which judge
them, about 8 % fail others that their projects have (Wang et al. 2025, arXiv 2503.15223). A search that tries
thousands of patches against the visible tests finds more of such: 9 of 42 in the benchmark of
`builtin/repair` (`make bench-repair`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from acr_cli.orchestrator.trait import Numbers

_TESTS = 0.08
_SEARCH = 0.21
_JUDGE = 0.25
"""An LLM judge, which only ranks what cannot be executed; an assumption on the careful side."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Mistakes:
    """Rates in [0, 1) of one kind of verifier."""

    false_accept: float = 0.0  # wrong attempts that pass
    false_reject: float = 0.0  # right attempts that fail
    by_candidate: Mapping[str, float] = field(default_factory=dict)  # false accepts that differ

    def accepts(self, names: Sequence[str]) -> Numbers:
        """C: the rate of false accepts of each candidate's work."""
        return np.array([self.by_candidate.get(name, self.false_accept) for name in names])


def usual(verifier: str) -> Mistakes:
    """What is known of a kind of verifier. Pure."""
    return _JUDGED if verifier == "judge" else _TESTED


_TESTED = Mistakes(false_accept=_TESTS, by_candidate={"builtin/repair": _SEARCH})
_JUDGED = Mistakes(false_accept=_JUDGE, false_reject=_JUDGE)
