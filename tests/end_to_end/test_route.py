"""`acr route` with a home that has something to say: who is chosen, why not the others, on what evidence."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pexpect
import pytest

from acr_cli.memory.store import Memory
from acr_cli.records import Usage
from acr_cli.testing.loopback import LoopbackServer
from tests.memory.outcomes import make_outcome

Acr = Callable[..., Any]
Pool = Callable[..., None]

TASK = "slugify drops the last word"
PRICES = {"small": 0.2, "middle": 1.0, "large": 6.0}
RATES = {"openai/small": 0.3, "openai/middle": 0.5, "openai/large": 0.8}


@pytest.fixture
def repository(git_repo: Callable[..., Path]) -> Path:
    return git_repo({"slug.py": "def slugify(text):\n    return text\n"}, name="slug")


@pytest.fixture
def server() -> Any:
    with LoopbackServer(dict.fromkeys(PRICES, ())) as running:
        yield running
        assert running.requests == []  # no model is called


@pytest.fixture
def filled(acr_home: Path, server: LoopbackServer, pool: Pool) -> Path:
    """Sixty tasks of three models, the cheapest first."""
    pool(server, PRICES)
    remember(acr_home, RATES)
    return acr_home


def remember(home: Path, rates: Mapping[str, float], tasks: int = 60) -> None:
    rng, outcomes = Random(7), []
    for number in range(tasks):
        failed: tuple[str, ...] = ()
        for candidate, rate in rates.items():
            passed = rng.random() < rate
            outcomes.append(
                make_outcome(
                    f"{number}-{len(failed)}",
                    time=time.time() - 3600 * (tasks - number),
                    step=f"s{number}",
                    attempt=len(failed) + 1,
                    candidate=candidate,
                    available=tuple(rates),
                    failed_before=failed,
                    dimension="agentic_programming",
                    verdict="passed" if passed else "failed",
                    **work(candidate, rng.uniform(0.5, 2.0)),
                    votes=(("trait", rate), ("prior", 0.3)),
                    p_success=rate,
                )
            )
            if passed:
                break
            failed = (*failed, candidate)
    memory = Memory(home)
    memory.take_in(outcomes)
    memory.close()


def work(candidate: str, amount: float) -> dict[str, Any]:
    """Tokens, and what they cost by the price list."""
    usage = Usage(input_tokens=int(10_000 * amount), output_tokens=int(2_000 * amount), calls=4)
    price = PRICES[candidate.partition("/")[2]]
    return {
        "usage": usage,
        "cost_usd": (usage.input_tokens + 5 * usage.output_tokens) * price / 1e6,
    }


def explained(acr: Acr, where: Path, *options: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(acr("route", TASK, "--json", *options, cwd=where).stdout)
    return found


def test_all_that_led_to_the_choice_is_told(acr: Acr, filled: Path, repository: Path) -> None:
    shape = explained(acr, repository)
    assert shape["outcomes"] == sum(each["outcomes"] for each in shape["candidates"]) > 100
    assert (shape["policy"], shape["value_of_hour_usd"]) == ("learned", 1.8)
    for each in shape["candidates"]:
        assert 0 <= each["p_low"] <= each["p_success"] <= each["p_high"] <= 1
        assert 0 < each["cost_low_usd"] < each["cost_usd"] < each["cost_high_usd"]
        assert 0 < sum(vote["weight"] for vote in each["votes"].values()) <= 1 + 1e-9
        assert (each["not_chosen"] is None) == (each["model"] == shape["choice"])
    sums = [(rung["p_cumulative"], rung["cost_cumulative_usd"]) for rung in shape["ladder"]]
    assert sums == sorted(sums)
    assert shape["left_out"] == [
        {"model": "builtin/repair", "reason": "repairs failing tests; the task speaks of no failure"}
    ]

    text = acr("route", TASK, "--explain", cwd=repository).stdout
    assert shape["reason"] in text
    for heading in ("what is expected", "chance of success by each voter", "the tries", "not chosen"):
        assert f"\n{heading}" in text
    assert "python: " in text
    assert "\nstart: no published figure: starts neutral (openai/" in text
    assert "solved " in text


def test_a_success_that_is_worth_little_ends_the_ladder_sooner(
    acr: Acr, filled: Path, repository: Path
) -> None:
    dear = explained(acr, repository)
    cheap = json.loads(
        acr("route", TASK, "--json", cwd=repository, env={"ACR_VALUE_OF_SUCCESS": "0.04"}).stdout
    )
    assert cheap["value_of_success_usd"] == 0.04
    assert len(cheap["ladder"]) < len(dear["ladder"]) == 3
    reasons = [each["not_chosen"] or "" for each in cheap["candidates"]]
    assert any("not worth its price once the others have failed" in reason for reason in reasons)


def test_nobody_is_worth_the_price_and_it_is_said(acr: Acr, filled: Path, repository: Path) -> None:
    done = acr("route", TASK, "--explain", cwd=repository, env={"ACR_VALUE_OF_SUCCESS": "0.000001"})
    assert "Nobody is worth the price here; the first attempt is made all the same." in done.stdout


def test_many_candidates_with_long_names_are_all_told(
    acr: Acr, acr_home: Path, server: LoopbackServer, pool: Pool, repository: Path
) -> None:
    names = [f"a-model-with-a-name-of-more-than-forty-letters-{number:02}" for number in range(12)]
    pool(server, {name: 0.1 * (1 + number) for number, name in enumerate(names)})
    shape = explained(acr, repository)
    assert len(shape["candidates"]) == 12
    others = [each for each in shape["candidates"] if each["not_chosen"]]
    assert len(others) == 11
    text = acr("route", TASK, "--explain", cwd=repository).stdout
    assert all(f"{each['model']}: {each['not_chosen']}" in text for each in others)
    assert text.count("not among the best for their price") == 3


def test_one_candidate_has_no_rivals(
    acr: Acr, acr_home: Path, server: LoopbackServer, pool: Pool, repository: Path
) -> None:
    pool(server, {"small": 0.2})
    text = acr("route", TASK, "--explain", cwd=repository).stdout
    assert "the only candidate" in text
    assert "not chosen" not in text
    assert "no outcome of yours yet" in text


@pytest.mark.parametrize("columns", [32, 80, 140])
def test_a_terminal_of_any_width_shows_every_number(filled: Path, repository: Path, columns: int) -> None:
    import sys

    child = pexpect.spawn(
        sys.executable,
        ["-m", "acr_cli", "--no-color", "route", TASK, "--explain"],
        cwd=str(repository),
        env={"ACR_HOME": str(filled), "PATH": "/usr/bin:/bin", "TERM": "xterm"},
        dimensions=(60, columns),
        encoding="utf-8",
        timeout=60,
    )
    text = child.read()
    assert "\x1b[" not in text
    assert child.wait() == 0
    lines = " ".join(text.split())
    for word in ("openai/small", "openai/middle", "openai/large", "90 % range", "worth", "solved by then"):
        assert word in lines
    assert "…" not in text


# --- who could not take it ------------------------------------------------------------------------

REMOTE = """
[[model]]
id = "openai/with-key"
api_key_env = "KEY_OF_A_TEST"
price = {input = 5, output = 25}

