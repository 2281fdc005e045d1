import pytest
from machine import Machine, NotAllowed, Transition
from order_flow import new_order


def test_plain_transition():
    order = new_order()
    assert order.fire("submit") == "waiting"
    assert order.history == ["cart"]


def test_unknown_event():
    with pytest.raises(NotAllowed, match="ship in cart"):
        new_order().fire("ship")


def test_events():
    assert new_order().events() == ["cancel", "submit"]


def test_cancelling_with_a_reason():
    assert new_order().fire("cancel", reason="too late") == "cancelled"


def test_cancelling_without_a_reason():
    with pytest.raises(NotAllowed, match="refused"):
        new_order().fire("cancel")


def test_full_payment():
    order = new_order()
    order.fire("submit")
    assert order.fire("pay", paid=20, total=20) == "paid"


def test_first_of_two_transitions():
    machine = Machine("a", [Transition("go", "a", "b"), Transition("go", "a", "c")])
    assert machine.fire("go") == "b"


def test_loop():
    machine = Machine("a", [Transition("stay", "a", "a")])
    machine.fire("stay")
    machine.fire("stay")
    assert machine.history == ["a", "a"]
