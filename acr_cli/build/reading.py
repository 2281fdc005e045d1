"""JSON values back into the records that they were made from; see `events.plain`. Pure."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from acr_cli.records import VERDICT_NAMES

Record = TypeVar("Record")


def read(kind: type[Record], value: Any) -> Record:
    """A record of this kind. Fields that are not in the value keep their defaults; unknown ones are left out.

    Raises: ValueError for a value that no such record has been made into."""
    try:
        record: Record = _read(kind, value)
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"no {getattr(kind, '__name__', kind)}: {error}") from error
    return record


def read_fields(kind: type, value: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a record, by name, of which only some are given. Raises: ValueError."""
    hints = _hints(kind)
    return {name: read(hints[name], each) for name, each in value.items() if name in hints}


@cache
def _hints(kind: type) -> Mapping[str, Any]:
    return get_type_hints(kind)


def _read(kind: Any, value: Any) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _read_one_of(inner, value)
    if origin is tuple:
        kinds = inner[:1] * len(value) if inner[-1] is Ellipsis else inner
        return tuple(_read(each, part) for each, part in zip(kinds, value, strict=True))
    if origin in (list, Sequence):
        return [_read(inner[0], part) for part in value]
    if origin in (dict, Mapping):
        return {key: _read(inner[1], part) for key, part in value.items()}
    if isinstance(kind, type) and is_dataclass(kind):
        return _read_record(kind, value)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    if kind is float and isinstance(value, int):
        return float(value)
    if isinstance(kind, type) and not isinstance(value, kind):
        raise TypeError(f"{value!r} is no {kind.__name__}")
    return value


def _read_one_of(kinds: Sequence[Any], value: Any) -> Any:
    """Of a verdict the kind is named; else None, or the one other kind."""
    if value is None and type(None) in kinds:
        return None
    rest = [each for each in kinds if each is not type(None)]
    if len(rest) == 1:
        return _read(rest[0], value)
    return _read_record(next(each for each in rest if VERDICT_NAMES[each] == value["kind"]), value)


def _read_record(kind: type, value: Mapping[str, Any]) -> Any:
    hints = _hints(kind)
    if kind in VERDICT_NAMES and "evidence" in hints:  # its evidence lies flat beside its name
        return kind(evidence=_read(hints["evidence"], value))
    return kind(**{f.name: _read(hints[f.name], value[f.name]) for f in fields(kind) if f.name in value})
