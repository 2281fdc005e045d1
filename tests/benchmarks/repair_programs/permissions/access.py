"""Decide what a user may do, from the user's roles."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from roles import Role


@dataclass
class User:
    name: str
    roles: list[Role] = field(default_factory=list)
    active: bool = True


def may(user: User, permission: str) -> bool:
    """A permission needs a grant from some role and no denial from any role."""
    if not user.active:
        return False
    granted = any(role.grants(permission) for role in user.roles)
    denied = any(role.denies(permission) for role in user.roles)
    return granted or not denied


def allowed(user: User, permissions: Iterable[str]) -> list[str]:
    """Those of `permissions` that the user has, in the order given."""
    return [permission for permission in permissions if may(user, permission)]


def require(user: User, permission: str) -> None:
    if not may(user, permission):
        raise PermissionError(f"{user.name} lacks {permission}")
