"""u: one score of a change in [0, 1], a weighted sum of signals (arXiv 2606.22902, the Verifier).

u = sum_k w[kind, k] * s_k, the weights of a kind summing to 1. The kinds of evidence:

- `tests`: an edit was measured by tests: there were targets, or something broke.
- `own_test`: the same, where all targets are tests that acr wrote.
- `judge`: a model's opinion on a change that nothing executed could show. `executed` is 0, so that it stays
  below what any executed proof gives.
- `wish`: tests say nothing about what was asked for. The published weights for tasks without a real test
  score hold: 0.3 syntax, 0.4 visible tests, 0.3 heuristic.

| signal        | tests | own_test | judge | wish | what it is                                              |
|---------------|-------|----------|-------|------|---------------------------------------------------------|
| syntax        | .05   | .05      | .10   | .30  | share of the touched files that parse                   |
| build         | .05   | .05      |       |      | 1 when everything that the tests need was built         |
| targets       | .15   | .15      |       |      | share of the target tests that pass now                 |
| regressions   | .15   | .15      |       |      | share of the tests that passed before and still do      |
| lint          | .05   | .05      |       |      | 1 / (1 + new findings of the repository's own linter)   |
| integrity     | .10   | .10      |       |      | of a verified change: halved by each finding            |
| verified      | .30   | .25      |       |      | 1 when all targets pass and nothing broke               |
| uniqueness    | .15   |          |       |      | of a verified change: 1 / (1 + log2(1 + n)), where n    |
|               |       |          |       |      | other patches pass as well                              |
| given         |       | .20      |       |      | 1 for a test that was there before or is the user's     |
| visible_tests |       |          | .20   | .40  | 1 when tests that passed before do so now               |
| heuristic     |       |          |       | .30  | how orderly the patch looks                             |
| judge         |       |          | .40   |      | a model's opinion                                       |
| executed      |       |          | .30   |      | 0: nothing executed shows that the change works         |

By tests, a change that failed is worth 0.45 at most, and one that is verified 0.70 at least; by a test that
acr wrote it is worth between 0.65 and 0.80. A linter that the repository does not have, or that was not run,
counts as 1.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from acr_cli.records import Signal

_MEASURED = {
    "syntax": 0.05, "build": 0.05, "targets": 0.15, "regressions": 0.15, "lint": 0.05, "integrity": 0.10,
}  # fmt: skip

WEIGHTS: Mapping[str, Mapping[str, float]] = {
    "tests": {**_MEASURED, "verified": 0.30, "uniqueness": 0.15},
    "own_test": {**_MEASURED, "verified": 0.25, "given": 0.20},
    "judge": {"syntax": 0.1, "visible_tests": 0.2, "judge": 0.4, "executed": 0.3},
    "wish": {"syntax": 0.3, "visible_tests": 0.4, "heuristic": 0.3},
}
"""Weights by kind of evidence; every row sums to 1."""

SMALL_CHANGE = 60  # added and removed lines up to which a change counts as small
_LEFTOVER = re.compile(
    r"\b(?:breakpoint\(\)|pdb\.set_trace\(\)|console\.log\(|<{7} |>{7} )|\b(?:TODO|FIXME|XXX)\b"
)


def signals(
    kind: str, values: Mapping[str, float], notes: Mapping[str, str] | None = None
) -> tuple[Signal, ...]:
    """One signal for each weight of a kind, values clipped to [0, 1]; `values` names all of them. Pure."""
    return tuple(
        Signal(
            name=name, value=min(1.0, max(0.0, values[name])), weight=weight, note=(notes or {}).get(name, "")
        )
        for name, weight in WEIGHTS[kind].items()
    )


def u(parts: tuple[Signal, ...]) -> float:
    """The weighted sum, in [0, 1]; rises with every signal. Pure."""
    return min(1.0, max(0.0, math.fsum(part.weight * part.value for part in parts)))


def share(part: int, whole: int) -> float:
    """part / whole; 1 of nothing. Pure."""
    return part / whole if whole else 1.0


def uniqueness(alternatives: int) -> float:
    """1 / (1 + log2(1 + n)) for n other patches that pass too: 1, 0.5, 0.39, ... 0.13 at a hundred. Pure."""
    return 1.0 / (1.0 + math.log2(1 + max(0, alternatives)))


def heuristic(patch: str) -> float:
    """How orderly a patch looks: half for a small one, half for no leftovers (debugging, notes). Pure.

    The half for size is SMALL_CHANGE / lines once there are more added and removed lines than that."""
    added = [line[1:] for line in patch.splitlines() if line.startswith("+") and not line.startswith("+++")]
    removed = [line for line in patch.splitlines() if line.startswith("-") and not line.startswith("---")]
    size = min(1.0, SMALL_CHANGE / max(1, len(added) + len(removed)))
    tidy = 0.0 if any(_LEFTOVER.search(line) for line in added) else 1.0
    return 0.5 * size + 0.5 * tidy
