"""What is charged for a reply: what the provider counted, unless the text itself says that it is far more.

Some servers report no usage, zeros, or the usage of something else. A cap of money must hold all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from acr_cli.records import Usage

FAR_OFF = 2.0
"""Tokenizers differ, but seldom by this factor."""

_SLACK = 500  # tokens that are not worth a dispute
_BYTES_PER_TOKEN = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class Reckoning:
    """The usage that counts. `dispute` says in words how it differs from the report; "" if it does not."""

    usage: Usage
    dispute: str = ""


def reckon(
    reported: Usage, *, sent: Sequence[str], said: Sequence[str], count: Callable[[str], int]
) -> Reckoning:
    """The greater of report and text, for the prompt and for the reply, where they are far apart.

    `sent` and `said` are the texts of both; `count` gives the tokens of a text, and is asked only about those
    that look suspicious by their bytes."""
    prompt = _undisputed(reported.input_tokens + reported.cached_tokens, sent, count)
    reply = _undisputed(reported.output_tokens, said, count)
    disputes = []
    if prompt is not None:
        disputes.append(f"{reported.input_tokens} tokens for a prompt of about {prompt}")
    if reply is not None:
        disputes.append(f"{reported.output_tokens} tokens for a reply of about {reply}")
    usage = replace(
        reported,
        input_tokens=reported.input_tokens if prompt is None else prompt,
        output_tokens=reported.output_tokens if reply is None else reply,
    )
    return Reckoning(usage=usage, dispute=" and ".join(disputes))


def _undisputed(reported: int, texts: Sequence[str], count: Callable[[str], int]) -> int | None:
    """The tokens of these texts if so many more than reported that it matters; else None."""
    size = sum(len(text.encode()) for text in texts) // _BYTES_PER_TOKEN
    if not _is_far(reported, size):
        return None
    exact = sum(count(text) for text in texts)
    return exact if _is_far(reported, exact) else None


def _is_far(reported: int, tokens: int) -> bool:
    return tokens > reported * FAR_OFF and tokens - reported > _SLACK
