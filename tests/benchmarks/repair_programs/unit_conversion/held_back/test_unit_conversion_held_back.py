import pytest
from unit_conversion import UNITS, ConversionError, convert, table


@pytest.mark.parametrize(
    ("value", "source", "target", "expected"),
    [
        (32, "F", "C", 0),
        (-40, "C", "F", -40),
        (300, "K", "C", 26.85),
        (0, "K", "F", -459.67),
        (98.6, "F", "K", 310.15),
        (1, "ft", "m", 0.3048),
        (1, "kg", "lb", 2.2046226),
    ],
)
def test_known_values(value, source, target, expected):
    assert convert(value, source, target) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("symbol", sorted(UNITS))
def test_round_trip(symbol):
    unit = UNITS[symbol]
    assert unit.from_base(unit.to_base(12.5)) == pytest.approx(12.5)


def test_temperature_table():
    assert table(20, "C") == {"K": 293.15, "C": 20, "F": 68}


def test_unknown_target():
    with pytest.raises(ConversionError):
        convert(1, "m", "M")
