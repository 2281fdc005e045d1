"""The sandbox of `auto` where an engine answers: the engine, unless it has no image for the language.

An image that is neither there nor can be pulled says nothing about the repository; where this machine has the
language's own programs, bubblewrap runs the tests as well. A user who has named an image means it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from acr_cli.errors import SandboxUnavailable
from acr_cli.events import Emit, Notice, SandboxReady
from acr_cli.protocols import Recipe, Sandbox, ServesLanguages, Session
from acr_cli.sandbox.images import ImageMissing


class Falling:
    """The first sandbox until it lacks an image, then the second."""

    def __init__(
        self, first: Sandbox, second: Callable[[], Sandbox], *, able: Callable[[str], bool], emit: Emit
    ) -> None:
        """`able`: whether the second can run the tests of a language."""
        self._now = first
        self.name = first.name
        self._second: Callable[[], Sandbox] | None = second
        self._able = able
        self._emit = emit

    def prepare(self, recipe: Recipe, tree: Path) -> None:
        try:
            self._now.prepare(recipe, tree)
        except ImageMissing as missing:
            languages = (recipe.language, *(other.language for other in recipe.also))
            if self._second is None or not all(map(self._able, languages)):
                raise
            try:
                second = self._second()
            except SandboxUnavailable as error:
                raise missing from error
            self._emit(Notice(level="warning", text=missing.message))
            self._emit(SandboxReady(sandbox=second.name, reason="since the engine lacks the image"))
            self._now, self._second, self.name = second, None, second.name
            self._now.prepare(recipe, tree)

    def of(self, language: str) -> Sandbox:
        return self._now.of(language) if isinstance(self._now, ServesLanguages) else self._now

    def open(self, tree: Path) -> AbstractContextManager[Session]:
        return self._now.open(tree)

    def sweep(self) -> tuple[str, ...]:
        return self._now.sweep()

    def describe(self) -> str:
        return self._now.describe()
