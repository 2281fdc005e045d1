"""Outcomes in files that travel: JSON Lines and Parquet, written and read as a stream.

One outcome a line or row, all its fields, the vector as little-endian float32 (base64 in JSON Lines). What is
nested is JSON; in Parquet its text. `content` tells outcomes apart that carry the same id by accident.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import hashlib
import io
import json
import os
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import IO, Any, cast

from acr_cli import parquet
from acr_cli.errors import UsageError
from acr_cli.memory.encoding import clean, pack, unpack
from acr_cli.memory.schema import FILE_MODE
from acr_cli.records import SCHEMA, Outcome, Price, Signal, Usage

PAGE = 500  # rows of a Parquet file in memory at once
LONGEST = 32 * 2**20  # bytes of a line; what is longer is no outcome
LONGEST_ID = 1_000  # characters
VERDICTS = ("passed", "failed", "unverified")
RANGES = {"u": 1.0, "time": 253_402_300_799.0, "cost_usd": 1e9, "seconds": 1e10}  # from 0; in time to 9999
ROUNDING = 1e-6  # by which a number may leave its range
NESTED = ("price", "available", "failed_before", "signals", "usage", "votes")
FORMATS = "a name that ends in .jsonl, .jsonl.gz or .parquet"
IDENTITY = (
    "run",
    "step",
    "attempt",
    "time",
    "candidate",
    "dimension",
    "verdict",
    "cost_usd",
    "seconds",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Refused:
    """A line or row that is no outcome."""

    place: int  # from 1
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Taken:
    """What came of an import."""

    added: int
    known: int  # already here, or here before
    refused: tuple[Refused, ...] = ()


def content_of(outcome: Outcome) -> str:
    """What it is about, in 16 hexadecimal digits; the same with another vector, with text or without, and
    under an id that it was given because its own was taken."""
    told = json.dumps([base_id(outcome.id), *(getattr(outcome, name) for name in IDENTITY)])
    return hashlib.blake2b(told.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def base_id(id_: str) -> str:
    """The id without what made it another than one that was taken. Pure."""
    return id_.partition("~")[0]


# --- one outcome ----------------------------------------------------------------------------------


def to_json(outcome: Outcome) -> dict[str, Any]:
    """The shape of one line."""
    record = asdict(outcome)
    vector = base64.b64encode(pack(outcome.vector)).decode()
    return {"type": "outcome", "schema": SCHEMA, **record, "vector": vector, "content": content_of(outcome)}


def from_json(record: object) -> Outcome:
    """The inverse; fields that this version does not know are left out. Raises: ValueError, saying why."""
    if not isinstance(record, Mapping) or record.get("type") != "outcome":
        raise ValueError("it is no outcome")
    schema = record.get("schema")
    if isinstance(schema, bool) or not isinstance(schema, int):
        raise ValueError("it names no schema")
    if schema > SCHEMA:
        raise ValueError("a newer acr wrote it")
    return cast("Outcome", _built(Outcome, record))


def checked(outcome: Outcome) -> Outcome:
    """Itself, if its values are such that it may count among one's own. Raises: ValueError, saying why."""
    if not 0 < len(outcome.id) <= LONGEST_ID:
        raise ValueError(f"its id must have 1 to {LONGEST_ID} characters")
    if outcome.verdict not in VERDICTS:
        raise ValueError(f"its verdict is none of {', '.join(VERDICTS)}")
    for name, most in RANGES.items():
        if not -ROUNDING <= getattr(outcome, name) <= most + ROUNDING:
            raise ValueError(f"its {name} is not within 0 and {most:g}")
    if any(number < 0 for number in (outcome.attempt, *asdict(outcome.usage).values())):
        raise ValueError("it counts less than nothing")
    return outcome


def _built(kind: type[Any], record: object) -> Any:
    if not isinstance(record, Mapping):
        raise ValueError(f"{kind.__name__.lower()} is no object")
    values = {}
    for field in fields(kind):
        if field.name in record:
            try:
                values[field.name] = _SHAPES[str(field.type)](record[field.name])
            except (TypeError, ValueError, OverflowError, binascii.Error) as error:
                raise ValueError(f"its {field.name} cannot be read ({error})") from None
    try:
        return kind(**values)
    except TypeError:
        missing = [f.name for f in fields(kind) if f.name not in values]
        raise ValueError(f"it lacks {', '.join(missing[:3])}") from None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("no number")
    return float(value)


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError("no whole number")
    if value.bit_length() > 63:
        raise OverflowError("too large a number")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError("neither true nor false")
    return value


def _each(convert: Callable[[object], Any]) -> Callable[[object], tuple[Any, ...]]:
    def converted(value: object) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise TypeError("no list")
        return tuple(map(convert, value))

    return converted


def _vote(value: object) -> tuple[str, float]:
    if not isinstance(value, list) or len(value) != 2:
        raise TypeError("no vote")
    return _text(value[0]), _number(value[1])


def _vector(value: object) -> tuple[float, ...]:
    return unpack(base64.b64decode(_text(value), validate=True))


_SHAPES: Mapping[str, Callable[[object], Any]] = {
    "str": _text,
    "float": _number,
    "int": _whole,
    "bool": _flag,
    "float | None": lambda value: None if value is None else _number(value),
    "tuple[float, ...]": _vector,
    "tuple[str, ...]": _each(_text),
    "tuple[tuple[str, float], ...]": _each(_vote),
    "tuple[Signal, ...]": _each(lambda value: _built(Signal, value)),
    "Price": lambda value: _built(Price, value),
    "Usage": lambda value: _built(Usage, value),
}


# --- files ----------------------------------------------------------------------------------------


