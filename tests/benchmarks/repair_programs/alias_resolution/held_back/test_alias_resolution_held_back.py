import pytest
from alias_resolution import AliasError, AliasTable


def made(**aliases):
    table = AliasTable(["run"])
    for name, command in aliases.items():
        table.define(name, command)
    return table


def test_alias_of_itself():
    with pytest.raises(AliasError):
        made(a="a -x").target("a")


def test_loop_of_three():
    table = made(a="b", b="c", c="a")
    for name in "abc":
        with pytest.raises(AliasError):
            table.target(name)


def test_loop_behind_a_chain():
    table = made(x="y", y="a", a="b", b="a", ok="run 1")
    with pytest.raises(AliasError):
        table.target("x")
    assert table.target("ok") == "run"
    with pytest.raises(AliasError):
        table.chains()


def test_long_chain():
    names = [f"n{number}" for number in range(30)]
    table = made(**dict(zip(names, [*names[1:], "run now"], strict=True)))
    assert table.target("n0") == "run"
    assert table.expand("n0 x") == ["run", "now", "x"]


def test_two_aliases_of_one():
    table = made(a="c", b="c", c="run")
    assert table.chains() == {"a": "run", "b": "run", "c": "run"}


def test_unknown_target():
    assert made(a="fly").target("a") == "fly"
    with pytest.raises(AliasError, match="unknown command fly"):
        made(a="fly").expand("a")
