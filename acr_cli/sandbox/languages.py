"""The further languages of a tree: the same sandbox again, prepared for each of them."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from acr_cli.errors import SandboxUnavailable
from acr_cli.protocols import Recipe, Sandbox

S = TypeVar("S", bound=Sandbox)


def prepare_each(sandbox: S, recipe: Recipe, tree: Path) -> dict[str, S]:
    """A twin of the sandbox for each of `recipe.also`, by language.

    Raises: SandboxUnavailable that names the language."""
    twins: dict[str, S] = {}
    for other in recipe.also:
        twin = copy.copy(sandbox)
        same = replace(
            other, repository=recipe.repository, image=recipe.image, dockerfile=recipe.dockerfile, also=()
        )
        try:
            twin.prepare(same, tree)
        except SandboxUnavailable as error:
            hint = f"{error.hint} From inside another project of the repository, only that one is tested."
            raise SandboxUnavailable(f"For {other.language}: {error.message}", hint=hint.strip()) from error
        twins[other.language] = twin
    return twins
