from datetime import date

import pytest
from mileage_claims import Trip, claim, monthly, passenger_bonus

DAY = date(2024, 1, 31)


@pytest.mark.parametrize(
    ("start", "end", "kilometres"),
    [
        (0, 0, 0),
        (0, 0.9, 0.9),
        (5.5, 6, 0.5),
        (0.1, 0.4, 0.3),
        (1000, 1000.1, 0.1),
        (7, 20, 13),
        (3.3, 13.25, 9.9),
        (1, 2.96, 2.0),
    ],
)
def test_kilometres(start, end, kilometres):
    assert Trip(DAY, start, end).kilometres == pytest.approx(kilometres, abs=0.051)
    assert Trip(DAY, start, end).kilometres == round(end - start, 1)


def test_fractions_add_up():
    trips = [Trip(DAY, number * 0.5, number * 0.5 + 0.5) for number in range(8)]
    assert monthly(trips) == {"2024-01": 4}
    assert claim(trips) == 1.6


def test_bonus_of_fractions():
    assert passenger_bonus(Trip(DAY, 0, 12.5, passengers=4)) == 1.0
    assert passenger_bonus(Trip(DAY, 0, 12.5)) == 0


def test_rates_are_by_month():
    trips = [Trip(DAY, 0, 1000.4), Trip(date(2024, 2, 1), 0, 1000.4)]
    assert claim(trips) == 800.2
    assert claim([]) == 0
