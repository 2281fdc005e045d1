"""A language model's answer to an advisor's question, read by what can be read of it.

The chain of arXiv 2606.22902: JSON, then the field by a pattern, then a candidate's name anywhere in the
text; where none is found the reply counts as none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

_OBJECT = re.compile(r"\{[^{}]*\}", re.DOTALL)
_FIELD = re.compile(r"[\"']?model[\"']?\s*[:=]\s*[\"'`]?([^\s\"'`,}]+)", re.IGNORECASE)


def chosen(reply: str, candidates: Sequence[str]) -> tuple[str | None, str]:
    """The candidate that a reply names and how it was found: "json", "pattern", "name" or "none". Pure."""
    for found in _OBJECT.findall(reply):
        try:
            value = json.loads(found)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and (name := _meant(str(value.get("model", "")), candidates)):
            return name, "json"
    for said in _FIELD.findall(reply):
        if name := _meant(said, candidates):
            return name, "pattern"
    if name := _mentioned(reply, candidates):
        return name, "name"
    return None, "none"


def _meant(said: str, candidates: Sequence[str]) -> str | None:
    """The candidate of exactly this name, or the only one that ends with it after its provider."""
    said = said.strip().lower()
    for candidate in candidates:
        if candidate.lower() == said:
            return candidate
    ends = [c for c in candidates if c.lower().rsplit("/", 1)[-1] == said.rsplit("/", 1)[-1]]
    return ends[0] if said and len(ends) == 1 else None


def _mentioned(reply: str, candidates: Sequence[str]) -> str | None:
    """The candidate that is named last: models think first and decide at the end. Of names that begin
    alike the longest counts."""
    text = reply.lower()
    found = []
    for candidate in candidates:
        for name in {candidate.lower(), candidate.lower().rsplit("/", 1)[-1]}:
            pattern = rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)"
            found += [(match.end(), len(name), candidate) for match in re.finditer(pattern, text)]
    return max(found)[2] if found else None
