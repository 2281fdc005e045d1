"""A provider that keeps failing rests, and says so."""

from __future__ import annotations

import pytest

from acr_cli.errors import (
    AuthenticationFailed,
    ModelNotFound,
    ProviderUnavailable,
    RateLimited,
    RequestRefused,
)
from acr_cli.models.breaker import Breaker
from acr_cli.testing.answers import Garbage, Refuse, Say
from acr_cli.testing.loopback import LoopbackServer
from tests.models.conftest import Clock, candidate, line

pytestmark = pytest.mark.usefixtures("litellm_is_imported")

DOWN = Refuse(status=503)
FINE = Say(text="ok")


def test_an_endpoint_that_is_down_is_asked_no_more_for_any_of_its_models() -> None:
    asked = line()
    with LoopbackServer({"m": [DOWN] * 3, "n": []}) as server:
        with pytest.raises(ProviderUnavailable):
            asked.ask(candidate(server.base_url))
        with pytest.raises(ProviderUnavailable) as caught:
            asked.ask(candidate(server.base_url, "n"))
        assert len(server.requests) == 3
    rests = f"{server.base_url} rests for another 60 s, since its last 3 requests failed: openai/m"
    assert caught.value.message.startswith(f"openai/n was not asked: {rests}")
    assert caught.value.exit_code == 5
    assert "--model" in caught.value.hint
    assert asked.notices[-1].startswith(f"{server.base_url} rests for 60 s, since its last 3 requests failed")


def test_another_endpoint_is_not_affected() -> None:
    asked = line()
    with LoopbackServer({"m": [DOWN] * 3}) as down, LoopbackServer({"m": [FINE]}) as up:
        with pytest.raises(ProviderUnavailable):
            asked.ask(candidate(down.base_url))
        assert asked.ask(candidate(up.base_url)).content == "ok"


def test_after_its_rest_it_is_asked_once_and_rests_longer_or_is_well_again() -> None:
    asked = line()
    with LoopbackServer({"m": [DOWN] * 3 + [DOWN] + [FINE] + [DOWN] * 2 + [FINE]}) as server:
        who = candidate(server.base_url)
        with pytest.raises(ProviderUnavailable):
            asked.ask(who)
        asked.clock.now += 61
        with pytest.raises(ProviderUnavailable):
            asked.ask(who)
        assert len(server.requests) == 4
        assert "rests for 2 min" in asked.notices[-1]
        asked.clock.now += 100
        with pytest.raises(ProviderUnavailable, match="was not asked"):
            asked.ask(who)
        asked.clock.now += 21
        assert asked.ask(who).content == "ok"
        # Two failures, then an answer: nothing is held against it.
        assert asked.ask(who).content == "ok"
        server.assert_clean()


@pytest.mark.parametrize("answer", [Refuse(status=429), Garbage()])
def test_what_concerns_one_model_rests_that_model_alone(answer) -> None:
    asked = line()
    with LoopbackServer({"m": [answer] * 3, "n": [FINE]}) as server:
        with pytest.raises(Exception, match="openai/m"):
            asked.ask(candidate(server.base_url))
        with pytest.raises(ProviderUnavailable, match="openai/m rests for another"):
            asked.ask(candidate(server.base_url))
        assert asked.ask(candidate(server.base_url, "n")).content == "ok"


@pytest.mark.parametrize(("status", "error"), [(401, AuthenticationFailed), (404, ModelNotFound)])
def test_a_refused_key_or_an_unknown_model_is_not_tried_again(status: int, error) -> None:
    asked = line()
    with LoopbackServer({"m": [Refuse(status=status)]}) as server:
        with pytest.raises(error):
            asked.ask(candidate(server.base_url))
        with pytest.raises(ProviderUnavailable, match="its last request failed"):
            asked.ask(candidate(server.base_url))
        assert len(server.requests) == 1


def test_a_request_that_was_at_fault_says_nothing_about_the_provider() -> None:
    asked = line()
    with LoopbackServer({"m": [Refuse(status=400)] * 5 + [FINE]}) as server:
        for _ in range(5):
            with pytest.raises(RequestRefused):
                asked.ask(candidate(server.base_url))
        assert asked.ask(candidate(server.base_url)).content == "ok"


def test_a_rest_is_as_long_as_the_provider_asks_and_never_grows_without_end() -> None:
    clock = Clock()
    breaker = Breaker(clock)
    who = candidate(None)
    for _ in range(2):
        assert breaker.failed(who, RateLimited("too many.", retry_after=3600)) == ""
    assert "rests for 60 min" in breaker.failed(who, RateLimited("too many.", retry_after=3600))
    clock.now += 3600
    breaker.check(who)
    for _ in range(10):
        said = breaker.failed(who, RateLimited("too many."))
    assert "rests for 15 min" in said or "rests for 60 min" in said
    breaker.answered(who)
    breaker.check(who)
