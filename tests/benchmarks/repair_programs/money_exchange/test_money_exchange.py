from decimal import Decimal

import pytest
from exchange import Exchange, Money
from rates import RateTable, UnknownCurrency


@pytest.fixture
def table():
    return RateTable("EUR", {"USD": "1.25", "JPY": "160", "GBP": "0.8"})


def test_rate_from_the_base(table):
    assert table.rate("EUR", "USD") == Decimal("1.25")


def test_cross_rate(table):
    assert table.rate("USD", "JPY") == 128


def test_unknown_currency(table):
    with pytest.raises(UnknownCurrency):
        table.rate("EUR", "XXX")


def test_same_currency_costs_no_fee(table):
    assert Exchange(table, fee="2").convert(Money.of(5, "EUR"), "EUR") == Money.of("5.00", "EUR")


def test_convert(table):
    assert Exchange(table).convert(Money.of(10, "EUR"), "USD") == Money.of("12.50", "USD")


def test_yen_has_no_decimals(table):
    assert Money.of("10.6", "JPY").rounded() == Money.of(11, "JPY")


def test_text():
    assert str(Money.of("3.50", "GBP")) == "3.50 GBP"


def test_total(table):
    purse = [Money.of(8, "GBP"), Money.of(5, "USD")]
    assert Exchange(table).total(purse, "EUR") == Money.of("14.00", "EUR")


def test_codes(table):
    assert table.codes() == ["EUR", "GBP", "JPY", "USD"]