[[model]]
id = "openai/no-key"
api_key_env = "KEY_THAT_IS_NOT_THERE"
price = {input = 0.1, output = 0.4}

[[model]]
id = "openai/no-price-is-known-of-it"
api_key_env = "KEY_OF_A_TEST"
"""


def test_who_has_no_key_or_no_price_is_not_chosen(acr: Acr, acr_home: Path, repository: Path) -> None:
    acr_home.mkdir()
    (acr_home / "config.toml").write_text(REMOTE)
    key = {"KEY_OF_A_TEST": "x"}
    shape = json.loads(acr("route", TASK, "--json", cwd=repository, env=key).stdout)
    assert shape["choice"] == "openai/with-key"
    left_out = {each["model"]: each["reason"] for each in shape["left_out"]}
    assert left_out["openai/no-key"] == "KEY_THAT_IS_NOT_THERE is not set"
    assert "no price is known" in left_out["openai/no-price-is-known-of-it"]
    narrowed = acr("route", TASK, "--json", cwd=repository, env={**key, "ACR_EXCLUDE": "no-*"})
    reasons = {each["model"]: each["reason"] for each in json.loads(narrowed.stdout)["left_out"]}
    assert reasons["openai/no-key"] == "not among those that allow, exclude and model name"


def test_without_any_key_it_says_whom_it_would_take_and_what_is_missing(
    acr: Acr, acr_home: Path, repository: Path
) -> None:
    acr_home.mkdir()
    (acr_home / "config.toml").write_text(REMOTE)
    done = acr("route", TASK, cwd=repository)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1].startswith("acr fix cannot take it: KEY_")


@pytest.mark.parametrize("value", ["0", "-1", "inf", "nan", "much"])
def test_a_value_of_success_that_is_none_is_refused_in_a_sentence(
    acr: Acr, repository: Path, value: str
) -> None:
    done = acr("route", TASK, cwd=repository, env={"ACR_VALUE_OF_SUCCESS": value})
    assert done.returncode == 3
    assert done.stderr.startswith(
        "acr: ACR_VALUE_OF_SUCCESS must be an amount of USD above 0 and at most 100000, not "
    )
    assert done.stdout == ""


@pytest.mark.parametrize("value", ["-1", "inf", "nan", "much"])
def test_a_value_of_an_hour_that_is_none_is_refused_in_a_sentence(
    acr: Acr, repository: Path, value: str
) -> None:
    done = acr("config", "set", "value_of_hour", value)
    if value == "-1":  # looks like a flag
        done = acr("config", "set", "value_of_hour", "--", value)
    assert done.returncode == 2
    assert "value_of_hour must be an amount of USD between 0 and 100000, not " in done.stderr


def test_an_hour_may_be_worth_nothing(acr: Acr, filled: Path, repository: Path) -> None:
    done = acr("route", TASK, "--explain", cwd=repository, env={"ACR_VALUE_OF_HOUR": "0"})
    assert "an hour $0;" in done.stdout
