"""The only way to a language model, by litellm; the only file that imports it.

Nothing of litellm's own retries, fall-backs, prices or environment look-ups is used: each of them hides
what was sent, where to, or what it cost. A try is one request; every try is checked against the budget
before it is sent and charged after it, also when it broke off.
"""

from __future__ import annotations

import gc
import logging
import math
import os
import socket
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from random import Random
from typing import Any
from urllib.parse import urlsplit

from acr_cli.errors import BadReply, ContextTooLong, ProviderError, RequestRefused
from acr_cli.events import Emit, ModelText, Notice
from acr_cli.models.breaker import Breaker
from acr_cli.models.caching import marked, takes_marks, written_price
from acr_cli.models.conversation import (
    Extras,
    check_order,
    size_in_bytes,
    speakable,
    texts,
    wire_message,
    wire_tool,
)
from acr_cli.models.failures import ours, unreachable
from acr_cli.models.hearing import Hearing
from acr_cli.models.keys import NO_KEY, key_for, no_redirects
from acr_cli.models.listening import heard
from acr_cli.models.prices import MILLION, cost_of, facts, is_loopback, provider_of
from acr_cli.models.reckoning import reckon
from acr_cli.models.rests import Rests
from acr_cli.models.surroundings import check
from acr_cli.protocols import Budget, Message, Reply, Tool
from acr_cli.records import Candidate, Usage

REPLY_TOKENS = 16_384
"""The longest reply that is asked for, thinking included."""

LOCAL_REPLY_TOKENS = 1_024
"""The least that a model on this machine may say; an eighth of its context where that is more."""

PROBE_TOKENS = 1_024
"""The longest reply of a model that is asked for one word: some think before they say it."""

LEAST_TOKENS = 256
"""A budget that pays for fewer tokens than this pays for no useful reply."""

_BYTES_PER_TOKEN = 4.0  # what text and code have on average
_BYTES_PER_TOKEN_AT_LEAST = 3.0  # for what must not be underestimated: money
_CHARACTERS_PER_TOKEN_AT_MOST = 16  # of any reply as a whole
_LONGEST_WAIT = 60.0  # seconds between two tries
_EMPTY = "Is base_url right? Proxies and portals answer with pages that hold nothing for a program."
_SHORT_CONTEXT = 8192  # tokens; Ollama's own default cuts most prompts of this kind


@dataclass(frozen=True, kw_only=True, slots=True)
class Patience:
    """How long to wait, in seconds, and how often to try."""

    connect: float = 10.0
    stall: float = 120.0  # without a byte
    piece: float = 240.0  # between two pieces of a reply, and before the first
    reply: float = 600.0  # for one reply, from beginning to end
    tries: int = 3
    first_pause: float = 1.0  # doubles with every try, times a random factor in [0.5, 1.5]


