import pytest
from topological_sort import CycleError, Plan

DIAMOND = {"b": ["a"], "c": ["a"], "d": ["b", "c"]}


def test_diamond():
    assert Plan.of(DIAMOND).order() == ["a", "b", "c", "d"]
    assert Plan.of(DIAMOND).stages() == [["a"], ["b", "c"], ["d"]]


def test_every_task_once_and_after_its_needs():
    table = {f"t{number}": [f"t{need}" for need in range(number)] for number in range(8)}
    order = Plan.of(table).order()
    assert order == [f"t{number}" for number in range(8)]
    assert len(set(order)) == len(order)


def test_last_need_decides():
    plan = Plan.of({"a": ["x", "y", "z"], "y": ["x"], "z": ["y"]})
    assert plan.order() == ["x", "y", "z", "a"]
    assert plan.stages() == [["x"], ["y"], ["z"], ["a"]]


def test_need_given_twice():
    plan = Plan()
    plan.add("b", ["a"])
    plan.add("b", ["a", "a"])
    assert plan.order() == ["a", "b"]


def test_circle_behind_a_task():
    with pytest.raises(CycleError, match=r"^b, c, d$"):
        Plan.of({"b": ["a", "c"], "c": ["b"], "d": ["c"]}).order()


def test_task_that_needs_itself():
    with pytest.raises(CycleError, match=r"^a$"):
        Plan.of({"a": ["a"]}).order()
