import pytest
from access import User, allowed, may, require
from roles import Role

ADMIN = Role("admin", granted={"*"})
AUDITOR = Role("auditor", granted={"logs:*"}, denied={"logs:delete"})
CHILD = Role("child", granted={"docs:write"}, parent=AUDITOR)


def test_no_roles_means_no_permission():
    assert not may(User("a"), "docs:read")


def test_ungranted_and_undenied():
    assert not may(User("a", [AUDITOR]), "docs:read")


def test_denied_by_the_same_role():
    assert may(User("a", [AUDITOR]), "logs:read")
    assert not may(User("a", [AUDITOR]), "logs:delete")


def test_denial_is_inherited():
    assert not may(User("a", [CHILD]), "logs:delete")
    assert may(User("a", [CHILD]), "docs:write")


def test_denied_even_to_an_admin():
    assert may(User("a", [ADMIN]), "logs:delete")
    assert not may(User("a", [ADMIN, AUDITOR]), "logs:delete")
    assert not may(User("a", [AUDITOR, ADMIN]), "logs:delete")


def test_inactive_admin():
    assert not may(User("a", [ADMIN], active=False), "x:y")


def test_filtering():
    assert allowed(User("a", [CHILD]), ["logs:read", "logs:delete", "users:add", "docs:write"]) == [
        "logs:read",
        "docs:write",
    ]


def test_require_passes_silently():
    require(User("a", [ADMIN]), "anything:at-all")
    with pytest.raises(PermissionError):
        require(User("a", []), "anything:at-all")
