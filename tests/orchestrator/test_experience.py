"""What tallies say is a pure function of them: however and in whatever order they came."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from random import Random

import numpy as np
import pytest

from acr_cli.orchestrator.experience import Experience, Pattern, evidence, named, seen
from acr_cli.orchestrator.learned import Learned
from acr_cli.records import SCORES, Choice, Tally
from tests.orchestrator.worlds import DIMENSION, World, candidate, context, summed, tally

WORLD = World(ability=(-1.0, 0.0, 1.0))
POOL = tuple(candidate(name, 0.05 * 4**place) for place, name in enumerate(WORLD.names))


def attempts(count: int = 40) -> list[Tally]:
    """Single outcomes in two languages, with costs and gains."""
    rng = Random(5)
    return [
        replace(
            each,
            language=rng.choice(("python", "go")),
            cost_usd=rng.random() / 10,
            gains=(("prior", rng.random()), ("trait", -rng.random())),
        )
        for each in WORLD.attempts(count)
    ]


def with_gains(tallies: list[Tally]) -> list[Tally]:
    """Summed up, gains too."""
    total = {}
    for each in tallies:
        key = (each.candidate, each.language, each.failed_before)
        for voter, gain in each.gains:
            total.setdefault(key, {}).setdefault(voter, []).append(gain)
    return [
        replace(
            each,
            gains=tuple(
                sorted(
                    (voter, sum(gains))
                    for voter, gains in total[each.candidate, each.language, each.failed_before].items()
                )
            ),
        )
        for each in summed(tallies)
    ]


def chosen(policy: Learned, tallies: list[Tally], **changes: object) -> Choice:
    choice = policy.choose(context(tallies, language="python", **changes), POOL, None)
    assert choice is not None
    return choice


def learned() -> Learned:
    return Learned(exploration=0.05)


def same(one: Choice, other: Choice) -> None:
    assert one.candidate == other.candidate
    assert [f.candidate for f in one.forecasts] == [f.candidate for f in other.forecasts]
    for mine, yours in zip(one.forecasts, other.forecasts, strict=True):
        assert mine.p_success == pytest.approx(yours.p_success, abs=1e-9)
        assert mine.score == pytest.approx(yours.score, abs=1e-9)
        assert mine.cost_usd == pytest.approx(yours.cost_usd)
        assert [v.weight for v in mine.votes] == pytest.approx([v.weight for v in yours.votes])
    assert [r.candidate for r in one.ladder] == [r.candidate for r in other.ladder]


# --- the same choice either way ---------------------------------------------------------------------------


@pytest.mark.parametrize("failed", [(), ("c0",)])
@pytest.mark.parametrize("sorts", [False, True])
def test_learned_online_is_learned_at_once(sorts: bool, failed: tuple[str, ...]) -> None:
    """`sorts`: as memory hands tallies out, where new ones may come between the known ones."""
    online, outcomes = learned(), attempts()
    for count in range(1, len(outcomes) + 1):
        known = with_gains(outcomes[:count])
        if sorts:
            known.sort(key=lambda t: (t.candidate, t.language, t.failed_before))
        same(chosen(online, known, failed=failed), chosen(learned(), known, failed=failed))


def test_the_order_of_tallies_means_nothing() -> None:
    known = with_gains(attempts())
    Random(3).shuffle(known)
    same(chosen(learned(), known), chosen(learned(), with_gains(attempts())))


def test_state_survives_json() -> None:
    known = with_gains(attempts())
    text = json.dumps([asdict(each) for each in known])
    back = [
        Tally(
            **{
                **each,
                "failed_before": tuple(each["failed_before"]),
                "gains": tuple((voter, gain) for voter, gain in each["gains"]),
            }
        )
        for each in json.loads(text)
    ]
    assert back == known
    same(chosen(learned(), back), chosen(learned(), known))


def test_what_was_forgotten_is_gone() -> None:
    policy, known = learned(), with_gains(attempts())
    chosen(policy, known)
    same(chosen(policy, known[:3]), chosen(learned(), known[:3]))
    same(chosen(policy, []), chosen(learned(), []))


def test_a_changed_tally_among_others_is_noticed() -> None:
    policy, known = learned(), with_gains(attempts())
    chosen(policy, known)
    changed = [replace(known[0], passed=known[0].passed + 50), *known[1:]]
    same(chosen(policy, changed), chosen(learned(), changed))


# --- cells ------------------------------------------------------------------------------------------------


def looked(*tallies: Tally) -> Experience:
    experience = Experience()
    experience.look(tallies)
    return experience


def test_a_dimension_holds_its_languages_and_no_other_dimension() -> None:
    experience = looked(
        tally("a", 1, 0, language="go"),
        tally("a", 0, 2, language="python"),
        tally("a", 9, 9, dimension="algorithm"),
    )
    (pattern,) = experience.dimension(DIMENSION).patterns()
    assert pattern == Pattern(candidate="a", after=(), passed=1, failed=2)
    assert experience.cell(DIMENSION, "go").tasks == 1
    assert not experience.cell(DIMENSION, "rust")
    assert not experience.dimension("unheard-of")


def test_tasks_are_counted_at_their_first_attempt() -> None:
    experience = looked(tally("a", 3, 2), tally("b", 1, 1, after=["a"]))
    assert experience.dimension(DIMENSION).tasks == 5


def test_kinds_of_verifier_are_taken_together_and_unverified_outcomes_say_nothing() -> None:
    experience = looked(tally("a", 1, 0), tally("a", 2, 3, verifier=SCORES), tally("b", 0, 0, count=5.0))
    assert experience.dimension(DIMENSION).patterns() == [
        Pattern(candidate="a", after=(), passed=3, failed=3)
    ]
    assert [t.candidate for t in experience.dimension(DIMENSION).scored().tallies.values()] == ["a"]


def test_a_version_never_comes_again() -> None:
    """Whoever keeps what was made of a cell by its version must not take a new cell for an old one."""
    a, b, c = tally("a", 1, 0), tally("b", 1, 0), tally("c", 1, 0)
    experience, versions = Experience(), []
    for tallies in ([a, c], [replace(a, passed=2.0), c], [a, b, c], [a, c], [b, c], [c], []):
        experience.look(tuple(tallies))
        versions.append(experience.version(DIMENSION))
    assert len(set(versions)) == len(versions)


def test_an_equal_tally_changes_no_version() -> None:
    experience = looked(tally("a", 1, 0), tally("b", 1, 0, dimension="algorithm"))
    before = experience.version(DIMENSION)
    experience.look((tally("a", 1, 0), tally("b", 2, 0, dimension="algorithm")))
    assert experience.version(DIMENSION) == before


def test_gains_are_summed_over_all_dimensions() -> None:
    experience = looked(
        tally("a", 1, 0, gains=(("prior", 0.5),)),
        tally("b", 1, 0, dimension="algorithm", gains=(("prior", 1.0), ("trait", -1.0))),
    )
    assert experience.gains() == {"prior": 1.5, "trait": -1.0}


# --- laid out ---------------------------------------------------------------------------------------------

PATTERNS = [
    Pattern(candidate="a", after=(), passed=3, failed=4),
    Pattern(candidate="b", after=("a",), passed=1, failed=3),
    Pattern(candidate="c", after=("a",), passed=1, failed=0),
]


def test_patterns_as_arrays() -> None:
    names = named(PATTERNS)
    assert names == ["a", "b", "c"]
    laid = evidence(PATTERNS, names=names, accepts=np.zeros(3), rejects=0.0)
    assert laid.situations.tolist() == [[0, 0, 0], [1, 0, 0]]
    assert laid.situation.tolist() == [0, 1, 1]
    assert laid.who.tolist() == [0, 1, 2]
    assert laid.passed.tolist() == [3, 1, 1]


def test_only_patterns_of_the_candidates_at_hand_are_seen_by_the_rule() -> None:
    found = seen(PATTERNS, ["b", "a"], 20.0)
    assert found.after.tolist() == [0, 0b10]
    assert found.who.tolist() == [1, 0]