def write(name: str, outcomes: Iterable[Outcome]) -> int:
    """Write a file whole, 0600, or lines to standard output for "-"; how many.

    Raises: UsageError for a name of no known format, or where it cannot be written."""
    if name == "-":
        return _write_out(outcomes)
    path = Path(name).expanduser()
    kind = _format(path)
    try:
        with _replacing(path) as file:
            if kind == "parquet":
                return _write_parquet(file, path.parent, outcomes)
            raw = cast("IO[bytes]", gzip.GzipFile(fileobj=file, mode="wb")) if kind == "gz" else file
            text = io.TextIOWrapper(raw, encoding="utf-8")
            count = _write_lines(text, outcomes)
            text.flush()
            text.detach()
            if raw is not file:
                raw.close()
            return count
    except OSError as error:
        raise UsageError(f"{name} cannot be written: {error.strerror or error}.") from error


def read(name: str) -> Iterator[Outcome | Refused]:
    """The outcomes of a file, or of standard input for "-", one at a time.

    Raises: UsageError when the file as a whole cannot be read."""
    if name == "-":
        yield from _read_lines(sys.stdin.buffer)
        return
    path = Path(name).expanduser()
    try:
        path.stat()
        kind = _format(path)
        if kind == "parquet":
            yield from _read_parquet(path)
            return
        with gzip.open(path, "rb") if kind == "gz" else path.open("rb") as file:
            yield from _read_lines(cast("IO[bytes]", file))
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"{name} cannot be read: {reason}.") from error


def _format(path: Path) -> str:
    name = path.name.lower()
    for end, kind in ((".parquet", "parquet"), (".gz", "gz"), (".jsonl", "lines"), (".ndjson", "lines")):
        if name.endswith(end):
            return kind
    raise UsageError(f"{path} is of no known format.", hint=f"Give {FORMATS}, or - for lines.")


@contextmanager
def _replacing(path: Path) -> Iterator[IO[bytes]]:
    """A new file that takes the place of `path` when all of it is written."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(FILE_MODE)
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def _write_out(outcomes: Iterable[Outcome]) -> int:
    count = _write_lines(sys.stdout, outcomes)
    sys.stdout.flush()
    return count


def _write_lines(file: IO[str], outcomes: Iterable[Outcome]) -> int:
    count = 0
    for outcome in outcomes:
        file.write(json.dumps(to_json(outcome), separators=(",", ":")) + "\n")
        count += 1
    return count


def _read_lines(file: IO[bytes]) -> Iterator[Outcome | Refused]:
    for place, line in enumerate(_lines(file), start=1):
        if not line.strip():
            continue
        if len(line) > LONGEST:
            yield Refused(place=place, reason=f"it is longer than {LONGEST // 2**20} MiB")
            continue
        try:
            yield checked(from_json(json.loads(line)))
        except (ValueError, RecursionError) as error:
            reason = "it is no JSON" if isinstance(error, json.JSONDecodeError) else str(error)
            yield Refused(place=place, reason=reason)


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    """The lines; of one that is too long only the beginning, one byte longer than what is allowed."""
    while line := file.readline(LONGEST + 1):
        yield line
        while len(line) > LONGEST and not line.endswith(b"\n"):
            line = file.readline(LONGEST + 1)


def _write_parquet(file: IO[bytes], folder: Path, outcomes: Iterable[Outcome]) -> int:
    import polars as pl

    # polars streams from a file and not from a generator: the rows take the way over one.
    with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".ndjson", encoding="utf-8") as lines:
        count = 0
        for outcome in outcomes:
            # polars refuses what is not valid Unicode, as names from file systems may be.
            record = _valid(to_json(outcome))
            flat = {name: json.dumps(record[name]) for name in NESTED}
            lines.write(json.dumps(record | flat, separators=(",", ":")) + "\n")
            count += 1
        lines.flush()
        frame = pl.scan_ndjson(lines.name, schema=_columns())
        frame.with_columns(pl.col("vector").str.decode("base64")).sink_parquet(file)
    return count


def _valid(value: Any) -> Any:
    match value:
        case str():
            return clean(value)
        case dict():
            return {key: _valid(each) for key, each in value.items()}
        case list() | tuple():
            return [_valid(each) for each in value]
        case _:
            return value


def _columns() -> dict[str, Any]:
    import polars as pl

    kinds = {"str": pl.String, "float": pl.Float64, "int": pl.Int64, "bool": pl.Boolean}
    kinds["float | None"] = pl.Float64
    columns: dict[str, Any] = {"schema": pl.Int64, "content": pl.String}
    return columns | {field.name: kinds.get(str(field.type), pl.String) for field in fields(Outcome)}


def _read_parquet(path: Path) -> Iterator[Outcome | Refused]:
    import polars as pl

    start = 0
    try:
        parquet.check(path)
        frame = pl.scan_parquet(path, glob=False)  # the name is a name, and no pattern
        known = set(frame.collect_schema())
        wanted = [name for name in _columns() if name in known]
        while True:
            rows = frame.select(wanted).slice(start, PAGE).collect().to_dicts()
            for place, row in enumerate(rows, start=start + 1):
                yield _from_row(place, row)
            if len(rows) < PAGE:
                return
            start += PAGE
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0]
        raise UsageError(f"{path} is no Parquet file that acr can read: {reason}.") from error


def _from_row(place: int, row: dict[str, Any]) -> Outcome | Refused:
    try:
        nested = {name: json.loads(row[name]) for name in NESTED if row.get(name) is not None}
        vector = row.get("vector") or b""
        text = base64.b64encode(vector).decode() if isinstance(vector, bytes) else vector
        return checked(from_json({"type": "outcome", **row, **nested, "vector": text}))
    except (TypeError, ValueError, RecursionError) as error:
        return Refused(place=place, reason=str(error))
