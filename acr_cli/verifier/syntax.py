"""Whether the touched files parse."""

from __future__ import annotations

from collections.abc import Sequence

from acr_cli.errors import PathRefused
from acr_cli.protocols import Toolchain, Tree


def check(tree: Tree, toolchains: Sequence[Toolchain], touched: Sequence[str]) -> tuple[float, str]:
    """The share of the touched files that parse, and what is wrong with the first that does not."""
    errors = []
    for path in touched:
        try:
            file = tree.path(path)
        except PathRefused as refused:
            errors.append(refused.message)
            continue
        toolchain = next((t for t in toolchains if path.endswith(t.extensions or ("\0",))), None)
        if toolchain is None or file.is_symlink() or not file.is_file():
            continue
        error = toolchain.syntax_error(path, file.read_bytes())
        if error:
            errors.append(f"{path} does not parse: {error}.")
    return 1.0 - len(errors) / len(touched), errors[0] if errors else ""
