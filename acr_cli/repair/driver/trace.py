"""Which lines run, and which types the names have: a tracer for files below one root."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

SAMPLED_RETURNS = 20  # calls of one function whose local names are looked at
SAMPLED_ATTRIBUTES = 30  # attributes of one `self`


class Tracer:
    """Records executed lines below `root`, and the types of local names when functions return.

    `lines` maps a relative path to the set of lines since the last `take`; `types` maps
    "path:first line of the function" to {name: set of type names} and only grows.
    """

    def __init__(self, root: str, skip: frozenset[str] = frozenset()) -> None:
        self.root = os.path.join(os.path.realpath(root), "")
        self.skip = skip
        self.lines: dict[str, set[int]] = {}
        self.types: dict[str, dict[str, set[str]]] = {}
        self._files: dict[str, str] = {}
        self._returns: dict[Any, int] = {}
        self._before: dict[str, set[int]] = {}

    def start(self) -> None:
        threading.settrace(self._call)
        sys.settrace(self._call)

    def stop(self) -> None:
        sys.settrace(None)
        threading.settrace(None)

    def take(self, whole: bool = False) -> dict[str, list[int]]:
        """The lines since the last call, sorted; `whole`: since the last whole call."""
        taken, self.lines = self.lines, {}
        if whole:
            for path, lines in self._before.items():
                taken.setdefault(path, set()).update(lines)
            self._before = {}
        else:
            for path, lines in taken.items():
                self._before.setdefault(path, set()).update(lines)
        return {path: sorted(lines) for path, lines in taken.items()}

    def _relative(self, filename: str) -> str:
        known = self._files.get(filename)
        if known is None:
            full = os.path.realpath(filename)
            known = full[len(self.root) :] if full.startswith(self.root) else ""
            if known in self.skip or not full.endswith(".py"):
                known = ""
            self._files[filename] = known
        return known

    def _call(self, frame: Any, event: str, arg: Any) -> Any:
        path = self._relative(frame.f_code.co_filename)
        if not path:
            return None

        def local(frame: Any, event: str, arg: Any) -> Any:  # noqa: ARG001 - the interpreter's interface
            if event == "line":
                self.lines.setdefault(path, set()).add(frame.f_lineno)
            elif event == "return":
                self._look_at(path, frame)
            return local

        return local

    def _look_at(self, path: str, frame: Any) -> None:
        code = frame.f_code
        seen = self._returns.get(code, 0)
        if seen >= SAMPLED_RETURNS or code.co_name == "<module>":
            return
        self._returns[code] = seen + 1
        names = self.types.setdefault("%s:%d" % (path, code.co_firstlineno), {})
        for name, value in list(frame.f_locals.items()):
            names.setdefault(name, set()).add(type(value).__name__)
        attributes = getattr(frame.f_locals.get("self"), "__dict__", None)
        if isinstance(attributes, dict):
            for name, value in list(attributes.items())[:SAMPLED_ATTRIBUTES]:
                names.setdefault("self.%s" % (name,), set()).add(type(value).__name__)
