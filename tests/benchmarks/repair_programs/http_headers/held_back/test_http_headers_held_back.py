import pytest
from http_headers import Headers, parse_headers


@pytest.mark.parametrize("name", ["X-Id", "x-id", "X-ID", "x-Id"])
def test_every_spelling(name):
    headers = Headers({"X-iD": "7"})
    assert headers.get_all(name) == ["7"]
    assert headers[name] == "7"
    assert name in headers


def test_result_is_a_copy():
    headers = Headers({"A": "1"})
    headers.get_all("A").append("2")
    assert headers.get_all("a") == ["1"]


def test_values_added_in_several_spellings():
    headers = Headers()
    headers.add("Via", "a")
    headers.add("VIA", "b")
    headers.add("via", "c")
    assert headers.get_all("Via") == ["a", "b", "c"]
    assert list(headers) == ["Via"]
    headers["via"] = "d"
    assert headers.get_all("VIA") == ["d"]


def test_after_deletion():
    headers = Headers({"Via": "a"})
    del headers["VIA"]
    assert headers.get_all("Via") == []
    with pytest.raises(KeyError):
        del headers["Via"]


def test_round_trip():
    text = "Host: x\r\nVia: a\r\nVia: b\r\n"
    assert parse_headers(text).to_text() == text
