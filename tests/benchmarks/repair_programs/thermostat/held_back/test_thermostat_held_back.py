import pytest
from thermostat import Thermostat


@pytest.mark.parametrize(
    ("wanted", "expected"), [(4.9, 5), (5, 5), (5.1, 5.1), (29, 29), (30, 30), (30.5, 30), (-5, 5), (99, 30)]
)
def test_set_target(wanted, expected):
    thermostat = Thermostat()
    assert thermostat.set_target(wanted) == expected
    assert thermostat.target == expected


def test_nudge_stops_at_the_limits():
    thermostat = Thermostat(target=29)
    assert thermostat.nudge(1) == 29.5
    assert thermostat.nudge(5) == 30
    assert thermostat.nudge(-100) == 5
    assert thermostat.nudge(2) == 6


def test_schedule_is_limited():
    thermostat = Thermostat(low=10, high=22)
    thermostat.plan(6, 25)
    thermostat.plan(22, 3)
    assert thermostat.tick(6, 10) is True
    assert thermostat.target == 22
    assert thermostat.tick(22, 18) is False
    assert thermostat.target == 10
    assert thermostat.tick(23, 9) is True


def test_reversed_limits():
    with pytest.raises(ValueError):
        Thermostat(low=10, high=5).set_target(7)
