import pytest
from patterns import Pattern
from router import MethodNotAllowed, NotFound, Router


@pytest.fixture
def router():
    router = Router()
    router.add("GET", "/", lambda: "home")
    router.add("GET", "/users/<int:id>", lambda id: ("user", id))
    router.add("POST", "/users/<int:id>", lambda id: ("saved", id))
    router.add("GET", "/files/<path:name>", lambda name: name)
    return router


def test_placeholder_kinds():
    assert Pattern.parse("/u/<int:id>/<tag>").match("/u/7/x") == {"id": 7, "tag": "x"}
    assert Pattern.parse("/u/<int:id>").match("/u/me") is None


def test_name_used_twice():
    with pytest.raises(ValueError, match="twice"):
        Pattern.parse("/<a>/<a>")


def test_root(router):
    assert router.dispatch("GET", "/") == "home"


def test_method_is_case_insensitive(router):
    assert router.dispatch("post", "/users/3") == ("saved", 3)


def test_trailing_slash(router):
    assert router.dispatch("GET", "/users/3/") == ("user", 3)


def test_query_is_ignored(router):
    assert router.dispatch("GET", "/users/3?full=1") == ("user", 3)


def test_path_placeholder(router):
    assert router.dispatch("GET", "/files/a/b.txt") == "a/b.txt"


def test_not_found(router):
    with pytest.raises(NotFound):
        router.dispatch("GET", "/nothing")


def test_method_not_allowed(router):
    with pytest.raises(MethodNotAllowed, match="GET, POST"):
        router.dispatch("DELETE", "/users/3")
