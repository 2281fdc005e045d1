import pytest
from limiter import RateLimited, SlidingWindow
from ticking import ManualClock


def test_one_call_a_second():
    clock = ManualClock()
    limiter = SlidingWindow(1, 1, clock)
    for _ in range(5):
        assert limiter.allow("a")
        assert not limiter.allow("a")
        clock.advance(1)


def test_not_too_early():
    clock = ManualClock()
    limiter = SlidingWindow(1, 8, clock)
    limiter.allow("a")
    clock.advance(7.5)
    assert not limiter.allow("a")
    assert limiter.wait("a") == 0.5
    clock.advance(0.5)
    assert limiter.wait("a") == 0
    assert limiter.allow("a")


def test_the_window_slides():
    clock = ManualClock()
    limiter = SlidingWindow(3, 10, clock)
    for _ in range(3):
        assert limiter.allow("a")
        clock.advance(3)
    assert not limiter.allow("a")
    clock.advance(1)
    assert limiter.allow("a")
    assert not limiter.allow("a")
    clock.advance(2)
    assert not limiter.allow("a")
    clock.advance(1)
    assert limiter.allow("a")


def test_refused_calls_are_not_counted():
    clock = ManualClock()
    limiter = SlidingWindow(1, 4, clock)
    limiter.check("a")
    with pytest.raises(RateLimited) as caught:
        limiter.check("a")
    assert caught.value.wait == 4
    clock.advance(4)
    limiter.check("a")


def test_unknown_key_need_not_wait():
    assert SlidingWindow(1, 4, ManualClock()).wait("x") == 0
