import pytest
from limits import clamp, in_band
from thermostat import Thermostat


def test_clamp():
    assert clamp(7, 1, 5) == 5
    assert clamp(-7, 1, 5) == 1
    assert clamp(3, 1, 5) == 3


def test_reversed_limits():
    with pytest.raises(ValueError, match="reversed"):
        clamp(1, 5, 2)


def test_in_band():
    assert in_band(20.5, 20, 1)
    assert not in_band(20.6, 20, 1)


def test_target_within_the_limits():
    assert Thermostat().set_target(22) == 22


def test_nudge():
    assert Thermostat().nudge(-3) == 18.5


def test_target_below_the_limit():
    assert Thermostat().set_target(-40) == 5


def test_target_above_the_limit():
    thermostat = Thermostat(high=25)
    assert thermostat.set_target(26) == 25
    assert thermostat.target == 25


def test_heating_has_hysteresis():
    thermostat = Thermostat()
    assert thermostat.tick(8, 19)
    assert thermostat.tick(9, 20.4)
    assert not thermostat.tick(10, 20.6)
    assert not thermostat.tick(11, 19.6)


def test_no_such_hour():
    with pytest.raises(ValueError, match="24"):
        Thermostat().plan(24, 20)
