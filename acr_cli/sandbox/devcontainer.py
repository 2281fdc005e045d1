"""What a repository's devcontainer.json says of its image; read, never run.

Taken only where the user asks for it (`--image devcontainer`): the image is the repository's choice, and so
is what its Dockerfile does while it is built. Features, mounts and commands of the file are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from posixpath import normpath
from typing import Any

from acr_cli.errors import UsageError
from acr_cli.sandbox.files import is_inside

_PLACES = (".devcontainer/devcontainer.json", ".devcontainer.json", ".devcontainer/*/devcontainer.json")
_PLAIN = re.compile(
    r'("(?:[^"\\]|\\.)*+\\?(?:"|\Z))|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL
)  # a text, or a comment
_COMMA = re.compile(r'("(?:[^"\\]|\\.)*+\\?(?:"|\Z))|,(?=\s*[}\]])', re.DOTALL)


@dataclass(frozen=True, kw_only=True, slots=True)
class Named:
    """An image, or a Dockerfile and the folder that it is built in, both relative to the tree."""

    image: str = ""
    dockerfile: str = ""
    context: str = "."


def read(tree: Path) -> Named:
    """What the first devcontainer.json names.

    Raises: UsageError where there is none, or it names neither an image nor a Dockerfile."""
    found = (path for place in _PLACES for path in sorted(tree.glob(place)))
    file = next((path for path in found if path.is_file() and is_inside(tree, path)), None)
    if file is None:
        raise UsageError(
            "There is no devcontainer.json in this repository.", hint="Name an image with --image."
        )
    where = file.relative_to(tree).as_posix()
    content = _object(file, where)
    if isinstance(image := content.get("image"), str):
        return Named(image=image)
    build = content.get("build")
    build = build if isinstance(build, Mapping) else {}
    dockerfile = build.get("dockerfile", build.get("dockerFile", content.get("dockerFile")))
    if not isinstance(dockerfile, str):
        raise UsageError(
            f"{where} names neither an image nor a Dockerfile.", hint="Name an image with --image."
        )
    folder = where.rpartition("/")[0] or "."
    context = _inside(folder, str(build.get("context", content.get("context", "."))), where)
    return Named(dockerfile=_inside(folder, dockerfile, where), context=context)


def _object(file: Path, where: str) -> Mapping[str, Any]:
    """JSON with comments and commas before a closing bracket, as editors write it."""
    text = _PLAIN.sub(lambda found: found.group(1) or " ", file.read_text(encoding="utf-8", errors="replace"))
    try:
        content = json.loads(_COMMA.sub(lambda found: found.group(1) or "", text))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where} cannot be read: {error}.") from error
    if not isinstance(content, dict):
        raise UsageError(f"{where} holds no object.")
    return content


def _inside(folder: str, path: str, where: str) -> str:
    joined = normpath(f"{folder}/{path}")
    if joined.startswith(("..", "/")):
        raise UsageError(f"{where} names {path}, which lies outside of the repository.")
    return joined
