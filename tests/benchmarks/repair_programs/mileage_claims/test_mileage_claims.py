from datetime import date

import pytest
from mileage_claims import Trip, claim, monthly, passenger_bonus, pay

DAY = date(2024, 3, 9)


def test_whole_kilometres():
    assert Trip(DAY, 100, 180).kilometres == 80


def test_tenths_count():
    assert Trip(DAY, 100.2, 112.9).kilometres == 12.7


def test_meter_runs_backwards():
    with pytest.raises(ValueError, match="2024-03-09"):
        Trip(DAY, 10, 9).kilometres  # noqa: B018


def test_pay_at_the_full_rate():
    assert pay(100) == 40


def test_pay_at_both_rates():
    assert pay(1100) == 425


def test_monthly():
    trips = [Trip(date(2024, 4, 1), 0, 5), Trip(DAY, 0, 10), Trip(DAY, 10, 12)]
    assert monthly(trips) == {"2024-03": 12, "2024-04": 5}


def test_passenger_bonus():
    assert passenger_bonus(Trip(DAY, 0, 50, passengers=2)) == 2


def test_claim():
    assert claim([Trip(DAY, 0, 10.5), Trip(DAY, 10.5, 20, passengers=1)]) == 8.19
