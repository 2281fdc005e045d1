"""The life of an order in a shop."""

from typing import Any

from machine import Machine, Transition


def is_paid(context: dict[str, Any]) -> bool:
    return bool(context.get("paid", 0) >= context.get("total", 0))


def new_order() -> Machine:
    return Machine(
        "cart",
        [
            Transition("submit", "cart", "waiting"),
            Transition("pay", "waiting", "paid", guard=is_paid),
            Transition("pay", "waiting", "waiting"),
            Transition("ship", "paid", "shipped"),
            Transition("cancel", "*", "cancelled", guard=lambda context: bool(context.get("reason"))),
        ],
    )
