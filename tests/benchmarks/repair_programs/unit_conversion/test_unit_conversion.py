import pytest
from unit_conversion import ConversionError, convert, table


def test_kilometres_to_metres():
    assert convert(2.5, "km", "m") == 2500


def test_pounds_to_kilograms():
    assert convert(10, "lb", "kg") == pytest.approx(4.5359237)


def test_same_unit():
    assert convert(21.0, "C", "C") == 21.0


def test_celsius_to_kelvin():
    assert convert(0, "C", "K") == pytest.approx(273.15)


def test_boiling_point_in_fahrenheit():
    assert convert(100, "C", "F") == pytest.approx(212)


def test_different_quantities():
    with pytest.raises(ConversionError, match="length to mass"):
        convert(1, "m", "kg")


def test_unknown_unit():
    with pytest.raises(ConversionError, match="furlong"):
        convert(1, "furlong", "m")


def test_table_of_lengths():
    assert table(1, "km") == {"m": 1000, "km": 1, "ft": 3280.84}
