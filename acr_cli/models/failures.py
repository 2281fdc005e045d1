"""Foreign errors, mapped to ours: the only place that knows what litellm raises."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator
from email.utils import parsedate_to_datetime
from typing import Any

from acr_cli.errors import (
    AuthenticationFailed,
    BadReply,
    ContextTooLong,
    ModelNotFound,
    ProviderError,
    ProviderTooSlow,
    ProviderUnavailable,
    RateLimited,
    RequestRefused,
)
from acr_cli.models.keys import variables
from acr_cli.records import Candidate
from acr_cli.redaction import without_keys

_TOO_LONG = re.compile(
    r"context (length|window|size)|context_length|maximum context|exceed_context|"
    r"prompt is too long|too many tokens",
    re.IGNORECASE,
)
_NO_CREDIT = re.compile(
    r"insufficient_quota|exceeded your current quota|insufficient balance|credit balance", re.IGNORECASE
)
_UNREADABLE = re.compile(
    r"Expecting (value|property|',' delimiter)|JSONDecodeError|Unterminated string|Invalid control"
)
_UNREACHED = ("ConnectError", "ConnectTimeout", "ConnectionRefusedError", "gaierror")
_INNER = re.compile(r"""["'](?:message|error)["']: ?(?:"((?:[^"\\]|\\.)+)"|'([^']+)')""")  # of JSON
_BROKE_OFF = re.compile(r"Connection error|Connection reset|peer closed connection|Stream ended before")
_PAGE = re.compile(r"<!DOCTYPE html|<html", re.IGNORECASE)
_DELAY = re.compile(r'"retryDelay": ?"(\d+(?:\.\d+)?)s"')  # Gemini's
_OLLAMA_BROKE_OFF = "Got unexpected response from Ollama"
_PREFIXES = re.compile(r"^(litellm\.)?(\w+(Error|Exception)(: | - )(litellm\.)?)+")


def ours(
    error: Exception, candidate: Candidate, *, key: str | None, now: Callable[[], float] = time.time
) -> ProviderError:
    """The error of ours for anything that litellm or a library below it raised.

    `key` is struck out of the message; `now` gives Unix time, for a Retry-After that is a date.
    """
    name, status = type(error).__name__, getattr(error, "status_code", None)
    who, text = candidate.id, _first_line(error, key)
    if any(type(cause).__name__ in _UNREACHED for cause in _causes(error)):
        return unreachable(candidate)
    if isinstance(error, TimeoutError):
        return ProviderTooSlow(
            f"{who}: the reply only trickles in.",
            hint="Name another model, or look at what is in between.",
            was_read=True,
        )
    if name == "Timeout" or status == 408:
        return ProviderUnavailable(f"{who}: no answer in time.", hint="Is the provider up?", was_read=True)
    if name == "JSONDecodeError" or _UNREADABLE.search(str(error)):
        return BadReply(f"{who}: the reply is no valid JSON.")
    if name == "APIResponseValidationError":
        return BadReply(f"{who}: the reply cannot be read: {text}")
    if name == "ContextWindowExceededError" or (status == 400 and _TOO_LONG.search(text)):
        return _too_long(who, text)
    if status in (400, 403, 429) and _NO_CREDIT.search(str(error)):
        return _no_credit(who, text)
    if any(_sends_on(cause) for cause in _causes(error)):
        return RequestRefused(
            f"{who}: the provider sends requests on to another address, and no key follows there.",
            hint="If that address is to be trusted, set base_url in config.toml to it.",
        )
    if isinstance(status, int) and 400 <= status < 500 and _OLLAMA_BROKE_OFF not in str(error):
        return _refused(status, candidate, text, _retry_after(error, now))
    # litellm gives a connection that broke the status 500, which nobody has answered.
    broke = status is None or _BROKE_OFF.search(text)
    failed = "the connection to the provider failed" if broke else f"the provider failed with status {status}"
    return ProviderUnavailable(
        f"{who}: {failed}: {text}", hint="Try again later.", retry_after=_retry_after(error, now)
    )


def unreachable(candidate: Candidate) -> ProviderUnavailable:
    """Nobody accepts a connection where this candidate is to be found. Pure."""
    if candidate.base_url is None:
        return ProviderUnavailable(
            f"{candidate.id}: its provider cannot be reached.", hint="Is this machine online?"
        )
    return ProviderUnavailable(
        f"{candidate.id} cannot be reached at {candidate.base_url}.",
        hint="Start the server there, or change base_url in config.toml.",
    )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error, and those that it came from."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _sends_on(error: BaseException) -> bool:
    """Whether an error tells of a redirect."""
    status = getattr(getattr(error, "response", None), "status_code", None)
    return isinstance(status, int) and 300 <= status < 400


def _refused(status: int, candidate: Candidate, text: str, retry_after: float | None) -> ProviderError:
    who = candidate.id
    match status:
        case 401 | 403:
            names = variables(candidate)
            hint = f"Check {names[0]}." if names else "Name the key's variable as api_key_env in config.toml."
            return AuthenticationFailed(f"{who}: the key was refused: {text}", hint=hint)
        case 402:
            return _no_credit(who, text)
        case 404:
            return ModelNotFound(f"{who}: the provider does not know this model: {text}")
        case 413:
            return _too_long(who, text)
        case 429:
            return RateLimited(f"{who}: too many requests: {text}", retry_after=retry_after)
        case _:
            return RequestRefused(f"{who}: the provider refused the request: {text}")


def _too_long(who: str, text: str) -> ContextTooLong:
    return ContextTooLong(
        f"{who}: the conversation does not fit into the model's context: {text}",
        hint="Name a model with a larger context, or a smaller task.",
    )


def _no_credit(who: str, text: str) -> AuthenticationFailed:
    return AuthenticationFailed(f"{who}: the account has no credit left: {text}", hint="Use another model.")


def _first_line(error: Exception, key: str | None) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    text = _PREFIXES.sub("", lines[0].strip()) if lines else ""
    text = re.split(r" Original exception:|\.? Handle with `litellm", text)[0]
    if inner := _INNER.search(text):
        text = (inner[1] or inner[2]).replace('\\"', '"').replace("\\'", "'")
    if _PAGE.search(text):
        text = "a page for people came instead of an answer; is a proxy in between?"
    if key:
        text = text.replace(key, "***")
    text = without_keys(text) or type(error).__name__
    return text if len(text) <= 300 else text[:300] + " ..."


def _retry_after(error: Exception, now: Callable[[], float]) -> float | None:
    for cause in _causes(error):
        headers: Any = getattr(getattr(cause, "response", None), "headers", None) or {}
        if value := str(headers.get("retry-after", "")).strip():
            return _seconds(value, now)
    delay = _DELAY.search(str(error))
    return float(delay[1]) if delay else None


def _seconds(value: str, now: Callable[[], float]) -> float | None:
    """Seconds from now, of a Retry-After that is a number or a date."""
    try:
        seconds = float(value)
    except ValueError:
        pass
    else:
        return max(0.0, seconds) if math.isfinite(seconds) else None
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now())
    except (ValueError, OverflowError):
        return None
