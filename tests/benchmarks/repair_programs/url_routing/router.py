"""Find the handler of a request."""

from collections.abc import Callable
from typing import Any

from patterns import Pattern

Handler = Callable[..., Any]


class NotFound(LookupError):
    """No route has this path."""


class MethodNotAllowed(Exception):
    """There is a route, but not for this method."""


class Router:
    """Routes are tried in the order they were added; only a strict router tells `/a/` from `/a`."""

    def __init__(self, strict: bool = False) -> None:
        self.strict = strict
        self._routes: list[tuple[str, Pattern, Handler]] = []

    def add(self, method: str, pattern: str, handler: Handler) -> None:
        self._routes.append((method.upper(), Pattern.parse(pattern), handler))

    def _normal(self, path: str) -> str:
        path = path.partition("?")[0]
        if self.strict and path != "/":
            path = path.rstrip("/")
        return path

    def resolve(self, method: str, path: str) -> tuple[Handler, dict[str, Any]]:
        path = self._normal(path)
        allowed = []
        for verb, pattern, handler in self._routes:
            values = pattern.match(path)
            if values is None:
                continue
            if verb == method.upper():
                return handler, values
            allowed.append(verb)
        if allowed:
            raise MethodNotAllowed(", ".join(sorted(allowed)))
        raise NotFound(path)

    def dispatch(self, method: str, path: str) -> Any:
        handler, values = self.resolve(method, path)
        return handler(**values)
