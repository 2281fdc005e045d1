"""Cheapest routes in a directed graph with costs that are not negative (Dijkstra)."""

import heapq
import math
from collections.abc import Mapping

Graph = Mapping[str, Mapping[str, float]]


class NoRoute(LookupError):
    """There is no way from the start to the goal."""


def explore(graph: Graph, start: str) -> tuple[dict[str, float], dict[str, str]]:
    """The least cost to every reachable node, and the node before it; the first of equal routes stays."""
    cost = {start: 0.0}
    previous: dict[str, str] = {}
    queue = [(0.0, start)]
    while queue:
        spent, node = heapq.heappop(queue)
        if spent > cost[node]:
            continue
        for neighbour, weight in graph.get(node, {}).items():
            if weight < 0:
                raise ValueError(f"negative cost from {node} to {neighbour}")
            total = spent + weight
            if total <= cost.get(neighbour, math.inf):
                cost[neighbour] = total
                previous[neighbour] = node
                heapq.heappush(queue, (total, neighbour))
    return cost, previous


def route(graph: Graph, start: str, goal: str) -> list[str]:
    """The nodes of a cheapest route, both ends included."""
    cost, previous = explore(graph, start)
    if goal not in cost:
        raise NoRoute(f"{goal} cannot be reached from {start}")
    path = [goal]
    while path[-1] != start:
        path.append(previous[path[-1]])
    return path[::-1]


def distance(graph: Graph, start: str, goal: str) -> float:
    """The cost of a cheapest route, infinite when there is none."""
    cost, _ = explore(graph, start)
    return cost.get(goal, math.inf)


def within(graph: Graph, start: str, budget: float) -> list[str]:
    """All nodes that cost at most `budget`, cheapest first, then by name."""
    cost, _ = explore(graph, start)
    return sorted((node for node in cost if cost[node] <= budget), key=lambda node: (cost[node], node))
