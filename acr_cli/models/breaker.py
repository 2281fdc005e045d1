"""The circuit breaker: a provider that keeps failing rests, so that nobody waits for it again and again.

What makes a provider fail for all of its models - nobody answers, it is down - counts against the endpoint;
what concerns one model alone - too many requests, garbage, a refused key, an unknown name - against that
model. Three failures in a row open the circuit; a refused key or an unknown name does at once. After the rest
one request is let through: if it fails, the rest is twice as long. What time alone heals holds for other
processes too; see `models.rests`. M. Nygard, "Release It!" (2007).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from acr_cli.errors import (
    AuthenticationFailed,
    BadReply,
    ModelNotFound,
    ProviderError,
    ProviderUnavailable,
    RateLimited,
)
from acr_cli.models.prices import is_loopback, provider_of
from acr_cli.models.rests import Rests
from acr_cli.records import Candidate

FAILURES = 3
"""In a row, before a provider rests."""

_FIRST_REST = 60.0  # seconds; doubles with every failure after a rest
_LONGEST_REST = 900.0


@dataclass(slots=True)
class _Circuit:
    failures: int = 0  # in a row
    rest: float = 0.0  # seconds of the last rest
    until: float = 0.0  # on the clock
    reason: str = ""


class Breaker:
    """The health of the endpoints and models that one process has asked. `clock`: seconds, monotonic.

    `rests` is what it shares with other processes, None: nothing."""

    def __init__(self, clock: Callable[[], float], rests: Rests | None = None) -> None:
        self._clock = clock
        self._rests = rests
        self._circuits: dict[str, _Circuit] = {}

    def check(self, candidate: Candidate) -> None:
        """Before a call. Raises: ProviderUnavailable while the endpoint or the model rests."""
        self._look_up(candidate)
        for name in circuit_names(candidate):
            circuit = self._circuits.get(name)
            left = circuit.until - self._clock() if circuit else 0.0
            if circuit and left > 0:
                raise ProviderUnavailable(
                    f"{candidate.id} was not asked: {name} rests for another {_duration(left)}, since"
                    f" {circuit.reason}",
                    hint="Try again later, or name another model with --model.",
                )

    def _look_up(self, candidate: Candidate) -> None:
        """Take over the rests that other processes have begun."""
        unknown = [name for name in circuit_names(candidate) if name not in self._circuits]
        for name, rest in (self._rests.known(unknown) if self._rests and unknown else {}).items():
            self._circuits[name] = _Circuit(
                failures=FAILURES - 1,
                rest=rest.seconds,
                until=self._clock() + self._rests.left(rest) if self._rests else 0.0,
                reason=rest.reason,
            )

    def answered(self, candidate: Candidate) -> None:
        """After a sound reply: all is well again."""
        if any(name in self._circuits for name in circuit_names(candidate)):
            self.recovered(candidate)

    def recovered(self, candidate: Candidate) -> None:
        """All is well again, whatever this or another process knew of it."""
        names = circuit_names(candidate)
        if self._rests:
            self._rests.end(names)
        for name in names:
            self._circuits.pop(name, None)

    def failed(self, candidate: Candidate, error: ProviderError) -> str:
        """After a failed request: what to tell the user when a rest begins, else ""."""
        endpoint, model = circuit_names(candidate)
        match error:
            case AuthenticationFailed() | ModelNotFound():
                name, enough = model, 1
            case RateLimited() | BadReply():
                name, enough = model, FAILURES
            case ProviderUnavailable():
                name, enough = endpoint, FAILURES
            case _:  # the request was at fault, not who was asked
                return ""
        circuit = self._circuits.setdefault(name, _Circuit())
        circuit.failures += 1
        if circuit.failures < enough:
            return ""
        times = "its last request" if circuit.failures == 1 else f"its last {circuit.failures} requests"
        circuit.reason = f"{times} failed: {error.message.removeprefix(f'{name}: ')}"
        circuit.rest = min(_LONGEST_REST, circuit.rest * 2 or _FIRST_REST)
        circuit.rest = max(circuit.rest, error.retry_after or 0.0)
        circuit.until = self._clock() + circuit.rest
        if self._rests and enough > 1 and not (candidate.base_url and is_loopback(candidate.base_url)):
            self._rests.begin(name, circuit.rest, circuit.reason)
        return f"{name} rests for {_duration(circuit.rest)}, since {circuit.reason}"


def circuit_names(candidate: Candidate) -> tuple[str, str]:
    """How the endpoint and the model of a candidate are called where they rest, to people too. Pure."""
    return candidate.base_url or provider_of(candidate.model) or "openai", candidate.id


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
