import pytest
from config_merge import from_options, layered, lookup, merge

DEFAULTS = {"debug": False, "server": {"host": "localhost", "port": 8000}}


def test_plain_value_is_replaced():
    assert merge(DEFAULTS, {"debug": True})["debug"] is True


def test_other_keys_stay():
    assert merge(DEFAULTS, {"name": "x"}) == {**DEFAULTS, "name": "x"}


def test_none_removes():
    assert merge(DEFAULTS, {"debug": None}) == {"server": DEFAULTS["server"]}


def test_table_replaces_a_plain_value():
    assert merge({"log": "info"}, {"log": {"level": "info"}}) == {"log": {"level": "info"}}


def test_tables_are_merged():
    merged = merge(DEFAULTS, {"server": {"port": 80}})
    assert merged["server"] == {"host": "localhost", "port": 80}


def test_base_is_not_changed():
    merge(DEFAULTS, {"server": {"port": 80}})
    assert DEFAULTS["server"]["port"] == 8000


def test_layers_with_options():
    config = layered(DEFAULTS, {"debug": True}, from_options({"server.port": 80}))
    assert lookup(config, "server.port") == 80


def test_lookup_missing():
    with pytest.raises(KeyError, match=r"server\.name"):
        lookup(DEFAULTS, "server.name")
    assert lookup(DEFAULTS, "server.name", "none") == "none"


def test_options_make_tables():
    assert from_options({"a.b": 1, "a.c": 2, "d": 3}) == {"a": {"b": 1, "c": 2}, "d": 3}
