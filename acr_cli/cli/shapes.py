"""The JSON shapes that scripts depend on: fields may be added, never renamed. Pure."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from acr_cli.events import Event, RunFinished, RunStarted, plain, to_json
from acr_cli.records import SCHEMA, Forecast, RunResult, Status

if TYPE_CHECKING:
    from acr_cli.build.routing import Routed
    from acr_cli.cli.invocation import Failure

STATUS_OF_ERROR = {"budget": Status.BUDGET, "interrupted": Status.INTERRUPTED, "repository": Status.REFUSED}


def result(outcome: RunResult) -> dict[str, Any]:
    """The last line of `acr fix --json`."""
    evidence = outcome.evidence
    error = {"id": outcome.error_id, "message": outcome.summary, "hint": outcome.hint}
    return {
        "type": "result",
        "schema": SCHEMA,
        "run": outcome.run,
        "status": outcome.status.value,
        "verified": outcome.verified,
        "exit_code": outcome.exit_code,
        "cost_usd": outcome.receipt.paid_usd,
        "seconds": outcome.receipt.seconds,
        "files": list(outcome.files),
        "patch": outcome.patch,
        "evidence": {
            "fixed": list(evidence.fixed) if evidence else [],
            "broken": list(evidence.broken) if evidence else [],
            "u": evidence.u if evidence else 0.0,
            "verifier": evidence.verifier if evidence else "",
            "findings": [plain(finding) for finding in evidence.findings] if evidence else [],
            "flaky": list(evidence.flaky) if evidence else [],
            "notes": list(evidence.notes) if evidence else [],
        },
        "steps": [
            {
                "kind": step.kind.value,
                "dimension": step.dimension.value,
                "model": step.model,
                "reason": step.reason,
                "attempts": step.attempts,
                "u": step.u,
                "cost_usd": step.cost_usd,
            }
            for step in outcome.steps
        ],
        "error": error if outcome.error_id else None,
        "applied": outcome.applied,
        "summary": outcome.summary,
        "hint": outcome.hint,
        "wrong": list(outcome.wrong),
        "tries": [plain(each) for each in outcome.tries],
        "left": list(outcome.left),
        "receipt": {
            "paid_usd": outcome.receipt.paid_usd,
            "strongest": outcome.receipt.strongest,
            "strongest_usd": outcome.receipt.strongest_usd,
            "input_tokens": outcome.receipt.usage.input_tokens,
            "output_tokens": outcome.receipt.usage.output_tokens,
            "calls": outcome.receipt.usage.calls,
        },
    }


def failed(failure: Failure, run: str = "") -> dict[str, Any]:
    """The last line of `acr fix --json` where no result was reached."""
    return {
        "type": "result",
        "schema": SCHEMA,
        "run": run,
        "status": STATUS_OF_ERROR.get(failure.id, Status.ERROR).value,
        "verified": False,
        "exit_code": failure.exit_code,
        "cost_usd": 0.0,
        "seconds": 0.0,
        "files": [],
        "patch": "",
        "evidence": {"fixed": [], "broken": [], "u": 0.0},
        "steps": [],
        "error": {"id": failure.id, "message": failure.message, "hint": failure.hint},
        "applied": False,
        "summary": failure.message,
        "hint": failure.hint,
        "wrong": [],
        "tries": [],
        "left": [],
        "receipt": None,
    }


def route(routed: Routed) -> dict[str, Any]:
    """What `acr route --json` prints."""
    from acr_cli.cli.reasons import attempts_here, why_not

    choice, context, settings = routed.choice, routed.context, routed.settings
    reasons = why_not(routed)
    return {
        "type": "route",
        "schema": SCHEMA,
        "choice": choice.candidate,
        "propensity": choice.propensity,
        "reason": choice.reason,
        "policy": choice.policy,
        "explored": choice.explored,
        "dimension": str(context.dimension),
        "language": context.language,
        "attempts": context.attempts,
        "outcomes": attempts_here(context),
        "value_of_success_usd": settings.value_of_success,
        "value_of_hour_usd": settings.value_of_hour,
        "exploration": settings.exploration,
        "candidates": [_candidate(routed, each, reasons) for each in choice.forecasts],
        "left_out": [{"model": name, "reason": why} for name, why in routed.left_out.items()],
        "neighbours": [
            {"id": near.id, "similarity": near.similarity, "model": near.candidate, "score": near.u}
            for near in choice.neighbours
        ],
        "ladder": [
            {
                "model": rung.candidate,
                "p_cumulative": rung.p_cumulative,
                "cost_cumulative_usd": rung.cost_cumulative_usd,
            }
            for rung in choice.ladder
        ],
    }


def _candidate(routed: Routed, each: Forecast, reasons: Mapping[str, str]) -> dict[str, Any]:
    from acr_cli.cli.reasons import attempts_here

    spending = routed.spending.get(each.candidate)
    return {
        "model": each.candidate,
        "p_success": each.p_success,
        "p_low": each.p_low,
        "p_high": each.p_high,
        "cost_usd": each.cost_usd,
        "cost_low_usd": spending.low_usd if spending else None,
        "cost_high_usd": spending.high_usd if spending else None,
        "seconds": spending.seconds if spending else None,
        "outcomes": attempts_here(routed.context, each.candidate),
        "votes": {
            vote.voter: {"vote": vote.value, "weight": vote.weight, "note": vote.note} for vote in each.votes
        },
        "score": each.score,
        "note": each.note,
        "priced": any(c.id == each.candidate and c.price.known for c in routed.candidates),
        "not_chosen": reasons.get(each.candidate),
    }


def carried(type_: str, run: str, files: Sequence[str], patch: str) -> dict[str, Any]:
    """What `acr apply --json` and `acr undo --json` print."""
    return {"type": type_, "schema": SCHEMA, "run": run, "files": list(files), "patch": patch}


def write(shape: dict[str, Any]) -> None:
    """One line on stdout. Escapes leave nothing in it that a terminal obeys; infinity and NaN become null."""
    # All but ASCII is escaped by itself, and so are controls but this one.
    sys.stdout.write(json.dumps(_finite(shape), allow_nan=False).replace("\x7f", "\\u007f") + "\n")
    sys.stdout.flush()


def _finite(value: Any) -> Any:
    match value:
        case float() if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124
            return None
        case dict():
            return {key: _finite(each) for key, each in value.items()}
        case list() | tuple():
            return [_finite(each) for each in value]
        case _:
            return value


class JsonLines:
    """Events as JSON lines on stdout. `emit` never raises: the run goes on when the reader has gone."""

    def __init__(self) -> None:
        self.run = ""
        self._lost: OSError | None = None

    def emit(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            self.run = event.run
        if isinstance(event, RunFinished):
            return  # the last line is the result, in its own shape
        self.put(to_json(event))

    def put(self, shape: dict[str, Any]) -> None:
        if self._lost is not None:
            return
        try:
            write(shape)
        except OSError as error:
            self._lost = error

    def end(self, shape: dict[str, Any]) -> None:
        """The last line. Raises: OSError of the first line that could not be written."""
        self.put(shape)
        if self._lost is not None:
            raise self._lost

    def fail(self, failure: Failure) -> None:
        """The last line of a run that ended in an error."""
        self.put(failed(failure, self.run))
