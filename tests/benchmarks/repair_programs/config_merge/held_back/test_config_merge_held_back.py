from config_merge import layered, lookup, merge


def test_three_levels():
    base = {"a": {"b": {"c": 1, "d": 2}, "e": 3}}
    assert merge(base, {"a": {"b": {"d": 9}}}) == {"a": {"b": {"c": 1, "d": 9}, "e": 3}}
    assert base == {"a": {"b": {"c": 1, "d": 2}, "e": 3}}


def test_nested_removal():
    assert merge({"a": {"b": 1, "c": 2}}, {"a": {"b": None}}) == {"a": {"c": 2}}


def test_two_tables():
    base = {"x": {"k": 1}, "y": {"k": 2}}
    assert merge(base, {"x": {"k": 5}, "y": {"m": 6}}) == {"x": {"k": 5}, "y": {"k": 2, "m": 6}}


def test_plain_value_replaces_a_table():
    assert merge({"a": {"b": 1}}, {"a": 7}) == {"a": 7}


def test_empty_override():
    assert merge({"a": {"b": 1}}, {"a": {}}) == {"a": {"b": 1}}
    assert merge({"a": {"b": 1}}, {}) == {"a": {"b": 1}}


def test_layers():
    assert layered({"a": {"b": 1}}, {"a": {"c": 2}}, {"a": {"b": 3}}) == {"a": {"b": 3, "c": 2}}
    assert layered() == {}


def test_lookup_through_a_plain_value():
    assert lookup({"a": 1}, "a.b", None) is None
