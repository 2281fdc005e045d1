"""The coding dimension and the language of a task, from its words and files.

Edit steps inside a repository are agentic_programming; the nine single-turn dimensions of CodeRouterBench
(arXiv 2606.22902) serve plain questions, told apart by telling words (`dimensions.toml`).
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files as resources
from pathlib import PurePosixPath

from acr_cli.records import Dimension

_LANGUAGES = {
    ".py": "python", ".pyi": "python", ".js": "javascript", ".mjs": "javascript", ".jsx": "javascript",
    ".ts": "typescript", ".tsx": "typescript", ".go": "go", ".rs": "rust", ".java": "java", ".c": "c",
    ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".hpp": "cpp", ".rb": "ruby", ".php": "php", ".cs": "csharp",
    ".kt": "kotlin", ".swift": "swift", ".scala": "scala", ".sh": "bash",
}  # fmt: skip
_NAMED = re.compile(
    r"\b(python|javascript|typescript|golang|java|c\+\+|ruby|php|c#|kotlin|scala|bash)(?!\w)"
    # Words of plain English name a language only where they cannot mean anything else.
    r"|\b(?:in|to|into|using) (go|rust|swift)\b(?!-)"
    r"|\b(go|rust|swift) (?:code|program|function|crate|package|module|struct)"
)
_SAME = {"golang": "go", "c++": "cpp", "c#": "csharp"}


def dimension_of(text: str) -> Dimension:
    """The dimension of a plain question: the one with most telling words. Pure.

    A word of code_generation ("write") stands in questions of every kind, so that it decides only where no
    other word does, and so does code_generation where there is no telling word at all."""
    lowered = text.lower()
    counts = {name: sum(len(sign.findall(lowered)) for sign in signs) for name, signs in _signs().items()}
    counts.pop(Dimension.CODE_GENERATION)
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] else Dimension.CODE_GENERATION


def language_of(files: Sequence[str], text: str = "") -> str:
    """The language that a task names, else the one that most files are in; "" when none is known. Pure."""
    named = _NAMED.search(text.lower())
    if named:
        name = named[named.lastindex or 0]
        return _SAME.get(name, name)
    counts = Counter(_LANGUAGES[s] for f in files if (s := PurePosixPath(f).suffix.lower()) in _LANGUAGES)
    return counts.most_common(1)[0][0] if counts else ""


@lru_cache(maxsize=1)
def _signs() -> dict[Dimension, list[re.Pattern[str]]]:
    content = tomllib.loads(resources("acr_cli.context").joinpath("dimensions.toml").read_text("utf-8"))
    return {Dimension(name): [re.compile(sign) for sign in signs] for name, signs in content.items()}
