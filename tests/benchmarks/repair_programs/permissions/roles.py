"""Roles: named sets of granted and denied permissions."""

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass
class Role:
    name: str
    granted: set[str] = field(default_factory=set)
    denied: set[str] = field(default_factory=set)
    parent: "Role | None" = None

    def lineage(self) -> Iterator["Role"]:
        """The role itself, then its parents up to the root."""
        role: Role | None = self
        while role is not None:
            yield role
            role = role.parent

    def grants(self, permission: str) -> bool:
        return any(matches(pattern, permission) for role in self.lineage() for pattern in role.granted)

    def denies(self, permission: str) -> bool:
        return any(matches(pattern, permission) for role in self.lineage() for pattern in role.denied)


def matches(pattern: str, permission: str) -> bool:
    """Whether `docs:*` or `docs:read` covers `docs:read`."""
    if pattern == "*":
        return True
    if pattern.endswith(":*"):
        return permission.startswith(pattern[:-1])
    return pattern == permission
