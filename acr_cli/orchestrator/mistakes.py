"""How often a verifier is wrong: in the likelihood, so that a cheap success behind weak tests is worth less.

Tests that were there before say little of what they do not cover: of patches that pass the tests which judge
them, about 8 % fail others that their projects have (Wang et al. 2025, arXiv 2503.15223). A search that tries
thousands of patches against the visible tests finds more of such: 9 of 42 in the benchmark of
`builtin/repair` (`make bench-repair`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from acr_cli.orchestrator.trait import Numbers
from acr_cli.records import JUDGE, OWN_TEST

_TESTS = 0.08
_SEARCH = 0.21
_OWN_TEST = 0.20
"""A test that acr wrote itself: more than one that was there, since its author may misread the task as the
author of the change does; an assumption on the careful side."""
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
    return {JUDGE: _JUDGED, OWN_TEST: _BY_OWN_TEST}.get(verifier, _TESTED)


def seen(verifier: str, accepted: Mapping[tuple[str, str], tuple[int, int]]) -> Mistakes:
    """What is known of a kind of verifier, and what has come to light here: by verifier and candidate, how
    many outcomes passed, and how many of these wrongly.

    Beta-binomial with the known rate as its mean and the weight of `_KNOWN` outcomes. That an accepted change
    was not taken back proves little, so that no rate falls below what is known. Pure."""
    known = usual(verifier)
    here = {name: counts for (kind, name), counts in accepted.items() if kind == verifier}
    passed, wrong = (sum(counts[place] for counts in here.values()) for place in (0, 1))
    if not wrong:
        return known
    rate = _risen(known.false_accept, passed, wrong)
    names = {*known.by_candidate, *(name for name, (_, wrongly) in here.items() if wrongly)}
    single = {
        name: _risen(max(rate, known.by_candidate.get(name, 0.0)), *here.get(name, (0, 0))) for name in names
    }
    return replace(known, false_accept=rate, by_candidate=single)


def _risen(rate: float, passed: int, wrong: int) -> float:
    return min(_MOST, max(rate, (_KNOWN * rate + wrong) / (_KNOWN + passed)))


_KNOWN = 20  # outcomes that what is known weighs
_MOST = 0.9
_TESTED = Mistakes(false_accept=_TESTS, by_candidate={"builtin/repair": _SEARCH})
_BY_OWN_TEST = Mistakes(false_accept=_OWN_TEST, by_candidate={"builtin/repair": _SEARCH + _OWN_TEST})
_JUDGED = Mistakes(false_accept=_JUDGE, false_reject=_JUDGE)
