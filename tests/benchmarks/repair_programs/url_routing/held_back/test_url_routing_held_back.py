import pytest
from router import NotFound, Router


def made(strict):
    router = Router(strict=strict)
    router.add("GET", "/", lambda: "home")
    router.add("GET", "/a", lambda: "a")
    router.add("GET", "/b/<x>", lambda x: x)
    return router


def test_strict_router_tells_them_apart():
    router = made(True)
    assert router.dispatch("GET", "/a") == "a"
    with pytest.raises(NotFound):
        router.dispatch("GET", "/a/")
    with pytest.raises(NotFound):
        router.dispatch("GET", "/b/1/")


def test_strict_route_with_a_slash():
    router = made(True)
    router.add("GET", "/c/", lambda: "c")
    assert router.dispatch("GET", "/c/") == "c"
    with pytest.raises(NotFound):
        router.dispatch("GET", "/c")


def test_lenient_router():
    router = made(False)
    assert router.dispatch("GET", "/a") == "a"
    assert router.dispatch("GET", "/a//") == "a"
    assert router.dispatch("GET", "/b/1/?q=/") == "1"
    assert router.dispatch("GET", "/a/?q=1") == "a"


@pytest.mark.parametrize("strict", [True, False])
def test_root(strict):
    assert made(strict).dispatch("GET", "/") == "home"
    assert made(strict).dispatch("GET", "/?a=b") == "home"


def test_first_route_wins():
    router = made(False)
    router.add("GET", "/<y>", lambda y: y)
    assert router.dispatch("GET", "/a") == "a"
    assert router.dispatch("GET", "/z/") == "z"
