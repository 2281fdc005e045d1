"""Put tasks into an order in which each comes after what it needs."""

import heapq
from collections import defaultdict
from collections.abc import Mapping, Sequence


class CycleError(ValueError):
    """Some tasks need each other in a circle."""


class Plan:
    def __init__(self) -> None:
        self._needs: dict[str, set[str]] = {}

    def add(self, task: str, needs: Sequence[str] = ()) -> None:
        self._needs.setdefault(task, set()).update(needs)
        for need in needs:
            self._needs.setdefault(need, set())

    @classmethod
    def of(cls, table: Mapping[str, Sequence[str]]) -> "Plan":
        plan = cls()
        for task, needs in table.items():
            plan.add(task, needs)
        return plan

    def order(self) -> list[str]:
        """All tasks; of those that could come next, the first by the alphabet does."""
        missing = {task: len(needs) for task, needs in self._needs.items()}
        followers: dict[str, list[str]] = defaultdict(list)
        for task, needs in self._needs.items():
            for need in needs:
                followers[need].append(task)
        ready = [task for task, number in missing.items() if number == 0]
        heapq.heapify(ready)
        result: list[str] = []
        while ready:
            task = heapq.heappop(ready)
            result.append(task)
            for follower in followers[task]:
                missing[follower] -= 1
                if missing[follower] == 0:
                    del missing[follower]
                heapq.heappush(ready, follower)
        if len(result) < len(self._needs):
            raise CycleError(", ".join(sorted(set(self._needs) - set(result))))
        return result

    def stages(self) -> list[list[str]]:
        """Tasks that can be done at the same time, stage by stage."""
        level: dict[str, int] = {}
        for task in self.order():
            level[task] = max((level[need] + 1 for need in self._needs[task]), default=0)
        count = max(level.values(), default=-1) + 1
        return [sorted(task for task in level if level[task] == stage) for stage in range(count)]