class LiteLLM:
    """A `Gateway` to every provider that litellm knows and to any OpenAI-compatible base URL.

    `environ` holds the keys. `rng` (of the pauses), `sleep` and `clock` (seconds, monotonic) can be given.
    `rests` is what is known of providers that keep failing, from other processes and for them. `longest` is
    how many tokens a reply may have.
    """

    def __init__(
        self,
        *,
        emit: Emit,
        environ: Mapping[str, str],
        rng: Random | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        patience: Patience | None = None,
        rests: Rests | None = None,
        longest: int = REPLY_TOKENS,
    ) -> None:
        self._emit = emit
        self._environ = environ
        self._rng = rng or Random()
        self._sleep = sleep
        self._clock = clock
        self._patience = patience or Patience()
        self._breaker = Breaker(clock, rests)
        self._longest = longest
        self._disputed: set[str] = set()  # candidates whose counts were found wrong
        self._extras: dict[str, Mapping[str, Any]] = {}

    def complete(
        self, candidate: Candidate, messages: Sequence[Message], *, tools: Sequence[Tool], budget: Budget
    ) -> Reply:
        """One reply; see `Gateway.complete`. Usage, cost and seconds are those of all tries together.

        Raises: ProviderError and its kinds, BudgetExhausted."""
        check_order(messages)
        key = key_for(candidate, self._environ)
        self._breaker.check(candidate)
        request = _Request(candidate=candidate, key=key, messages=speakable(messages), tools=tools)
        usage, cost, started = Usage(), 0.0, self._clock()
        for number in range(1, self._patience.tries + 1):
            reply_tokens = _afford(request, budget, self._longest)
            hearing = Hearing()
            failure: ProviderError | None = None
            try:
                self._listen(request, reply_tokens, budget, hearing)
                _examine(request, hearing)
            except ProviderError as error:
                failure = error
                hearing.begun = hearing.begun or error.was_read
            except BaseException:
                hearing.begun = True  # given up while it was at work
                raise
            finally:
                # Also when the user interrupts: what was heard has been paid for.
                spent = self._reckon(request, hearing)
                usd = cost_of(candidate.price, spent, written=hearing.written, write=request.write_price)
                budget.charge(usd)
                usage, cost = usage + spent, cost + usd
            if failure is None:
                self._breaker.answered(candidate)
                return Reply(
                    content=hearing.content,
                    tool_calls=hearing.tool_calls,
                    usage=usage,
                    cost_usd=cost,
                    seconds=self._clock() - started,
                    finish=hearing.finish_reason,
                )
            if rests := self._breaker.failed(candidate, failure):
                self._emit(Notice(level="warning", text=rests))
                raise failure
            self._wait(failure, number, budget)
        raise AssertionError("unreachable: the last try returns or raises")

    def _reckon(self, request: _Request, hearing: Hearing) -> Usage:
        """What this try is charged for."""
        candidate, usage = request.candidate, hearing.usage(request.tokens)
        if not candidate.price.input and not candidate.price.output:
            return usage
        sent = texts(request.messages, request.tools) if hearing.begun else ()
        reckoning = reckon(usage, sent=sent, said=hearing.said, count=_count)
        if reckoning.dispute and candidate.id not in self._disputed:
            self._disputed.add(candidate.id)
            text = f"{candidate.id} reports {reckoning.dispute}: what the texts have is charged."
            self._emit(Notice(level="warning", text=text))
        return reckoning.usage

    def probe(self, candidate: Candidate, budget: Budget) -> Reply:
        """One tiny real call, tried once, to see whether a model answers; what it said is on one line.

        Raises: ProviderError, BudgetExhausted."""
        if candidate.base_url is not None and is_loopback(candidate.base_url):
            _knock(candidate, self._patience.connect)
        ask = Message(role="user", content="Answer with the one word: ready")
        once = LiteLLM(
            emit=lambda _: None,
            environ=self._environ,
            clock=self._clock,
            patience=replace(self._patience, tries=1),
            longest=PROBE_TOKENS,
        )
        reply = once.complete(candidate, [ask], tools=(), budget=budget)
        self._breaker.recovered(candidate)
        return replace(reply, content=" ".join(reply.content.split())[:200])

    def _listen(self, request: _Request, reply_tokens: int, budget: Budget, hearing: Hearing) -> None:
        wire = request.wire(reply_tokens, self._extras)
        wire["timeout"] = self._timeout(budget)
        patience = self._patience
        whole = min(patience.reply, max(1.0, budget.remaining_seconds))
        for chunk in _chunks(wire, request, piece=patience.piece, whole=whole):
            try:
                text = hearing.hear(chunk)
            except (AttributeError, TypeError, ValueError) as error:
                what = f"{request.candidate.id}: a piece of the reply is of no known shape."
                raise BadReply(what, hint=_EMPTY) from error
            if text:
                self._emit(ModelText(text=text))
            budget.check()  # of the time; and nobody pays for the rest of what is not needed any more
            if hearing.size > max(reply_tokens, LOCAL_REPLY_TOKENS) * _CHARACTERS_PER_TOKEN_AT_MOST:
                hearing.finish = "length"  # as of a server that heeds what a reply may have
                break
        if hearing.tool_calls and hearing.extras:
            self._extras[hearing.tool_calls[0].id] = hearing.extras

    def _timeout(self, budget: Budget) -> Any:
        from httpx import Timeout

        left = max(1.0, min(self._patience.stall, budget.remaining_seconds))
        return Timeout(left, connect=min(self._patience.connect, left))

    def _wait(self, failure: ProviderError, number: int, budget: Budget) -> None:
        """Pause before the next try. Raises: the failure itself where another try is useless or too late."""
        if not failure.retryable or number >= self._patience.tries:
            raise failure
        pause = self._patience.first_pause * 2 ** (number - 1) * self._rng.uniform(0.5, 1.5)
        pause = max(pause, failure.retry_after or 0.0)
        if pause > _LONGEST_WAIT or pause >= budget.remaining_seconds:
            raise failure
        self._emit(Notice(level="warning", text=f"{failure.message} Trying again in {pause:.1f} s."))
        self._sleep(pause)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Request:
    """What is asked of whom."""

    candidate: Candidate
    key: str | None
    messages: Sequence[Message]
    tools: Sequence[Tool]

    @property
    def tokens(self) -> int:
        """An estimate of the prompt's tokens that is about right."""
        return math.ceil(size_in_bytes(self.messages, self.tools) / _BYTES_PER_TOKEN)

    @property
    def tokens_at_most(self) -> int:
        """An estimate that seldom is too low: for money."""
        return math.ceil(size_in_bytes(self.messages, self.tools) / _BYTES_PER_TOKEN_AT_LEAST)

    @property
    def is_marked(self) -> bool:
        """Whether the provider is told what to keep of the prompt, since more will follow it."""
        return bool(self.tools) and takes_marks(self.candidate)

    @property
    def write_price(self) -> float | None:
        return written_price(self.candidate)

    def wire(self, reply_tokens: int, extras: Extras) -> dict[str, Any]:
        """The arguments of litellm's call."""
        candidate = self.candidate
        messages = [wire_message(message, extras) for message in self.messages]
        wire: dict[str, Any] = {
            "model": candidate.model,
            "messages": marked(messages) if self.is_marked else messages,
            "max_tokens": reply_tokens,
        }
        if self.key is not None:
            wire["api_key"] = self.key
        if candidate.base_url is not None:
            wire["api_base"] = candidate.base_url
        if self.tools:
            wire["tools"] = [wire_tool(tool) for tool in self.tools]
        if candidate.effort is not None:
            wire["reasoning_effort"] = candidate.effort
            wire["allowed_openai_params"] = ["reasoning_effort"]
        if _is_ollama(candidate):
            wire["num_ctx"] = _context_size(candidate, self.tokens_at_most + reply_tokens // 4)
        return wire


def _afford(request: _Request, budget: Budget, longest: int) -> int:
    """How many tokens the reply may have, so that the whole call stays within the budget and the context.

    Raises: BudgetExhausted, ContextTooLong."""
    budget.check()
    candidate, price = request.candidate, request.candidate.price
    limits = [longest, facts(candidate.model).max_output or longest]
    if candidate.local:
        # A small model that rambles would go on until its context is full, minutes later.
        limits.append(max(LOCAL_REPLY_TOKENS, (candidate.context_window or 16_384) // 8))
    if candidate.context_window is not None:
        limits.append(candidate.context_window - request.tokens)
        if limits[-1] < min(LEAST_TOKENS, candidate.context_window // 4):
            raise ContextTooLong(
                f"{candidate.id}: about {request.tokens} tokens do not fit into a context of "
                f"{candidate.context_window}.",
                hint="Name a model with a larger context, or a smaller task.",
            )
    if price.input is None or price.output is None:
        budget.affords(None)
        return min(limits)
    dearest = max(price.input, request.write_price or 0.0) if request.is_marked else price.input
    sending = request.tokens_at_most * dearest / MILLION
    budget.affords(sending + min(LEAST_TOKENS, *limits) * price.output / MILLION)
    if price.output > 0 and math.isfinite(budget.remaining_usd):
        limits.append(int((budget.remaining_usd - sending) * MILLION / price.output))
    reply_tokens = max(1, min(limits))
    budget.reserve(sending + reply_tokens * price.output / MILLION)
    return reply_tokens


def _examine(request: _Request, hearing: Hearing) -> None:
    """Raises: BadReply for an empty reply, RequestRefused for a filtered one, ContextTooLong where an Ollama
    silently cut the prompt.

    Other servers refuse a prompt that is too long, and some count tokens in ways of their own."""
    candidate = request.candidate
    if hearing.finish_reason == "content_filter":
        raise RequestRefused(
            f"{candidate.id}: the provider's content filter ended the reply.", hint="Name another model."
        )
    if not hearing.content.strip() and not hearing.tool_calls and hearing.finish_reason == "stop":
        raise BadReply(f"{candidate.id}: the reply is empty.", hint=_EMPTY)
    if not _is_ollama(candidate) or hearing.reported is None:
        return
    read = hearing.reported.input_tokens
    if request.tokens > 1000 and 0 < read < request.tokens / 2:
        raise ContextTooLong(
            f"{candidate.id}: the server read {read} tokens of about {request.tokens}: it cuts prompts.",
            hint="Give the server a larger context, and set context_window in config.toml.",
        )


def _knock(candidate: Candidate, seconds: float) -> None:
    """See whether a server on this machine is up, before litellm is imported for it.

    Raises: ProviderUnavailable."""
    parts = urlsplit(candidate.base_url or "")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname or "localhost", port), timeout=seconds).close()
    except OSError as error:
        raise unreachable(candidate) from error


def _is_ollama(candidate: Candidate) -> bool:
    return provider_of(candidate.model) in ("ollama", "ollama_chat")


def _context_size(candidate: Candidate, need: int) -> int:
    """Tokens of context to ask an Ollama for: doubling steps, since every new size reloads the model."""
    size = _SHORT_CONTEXT
    while size < need:
        size *= 2
    return min(size, candidate.context_window or size)


def _chunks(wire: Mapping[str, Any], request: _Request, *, piece: float, whole: float) -> Iterator[Any]:
    """The pieces of one streamed reply. `piece` and `whole`: seconds. Raises: ProviderError."""
    litellm = _litellm()

    def start() -> Iterator[Any]:
        def begin() -> Iterator[Any]:
            with no_redirects():
                return iter(litellm.completion(**wire, **_PLAINLY))

        pieces = _foreign(begin, request)
        while (chunk := _foreign(lambda: next(pieces, None), request)) is not None:
            yield chunk

    try:
        yield from heard(start, piece=piece, whole=whole)
    except TimeoutError as error:
        raise ours(error, request.candidate, key=request.key) from error


def _count(text: str) -> int:
    """Tokens of a text, by a tokenizer that comes with litellm: near enough to any other."""
    return len(_litellm().encode(model="gpt-4o", text=text))


_PLAINLY = {"stream": True, "stream_options": {"include_usage": True}, "max_retries": 0, "num_retries": 0}


def _foreign(act: Callable[[], Any], request: _Request) -> Any:
    """Let foreign code act: its errors become ours, and its warnings about itself are nobody's news.

    Raises: ProviderError."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return act()
    # litellm wraps dozens of clients and lets through whatever they raise.
    except Exception as error:
        raise ours(error, request.candidate, key=request.key) from error


def warm() -> None:
    """Import litellm (seconds), and what its first call would import; for a thread beside other work."""
    with suppress(Exception):  # whatever is wrong, the first real call says
        litellm = _litellm()
        said = {"messages": [{"role": "user", "content": "."}], "max_tokens": 1, "api_key": NO_KEY}
        for _ in litellm.completion(model="openai/gpt-4o", mock_response=".", **said, **_PLAINLY):
            pass


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """A long import makes a million objects that stay; to look through them again and again for some that do
    not would be a fifth of its time, and a third of a second more once it is over."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        if collects:
            gc.enable()


def _litellm() -> Any:
    # Without these it fetches prices over the network and loads a repository's .env when it is imported.
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    os.environ["LITELLM_MODE"] = "PRODUCTION"
    if "litellm" in sys.modules:
        import litellm
    else:
        check()
        with _nothing_collected():
            import litellm

    litellm.suppress_debug_info = True
    logging.getLogger("LiteLLM").disabled = True  # it writes to the user's terminal, what a server said too
    litellm.telemetry = False
    litellm.drop_params = True
    litellm.modify_params = True
    # What it counts and logs beside a stream (by a vocabulary of 200,000 pieces, with an event loop for each
    # chunk) is for reports of its own; where a provider counts nothing, `Hearing` does.
    litellm.disable_token_counter = True
    litellm.disable_streaming_logging = True
    # A table of zeros is honest repetition; max_tokens and the time of a reply bound any other.
    litellm.REPEATED_STREAMING_CHUNK_LIMIT = sys.maxsize  # type: ignore[attr-defined]
    if litellm.client_session is None:
        _stay(litellm)
    return litellm


def _stay(litellm: Any) -> None:
    """No client of litellm follows a redirect: it would take the key along to whatever host a reply names,
    as only `Authorization` is left out of what is sent on, and most providers have a header of their own."""
    from litellm.llms.custom_httpx.http_handler import HTTPHandler

    made = HTTPHandler.create_client

    def steady(self: HTTPHandler) -> Any:
        client = made(self)
        client.follow_redirects = False
        return client

    HTTPHandler.create_client = steady  # type: ignore[method-assign]
    litellm.client_session = HTTPHandler().client  # the OpenAI library is given this one
