"""What a patch found and what it made, kept in the run's folder, so that it can be taken back exactly."""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from acr_cli.worktree.delivery import Change, Content

CONTENTS = "contents.json.gz"


def keep_changes(folder: Path, changes: Mapping[str, Change]) -> None:
    """Keep the changes that are about to be written, in the place of older ones; a full disk keeps none."""
    packed = {
        name: {"before": _packed(change.before), "after": _packed(change.after)}
        for name, change in changes.items()
    }
    temporary = folder / f"{CONTENTS}.new"
    try:
        temporary.write_bytes(gzip.compress(json.dumps(packed).encode(), 6))
        temporary.replace(folder / CONTENTS)
    except OSError:  # the patch itself is kept, and most often enough
        for place in (temporary, folder / CONTENTS):
            with suppress(OSError):
                place.unlink(missing_ok=True)


def kept_changes(folder: Path) -> dict[str, Change] | None:
    """The changes that were kept last; None where there are none, or they are damaged."""
    try:
        kept = json.loads(gzip.decompress((folder / CONTENTS).read_bytes()))
        return {
            name: Change(before=_unpacked(change["before"]), after=_unpacked(change["after"]))
            for name, change in kept.items()
        }
    except (
        OSError,
        EOFError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        RecursionError,
        zlib.error,
    ):
        return None


def _packed(content: Content | None) -> list[str] | None:
    return None if content is None else [content.mode, base64.b64encode(content.data).decode()]


def _unpacked(packed: list[str] | None) -> Content | None:
    return None if packed is None else Content(mode=packed[0], data=base64.b64decode(packed[1]))
