import pytest
from alias_resolution import AliasError, AliasTable


@pytest.fixture
def table():
    table = AliasTable(["status", "log", "commit"])
    table.define("st", "status --short")
    table.define("s", "st")
    return table


def test_builtin_is_its_own_target(table):
    assert table.target("log") == "log"


def test_chain(table):
    assert table.target("s") == "status"


def test_expand(table):
    assert table.expand("s --branch 'my dir'") == ["status", "--short", "--branch", "my dir"]


def test_expand_nothing(table):
    assert table.expand("  ") == []


def test_unknown_command(table):
    with pytest.raises(AliasError, match="unknown command fly"):
        table.expand("fly away")


def test_builtins_cannot_be_redefined(table):
    with pytest.raises(AliasError, match="built-in"):
        table.define("log", "log --all")


def test_remove(table):
    table.remove("s")
    with pytest.raises(AliasError, match="no alias s"):
        table.remove("s")


def test_chains(table):
    assert table.chains() == {"s": "status", "st": "status"}


def test_loop_is_refused(table):
    table.define("a", "b --fast")
    table.define("b", "a --slow")
    with pytest.raises(AliasError):
        table.expand("a")
