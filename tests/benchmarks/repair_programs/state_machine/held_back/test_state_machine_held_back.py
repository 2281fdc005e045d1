import pytest
from machine import Machine, NotAllowed, Transition
from order_flow import new_order


def test_part_payment_waits():
    order = new_order()
    order.fire("submit")
    assert order.fire("pay", paid=5, total=20) == "waiting"
    assert order.fire("pay", paid=25, total=20) == "paid"
    assert order.fire("ship") == "shipped"
    assert order.history == ["cart", "waiting", "waiting", "paid"]


def test_guards_in_order():
    machine = Machine(
        "s",
        [
            Transition("go", "s", "small", guard=lambda context: context["n"] < 3),
            Transition("go", "s", "medium", guard=lambda context: context["n"] < 6),
            Transition("back", "*", "s"),
        ],
    )
    assert machine.fire("go", n=1) == "small"
    machine.fire("back")
    assert machine.fire("go", n=4) == "medium"
    machine.fire("back")
    with pytest.raises(NotAllowed, match="go was refused in s"):
        machine.fire("go", n=9)
    assert machine.state == "s"


def test_refusal_leaves_no_trace():
    order = new_order()
    with pytest.raises(NotAllowed):
        order.fire("cancel", reason="")
    assert order.state == "cart"
    assert order.history == []


def test_cancel_from_anywhere():
    order = new_order()
    order.fire("submit")
    assert order.fire("cancel", reason="r") == "cancelled"
    assert order.events() == ["cancel"]
