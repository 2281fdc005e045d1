import math

import pytest
from shortest_path import distance, explore, route, within


def test_loop_of_no_cost():
    assert distance({"a": {"a": 0, "b": 1}}, "a", "b") == 1


def test_cycle_with_cost():
    graph = {"a": {"b": 1}, "b": {"c": 1}, "c": {"a": 1, "d": 1}}
    assert route(graph, "a", "d") == ["a", "b", "c", "d"]
    assert distance(graph, "b", "a") == 2


def test_first_of_equal_routes():
    graph = {"a": {"b": 1, "c": 1}, "b": {"d": 1}, "c": {"d": 1}}
    assert route(graph, "a", "d") == ["a", "b", "d"]


def test_free_ring():
    graph = {"a": {"b": 0}, "b": {"c": 0}, "c": {"a": 0, "d": 2}}
    assert within(graph, "a", 0) == ["a", "b", "c"]
    assert distance(graph, "a", "d") == 2
    assert explore(graph, "a")[1] == {"b": "a", "c": "b", "d": "c"}


def test_later_cheaper_route_replaces_the_first():
    graph = {"a": {"d": 10, "b": 1}, "b": {"c": 1}, "c": {"d": 1}}
    assert distance(graph, "a", "d") == 3
    assert route(graph, "a", "d") == ["a", "b", "c", "d"]


def test_unknown_start():
    assert distance({}, "a", "b") == math.inf
    assert within({}, "a", 1) == ["a"]


def test_negative_far_away():
    with pytest.raises(ValueError):
        explore({"a": {"b": 1}, "b": {"c": -0.5}}, "a")
