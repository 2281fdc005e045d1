import pytest

from run_lengths import decode, encode

PAIRS = [
    ("", ""),
    ("XYZ", "XYZ"),
    ("WWWBBA", "3W2BA"),
    ("aabccc", "2ab3c"),
    ("  hsqq qww  ", "2 hs2q q2w2 "),
    ("WWWWWWWWWWWWB", "12WB"),
]


@pytest.mark.parametrize(("plain", "encoded"), PAIRS)
def test_encode(plain, encoded):
    assert encode(plain) == encoded


@pytest.mark.parametrize(("plain", "encoded"), PAIRS)
def test_decode(plain, encoded):
    assert decode(encoded) == plain
