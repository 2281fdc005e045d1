import pytest
from run_length import decode, encode, longest, runs, spans


def test_no_runs():
    assert runs([]) == []
    assert longest("") is None


def test_different_items():
    assert runs("abc") == [("a", 1), ("b", 1), ("c", 1)]


def test_runs():
    assert runs("aabbbc") == [("a", 2), ("b", 3), ("c", 1)]


def test_encode_single_letters():
    assert encode("xyz") == "xyz"


def test_digits_are_refused():
    with pytest.raises(ValueError, match="digits"):
        encode("a1")


def test_decode():
    assert decode("3ab12c") == "aaab" + "c" * 12


def test_count_without_letter():
    with pytest.raises(ValueError, match="a count without a letter: 4"):
        decode("a4")


def test_round_trip():
    assert decode(encode("wwwwbbw")) == "wwwwbbw"


def test_spans():
    assert list(spans([False, True, False, True])) == [(1, 2), (3, 4)]
