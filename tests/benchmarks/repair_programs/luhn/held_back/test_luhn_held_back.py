import pytest
from card_numbers import check_digit, is_valid, issuer, luhn_sum, masked


@pytest.mark.parametrize(
    "number",
    [
        "378282246310005",
        "371449635398431",
        "5105105105105100",
        "4012888888881881",
        "4222222222222",
        "0",
        "18",
        "26",
        "34",
        "42",
        "59",
        "67",
        "75",
        "83",
        "91",
    ],
)
def test_valid(number):
    assert is_valid(number)


@pytest.mark.parametrize("number", ["19", "50", "58", "66", "74", "378282246310006"])
def test_invalid(number):
    assert not is_valid(number)


def test_every_doubled_digit():
    assert [luhn_sum([digit, 0]) for digit in range(10)] == [0, 2, 4, 6, 8, 1, 3, 5, 7, 9]


@pytest.mark.parametrize("partial", ["9", "98", "987", "9876", "5", "55", "56789"])
def test_check_digit_makes_valid(partial):
    assert is_valid(partial + str(check_digit(partial)))


def test_display():
    assert issuer("378282246310005") == "American Express"
    assert issuer("41111111111111") is None
    assert masked("1234") == "1234"
