"""Who is a friend of whom; friendship holds both ways."""

from collections import deque


class Friendships:
    def __init__(self) -> None:
        self._friends: dict[str, set[str]] = {}

    def join(self, person: str) -> None:
        self._friends.setdefault(person, set())

    def befriend(self, one: str, other: str) -> None:
        if one == other:
            raise ValueError("nobody is their own friend")
        self.join(one)
        self.join(other)
        self._friends[one].add(other)

    def part(self, one: str, other: str) -> None:
        """End a friendship, if there is one."""
        self._friends.get(one, set()).discard(other)
        self._friends.get(other, set()).discard(one)

    def leave(self, person: str) -> None:
        for friend in self._friends.pop(person, set()):
            self._friends[friend].discard(person)

    def friends(self, person: str) -> list[str]:
        return sorted(self._friends.get(person, ()))

    def mutual(self, one: str, other: str) -> list[str]:
        """The friends that both have."""
        return sorted(self._friends.get(one, set()) & self._friends.get(other, set()))

    def steps(self, start: str, goal: str) -> int | None:
        """Over how many friendships one gets from start to goal, None when not at all."""
        queue = deque([(start, 0)])
        seen = {start}
        while queue:
            person, distance = queue.popleft()
            if person == goal:
                return distance
            for friend in self.friends(person):
                if friend not in seen:
                    seen.add(friend)
                    queue.append((friend, distance + 1))
        return None

    def suggestions(self, person: str) -> list[str]:
        """Friends of friends, those with most friends in common first."""
        known = self._friends.get(person, set())
        others = {far for friend in known for far in self._friends[friend]} - known - {person}
        return sorted(others, key=lambda other: (-len(self.mutual(person, other)), other))
