"""Outcomes as bytes: a JSON record, a vector of little-endian float32, and a checksum over both.

The vector stands beside the record and not in it: three quarters of the space, and read without parsing. The
checksum (CRC-32) finds accidental damage; it is no signature.
"""

from __future__ import annotations

import json
import math
import sys
import zlib
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any, NamedTuple

from acr_cli.records import SCHEMA, Outcome, Price, Signal, Usage
from acr_cli.redaction import redact

CLIP = 0.01
"""Probabilities are held within [CLIP, 1 - CLIP] before their logarithm is taken."""


class Row(NamedTuple):
    """One outcome as the journal keeps it. The columns repeat what is counted and searched by."""

    sequence: int  # position in the journal; never used twice
    id: str
    run: str
    step: str
    time: float
    candidate: str
    dimension: str
    repository: str
    language: str
    verifier: str  # kind of verifier
    failed_before: str  # JSON: who had failed on the step already, sorted
    verdict: str
    shared: int  # 1 for shared credit
    u: float
    cost_usd: float
    seconds: float
    input_tokens: int
    output_tokens: int
    gains: str  # JSON: by voter, as `gains_of` says; "" where there are none
    embedder: str
    origin: str  # "" for an own outcome, else the member of the team that it came from
    checksum: int
    record: str
    vector: bytes

    @property
    def teaches(self) -> bool:
        """As `Outcome.teaches`."""
        return not self.shared and self.verdict in ("passed", "failed")

    @property
    def sound(self) -> bool:
        """Whether nothing of it has changed since it was written."""
        try:
            return self.checksum == checksum(self)
        except (TypeError, ValueError, AttributeError):  # a damaged cell may have another type
            return False


COVERED = Row._fields.index("checksum")  # columns below this one are in the checksum, as are the two above


def encode(outcome: Outcome, *, store_text: bool, now: float = math.inf, origin: str = "") -> Row:
    """The row of an outcome, its sequence still 0. Text and notes are redacted, and left out without
    `store_text`. An outcome from after `now`, by a clock that went wrong, counts as one of now; its record
    keeps its time.

    Raises: ValueError when a number is not finite."""
    kept = _redacted(outcome) if store_text else _without_text(outcome)
    vector = pack(kept.vector)
    _check_finite(kept, vector)
    record = asdict(kept)
    del record["vector"]
    row = Row(
        sequence=0,
        id=clean(kept.id),
        run=clean(kept.run),
        step=clean(kept.step),
        time=min(float(kept.time), now),
        candidate=clean(kept.candidate),
        repository=clean(kept.repository),
        verdict=clean(kept.verdict),
        shared=int(kept.shared_credit),
        u=float(kept.u),
        cost_usd=float(kept.cost_usd),
        seconds=float(kept.seconds),
        embedder=clean(kept.embedder),
        origin=clean(origin),
        checksum=0,
        record=json.dumps({"schema": SCHEMA, **record}, separators=(",", ":"), allow_nan=False),
        vector=vector,
        **counted(kept),
    )
    return row._replace(checksum=checksum(row))


def reencoded(row: Row, **changes: Any) -> Row:
    """A sound row with fields of its outcome changed; position, origin and the time it counts at stay."""
    fresh = encode(replace(decode(row), **changes), store_text=True, origin=row.origin)
    fresh = fresh._replace(sequence=row.sequence, time=row.time)
    return fresh._replace(checksum=checksum(fresh))


def counted(outcome: Outcome) -> dict[str, Any]:
    """The columns by which a policy tells outcomes apart, and what it counts beside cost and time."""
    return {
        "dimension": clean(outcome.dimension),
        "language": clean(outcome.language),
        "verifier": clean(outcome.verifier),
        "failed_before": json.dumps(sorted(clean(name) for name in outcome.failed_before)),
        "input_tokens": int(outcome.usage.input_tokens),
        "output_tokens": int(outcome.usage.output_tokens),
        "gains": json.dumps(gains) if (gains := gains_of(outcome)) else "",
    }


def gains_of(outcome: Outcome) -> dict[str, float]:
    """By voter: log of the probability that it gave to what happened, less that of all voters together.

    Natural logarithms. Nothing for an outcome that does not teach, or of which nothing was expected."""
    if not outcome.teaches or outcome.p_success is None:
        return {}
    together = _log_likelihood(outcome.p_success, outcome.passed)
    return {clean(voter): _log_likelihood(p, outcome.passed) - together for voter, p in outcome.votes}


def _log_likelihood(p: float, passed: bool) -> float:
    clipped = min(max(p, CLIP), 1 - CLIP)
    return math.log(clipped if passed else 1 - clipped)


def decode(row: Row) -> Outcome:
    """The outcome of a sound row; fields that this version does not know are left out."""
    record = json.loads(row.record)
    return Outcome(
        **_known(Outcome, record)
        | {
            "vector": unpack(row.vector),
            "price": Price(**_known(Price, record["price"])),
            "usage": Usage(**_known(Usage, record["usage"])),
            "signals": tuple(Signal(**_known(Signal, signal)) for signal in record["signals"]),
            "available": tuple(record["available"]),
            "failed_before": tuple(record["failed_before"]),
            "votes": tuple((voter, vote) for voter, vote in record.get("votes", ())),
        }
    )


def clean(text: str) -> str:
    """The text as a column holds it: names that come from file systems may not be valid Unicode."""
    return str(text).encode("utf-8", "backslashreplace").decode("utf-8")


def pack(vector: Sequence[float]) -> bytes:
    """Four bytes a number, little-endian."""
    numbers = array("f", vector)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def unpack(blob: bytes) -> tuple[float, ...]:
    """The inverse of `pack`, at the precision of float32."""
    numbers = array("f")
    numbers.frombytes(blob)
    if sys.byteorder == "big":
        numbers.byteswap()
    return tuple(numbers)


def checksum(row: Row) -> int:
    """Of all that a row holds but its position."""
    columns = repr(row[1:COVERED]).encode("utf-8")
    return zlib.crc32(row.vector, zlib.crc32(row.record.encode("utf-8"), zlib.crc32(columns)))


def _without_text(outcome: Outcome) -> Outcome:
    signals = tuple(replace(signal, note="") for signal in outcome.signals)
    return replace(outcome, text="", signals=signals)


def _redacted(outcome: Outcome) -> Outcome:
    signals = tuple(replace(signal, note=redact(signal.note)) for signal in outcome.signals)
    return replace(outcome, text=redact(outcome.text), signals=signals)


def _check_finite(outcome: Outcome, vector: bytes) -> None:
    numbers = {
        "time": outcome.time,
        "u": outcome.u,
        "cost_usd": outcome.cost_usd,
        "seconds": outcome.seconds,
        "propensity": outcome.propensity,
        "p_success": outcome.p_success or 0.0,
        "votes": sum(abs(vote) for _, vote in outcome.votes),
        "vector": sum(map(abs, unpack(vector))),  # a number may be finite and still too large for float32
    }
    for name, number in numbers.items():
        if not math.isfinite(number):
            raise ValueError(f"its {name} is not a finite number")


def _known(kind: type[Any], record: Mapping[str, Any]) -> dict[str, Any]:
    names = {field.name for field in fields(kind)}
    return {name: value for name, value in record.items() if name in names}
