import pytest
from duration import parse, roughly, write


def test_parse_hours_and_minutes():
    assert parse("1h 30m") == 5400


def test_parse_days():
    assert parse("2d") == 48 * parse("1h")


@pytest.mark.parametrize("text", ["", "5", "3 apples", "1h and 2m"])
def test_not_a_duration(text):
    with pytest.raises(ValueError, match="not a duration"):
        parse(text)


def test_unit_twice():
    with pytest.raises(ValueError, match="twice"):
        parse("1h 2h")


def test_write():
    assert write(3725) == "1h 2m 5s"


def test_write_zero():
    assert write(0) == "0s"


def test_roughly():
    assert roughly(7300) == "2 hours ago"


def test_just_now():
    assert roughly(0) == "just now"


def test_a_week_is_written_as_one():
    assert write(604_800) == "1w"
