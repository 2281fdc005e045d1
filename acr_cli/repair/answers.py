"""What the driver answers, looked at before anything of it is used: code in the sandbox can write it too."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from acr_cli.errors import SandboxBroken


class DriverFailed(SandboxBroken):
    """The driver gave no answer, or one that says so: it may be the repository's doing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Record:
    """An object with these fields; others may stand beside them."""

    needed: Mapping[str, Any]
    known: Mapping[str, Any] = field(default_factory=dict)  # may be missing


@dataclass(frozen=True, kw_only=True, slots=True)
class _Each:
    """An object whose every value is of this shape."""

    value: Any


_LINES = _Each(value=[int])
_HOW = {"lines": _LINES, "late": _LINES, "frames": [(str, int)], "exception": str, "message": str}
_SEEN = _Each(value=_Record(needed={"outcome": str, "seconds": float}, known=_HOW))
_SURVEY = _Record(
    needed={
        "runner": str,
        "folders": [str],
        "targets": _Each(value=str),
        "failing": _SEEN,
        "others": _SEEN,
        "collected": int,
        "imported": _LINES,
        "types": _Each(value=_Each(value=[str])),
        "errors": [_Record(needed={"collect_error": str}, known=_HOW)],
        "modules": [str],
        "seconds": float,
        "everything": float,
        "peak": int,
    }
)
_TRIED = _Record(needed={"n": int, "passed": [str], "full": bool, "how": str})


def surveyed(answer: bytes) -> dict[str, Any]:
    """The survey. Raises: DriverFailed, also where the driver says why there is none."""
    lines = [line for line in answer.splitlines() if line]
    if not lines:
        raise DriverFailed("The survey of the tests gave no answer.")
    said = _read(lines[-1])
    if isinstance(said, dict) and "error" in said:
        why = str(said["error"]).strip().splitlines() or ["it does not say why"]
        raise DriverFailed(f"The survey of the tests failed: {why[-1][:200]}")
    if not _fits(said, _SURVEY):
        raise DriverFailed("The survey of the tests is damaged.")
    found: dict[str, Any] = said
    return found


def tried(answer: bytes, numbers: Collection[int]) -> Iterator[dict[str, Any]]:
    """How candidates of these numbers did. Raises: DriverFailed."""
    for line in answer.splitlines():
        said = _read(line)
        if isinstance(said, dict) and "n" not in said:
            continue  # about the search itself
        if not _fits(said, _TRIED) or said["n"] not in numbers:
            raise DriverFailed("The results of a search for a repair are damaged.")
        yield said


def _read(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DriverFailed("The driver of repair has answered what is no JSON.") from error


def _fits(value: Any, shape: Any) -> bool:
    """Whether a value is of a shape; numbers are finite and not negative. Pure."""
    match shape:
        case _Record():
            known = isinstance(value, dict) and all(
                name not in value or _fits(value[name], of) for name, of in shape.known.items()
            )
            return known and all(
                name in value and _fits(value[name], of) for name, of in shape.needed.items()
            )
        case _Each():
            return isinstance(value, dict) and all(_fits(each, shape.value) for each in value.values())
        case list():
            return isinstance(value, list) and all(_fits(each, shape[0]) for each in value)
        case tuple():
            sized = isinstance(value, list) and len(value) == len(shape)
            return sized and all(_fits(each, of) for each, of in zip(value, shape, strict=True))
        case _ if shape is float:
            number = isinstance(value, int | float) and not isinstance(value, bool)
            return number and math.isfinite(value) and 0 <= value < 1e9
        case _ if shape is int:
            return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63
        case _:
            return isinstance(value, shape)
