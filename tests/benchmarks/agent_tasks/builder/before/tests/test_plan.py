import pytest

from builder.plan import Plan

TEXT = """
# a small program
app: main.o util.o | link main.o util.o
main.o: config | compile main
util.o: | compile util
config: | configure
"""


def test_steps_follow_the_dependencies():
    assert Plan(TEXT).steps() == ["configure", "compile main", "compile util", "link main.o util.o"]


def test_independent_steps_are_in_alphabetical_order():
    assert Plan("b: | two\na: | one").steps() == ["one", "two"]


def test_a_cycle_is_named():
    from builder.errors import CycleError

    with pytest.raises(CycleError, match="a -> b -> a"):
        Plan("a: b | one\nb: a | two").steps()


def test_description():
    assert Plan("a: | one").describe() == "1. one"
