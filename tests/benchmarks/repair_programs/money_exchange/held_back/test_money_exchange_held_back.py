import pytest
from exchange import Exchange, Money
from rates import RateTable, UnknownCurrency

TABLE = RateTable("USD", {"EUR": "0.5", "KWD": "0.25", "JPY": "150"})


@pytest.mark.parametrize(
    ("amount", "source", "target", "expected"),
    [
        (10, "USD", "EUR", "5.00"),
        (10, "EUR", "USD", "20.00"),
        (1, "KWD", "JPY", "600"),
        (300, "JPY", "KWD", "0.500"),
        (1, "EUR", "JPY", "300"),
        (100, "JPY", "EUR", "0.33"),
        (0, "EUR", "USD", "0.00"),
    ],
)
def test_convert(amount, source, target, expected):
    assert Exchange(TABLE).convert(Money.of(amount, source), target) == Money.of(expected, target)


def test_fee():
    assert Exchange(TABLE, "2").convert(Money.of(100, "EUR"), "USD") == Money.of("196.00", "USD")
    assert str(Exchange(TABLE, "10").convert(Money.of(1000, "JPY"), "USD")) == "6.00 USD"


def test_total():
    exchange = Exchange(TABLE)
    assert exchange.total([], "EUR") == Money.of("0.00", "EUR")
    assert exchange.total([Money.of(1, "EUR"), Money.of(300, "JPY"), Money.of(1, "USD")], "USD") == Money.of(
        "5.00", "USD"
    )


def test_unknown():
    with pytest.raises(UnknownCurrency):
        Exchange(TABLE).convert(Money.of(1, "USD"), "ABC")
