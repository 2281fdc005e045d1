"""A commit's message as the text of a task: what was to be done, without a word of how it was done. Pure.

A line is left out that quotes the fix: that shares a run of words and signs with the new sources which
neither the old sources nor the tests hold. Quoting what is there anyway gives nothing away.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

MOST = 4_000  # characters of a task

_Gram = tuple[str, ...]
_TRAILER = re.compile(
    r"(signed-off-by|co-authored-by|(reviewed|acked|tested|reported|suggested|assisted|requested|approved)-by|cc|"
    r"fix(es|ed)?|close[sd]?|resolve[sd]?|refs?|references|see(-also)?|related(-to)?|bugs?|issues?|link|pr|"
    r"change-id|acr-run|backport(-of)?|differential[ -]revision|git-svn-id|part-of|reverts?|"
    r"\(cherry picked from commit)\b\s*[:#(]?\s*.*",
    re.IGNORECASE,
)
_POINTER = re.compile(
    r"(#|gh-|https?://|\b[A-Z][A-Z0-9]+-\d)|^[\w-]+-(by|id|run|of)\b|^(cc|git-svn|\(cherry)", re.IGNORECASE
)
_SHAPE = re.compile(r"[A-Z][A-Za-z-]*: \S.*")
_PHRASE = re.compile(
    r"(?<!\s)\s*[(\[]?(?:\b(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?|refs?|see|part of|towards)\b:?\s+)?"
    r"(?:(?<![\w.-])[\w.-]+/[\w.-]+)?(?:#|\bgh-)\d+\b[)\]]?",
    re.IGNORECASE,
)
_URL = re.compile(r"(?<!\s)\s*<?https?://\S+>?")
_HASH = re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b")
_HUNK = re.compile(r"\s*(diff --git |@@ -\d|--- a/|\+\+\+ b/|index [0-9a-f]{7,})")
_OF_A_HUNK = re.compile(r"\s*([+\-@\\]|diff |index |new file|deleted file)|\s+\S")
_TOKEN = re.compile(r"\w+|[^\w\s]")
_OPERATOR = re.compile(r"[<>=+*/%&|^!~\[\]@]")


def task_text(message: str, *, new: Iterable[str], seen: Iterable[str]) -> str:
    """The task that a commit's message speaks of; "" where nothing is left.

    `new`: the changed sources as the commit left them, which nobody is to see; `seen`: the same files before
    it, and its tests."""
    secret = _grams(new) - _grams(seen)
    lines = [line.rstrip() for line in message.replace("\r\n", "\n").split("\n")]
    kept = [_plain(line) for line in _without_patch(_without_trailers(lines)) if not _quotes(line, secret)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()[:MOST]


def _plain(line: str) -> str:
    """Without what points at the fix: numbers of issues, addresses, commits."""
    return _HASH.sub("", _URL.sub("", _PHRASE.sub("", line))).rstrip(" ([")


def _without_trailers(lines: Sequence[str]) -> list[str]:
    kept = [line for line in lines if not (_TRAILER.match(line) and _POINTER.search(line))]
    while kept and not kept[-1].strip():
        kept.pop()
    start = len(kept)
    while start > 0 and _SHAPE.fullmatch(kept[start - 1]):
        start -= 1
    # A last paragraph of nothing but trailers; the subject may look like one.
    return kept[:start] if start > 1 and start < len(kept) and not kept[start - 1].strip() else kept


def _without_patch(lines: Sequence[str]) -> list[str]:
    kept, inside = [], False
    for line in lines:
        if _HUNK.match(line):
            inside = True
        elif inside and not _OF_A_HUNK.match(line):
            inside = False
        if not inside:
            kept.append(line)
    return kept


def _quotes(line: str, secret: frozenset[_Gram]) -> bool:
    return not secret.isdisjoint(_grams([line]))


def _grams(texts: Iterable[str]) -> frozenset[_Gram]:
    """Runs of three words or signs with an operator in them, and runs of five with any sign."""
    found: set[_Gram] = set()
    for text in texts:
        for line in text.splitlines():
            tokens = _TOKEN.findall(line)
            for start in range(len(tokens) - 2):
                gram = tuple(tokens[start : start + 3])
                if any(_OPERATOR.fullmatch(token) for token in gram) and any(t[0].isalnum() for t in gram):
                    found.add(gram)
                gram = tuple(tokens[start : start + 5])
                if len(gram) == 5 and any(not (t[0].isalnum() or t[0] == "_") for t in gram):
                    found.add(gram)
    return frozenset(found)
