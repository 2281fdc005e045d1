import pytest
from limiter import RateLimited, SlidingWindow
from ticking import ManualClock


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def limiter(clock):
    return SlidingWindow(limit=2, window=10, clock=clock)


def test_calls_up_to_the_limit(limiter):
    assert [limiter.allow("a") for _ in range(3)] == [True, True, False]


def test_keys_do_not_share(limiter):
    limiter.allow("a")
    limiter.allow("a")
    assert limiter.allow("b")


def test_allowed_again_after_the_window(limiter, clock):
    limiter.allow("a")
    limiter.allow("a")
    clock.advance(11)
    assert limiter.allow("a")


def test_wait(limiter, clock):
    limiter.allow("a")
    clock.advance(4)
    limiter.allow("a")
    assert limiter.wait("a") == 6


def test_waiting_as_long_as_told_is_enough(limiter, clock):
    limiter.allow("a")
    clock.advance(4)
    limiter.allow("a")
    clock.advance(limiter.wait("a"))
    assert limiter.allow("a")


def test_check_tells_the_wait(limiter):
    limiter.check("a")
    limiter.check("a")
    with pytest.raises(RateLimited, match="a: try again in 10 s"):
        limiter.check("a")


def test_clock_runs_forwards(clock):
    with pytest.raises(ValueError):
        clock.advance(-1)
