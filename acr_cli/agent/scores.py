"""Which edit format a model gets right: counted whenever its edits are read, and kept between runs."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from filelock import FileLock, Timeout

from acr_cli.records import Candidate

TOOLS = "tools"
"""The edit format of models that call functions."""

_USUAL = 0.9  # how often a model's usual format is believed to succeed, before anything is known
_OTHERS = {"search-replace": 0.72, "whole-file": 0.71, TOOLS: 0.7, "unified-diff": 0.65}
_BLIND = 0.22  # what a format without tools is believed to succeed less often
_BELIEF = 4.0  # edits that a belief counts as much as
_MOST = 200  # edits that are remembered of one format; then all are halved, since models change
_PATIENCE = 2.0  # seconds that another run may take to write

Tally = tuple[int, int]
"""Edits that could be read and applied, and edits that could not."""


def usual_format(candidate: Candidate) -> str:
    """The format that a model is asked for while nothing is known of it: by tools, unless it has none, or is
    a local one of which that is not known; then whole files for a local model, since weak ones garble
    blocks, and blocks for any other. Pure."""
    if candidate.tools or (candidate.tools is None and not candidate.local):
        return TOOLS
    return "whole-file" if candidate.local else "search-replace"


def best_format(candidate: Candidate, seen: Mapping[str, Tally]) -> str:
    """The format that is expected to succeed most often: the usual one until it has failed. Pure.

    The expectation is the mean of a beta distribution, whose prior counts as much as `_BELIEF` edits."""
    usual = usual_format(candidate)
    beliefs = {usual: _USUAL, **{name: p for name, p in _OTHERS.items() if name != usual}}
    if usual == TOOLS:
        # Without tools a model can neither search nor run anything: that is given up for clear failure only.
        beliefs |= {name: p - _BLIND for name, p in _OTHERS.items() if name != TOOLS}
    else:
        del beliefs[TOOLS]

    def expected(name: str) -> float:
        right, wrong = seen.get(name, (0, 0))
        return (beliefs[name] * _BELIEF + right) / (_BELIEF + right + wrong)

    return max(beliefs, key=expected)


class KeptScores:
    """A `FormatScores` in one JSON file, candidate -> format -> [right, wrong]; without a path it keeps none.

    Nobody waits for it: a file that cannot be read counts as empty, one that cannot be written stays."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def of(self, candidate: str) -> Mapping[str, Tally]:
        return self._read().get(candidate, {})

    def count(self, candidate: str, edit_format: str, *, right: int, wrong: int) -> None:
        if self._path is None or not (right or wrong):
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with FileLock(f"{self._path}.lock", timeout=_PATIENCE):
                scores = self._read()
                before = scores.setdefault(candidate, {}).get(edit_format, (0, 0))
                now = (before[0] + right, before[1] + wrong)
                scores[candidate][edit_format] = now if sum(now) <= _MOST else (now[0] // 2, now[1] // 2)
                _write(self._path, scores)
        except (OSError, Timeout):
            return

    def _read(self) -> dict[str, dict[str, Tally]]:
        try:
            known = json.loads(self._path.read_text(encoding="utf-8")) if self._path else {}
            return {str(candidate): _tallies(formats) for candidate, formats in known.items()}
        except (OSError, ValueError, TypeError, AttributeError, RecursionError):
            return {}


def _tallies(formats: Mapping[str, tuple[object, object]]) -> dict[str, Tally]:
    return {str(name): (int(str(right)), int(str(wrong))) for name, (right, wrong) in formats.items()}


def _write(path: Path, scores: Mapping[str, Mapping[str, Tally]]) -> None:
    """All or nothing."""
    with tempfile.NamedTemporaryFile(
        "w", dir=path.parent, prefix=f".{path.name}-", delete=False, encoding="utf-8"
    ) as file:
        json.dump(scores, file)
        file.flush()
        os.fsync(file.fileno())
    Path(file.name).replace(path)
