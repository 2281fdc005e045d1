import math

import pytest
from shortest_path import NoRoute, distance, route, within

ROADS = {
    "a": {"b": 4, "c": 1},
    "b": {"d": 1},
    "c": {"b": 2, "d": 7},
    "d": {},
}


def test_cheapest_route_is_not_the_shortest():
    assert route(ROADS, "a", "d") == ["a", "c", "b", "d"]


def test_distance():
    assert distance(ROADS, "a", "d") == 4


def test_start_is_the_goal():
    assert route(ROADS, "b", "b") == ["b"]


def test_unreachable():
    assert distance(ROADS, "d", "a") == math.inf
    with pytest.raises(NoRoute, match="a cannot be reached from d"):
        route(ROADS, "d", "a")


def test_within_budget():
    assert within(ROADS, "a", 3) == ["a", "c", "b"]


def test_negative_costs_are_refused():
    with pytest.raises(ValueError, match="negative"):
        distance({"a": {"b": -1}}, "a", "b")


def test_free_ferry_both_ways():
    islands = {"x": {"y": 0}, "y": {"x": 0, "z": 5}}
    assert route(islands, "x", "z") == ["x", "y", "z"]
