import pytest
from duration import parse, roughly, write


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (86_400, "1d"),
        (86_399, "23h 59m 59s"),
        (90_061, "1d 1h 1m 1s"),
        (604_799, "6d 23h 59m 59s"),
        (691_200, "1w 1d"),
        (60, "1m"),
    ],
)
def test_both_ways(seconds, text):
    assert write(seconds) == text
    assert parse(text) == seconds


def test_seven_days_make_a_week():
    assert parse("7d") == parse("1w")
    assert parse("24h") == parse("1d")


def test_negative():
    assert write(-86_400) == "-1d"


def test_roughly():
    assert roughly(86_399) == "23 hours ago"
    assert roughly(86_400) == "1 day ago"
    assert roughly(3 * 86_400 + 5) == "3 days ago"
    assert roughly(15 * 86_400) == "2 weeks ago"
