import pytest
from requirement import accepts, newest
from versions import Version


def test_numbers_are_compared_as_numbers():
    assert Version.parse("1.10") > Version.parse("1.9")


def test_trailing_zeros_do_not_count():
    assert Version.parse("2.0.0") == Version.parse("2")


def test_candidates_come_before_the_release():
    assert Version.parse("2.0b3") < Version.parse("2.0rc1") < Version.parse("2.0")


def test_malformed_version():
    with pytest.raises(ValueError, match="not a version"):
        Version.parse("1..2")


def test_range():
    assert accepts(">=1.2, <2.0", "1.9.9")
    assert not accepts(">=1.2, <2.0", "2.0")


def test_compatible_release():
    assert accepts("~=1.4.2", "1.4.9")
    assert not accepts("~=1.4.2", "1.5")


def test_compatible_release_has_a_lower_limit():
    assert not accepts("~=1.4.2", "1.4.1")


def test_newest():
    assert newest(">=1,<2", ["1.2", "0.9", "1.10", "2.0"]) == "1.10"


def test_newest_of_none():
    assert newest(">3", ["1.2"]) is None
