import pytest
from access import User, allowed, may, require
from roles import Role, matches

READER = Role("reader", granted={"docs:read"})
EDITOR = Role("editor", granted={"docs:write"}, parent=READER)
SUSPENDED = Role("suspended", denied={"docs:write"})


def test_exact_pattern():
    assert matches("docs:read", "docs:read")
    assert not matches("docs:read", "docs:write")


def test_wildcard_pattern():
    assert matches("docs:*", "docs:read")
    assert not matches("docs:*", "users:read")


def test_granted_by_a_role():
    assert may(User("ann", [READER]), "docs:read")


def test_granted_by_the_parent_role():
    assert may(User("bob", [EDITOR]), "docs:read")


def test_denial_wins_over_a_grant():
    assert not may(User("cem", [EDITOR, SUSPENDED]), "docs:write")


def test_inactive_users_may_nothing():
    assert not may(User("dee", [EDITOR], active=False), "docs:read")


def test_allowed_keeps_the_order():
    assert allowed(User("eve", [EDITOR]), ["docs:write", "docs:read"]) == ["docs:write", "docs:read"]


def test_require_names_the_missing_permission():
    with pytest.raises(PermissionError, match="fay lacks docs:write"):
        require(User("fay", [READER]), "docs:write")
