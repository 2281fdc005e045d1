"""Requirements such as `>=1.2,<2.0`: which versions they accept."""

import operator
from collections.abc import Callable, Iterable

from versions import Version

Clause = tuple[Callable[[Version, Version], bool], Version]

OPERATORS: dict[str, Callable[[Version, Version], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}


def compatible(version: Version, base: Version) -> bool:
    """The `~=` rule: at least the base, and below the next number one place up."""
    head = base.release[:-1] or base.release
    limit = Version((*head[:-1], head[-1] + 1))
    return base <= version <= limit


def parse_clause(text: str) -> Clause:
    text = text.strip()
    if text.startswith("~="):
        return compatible, Version.parse(text[2:])
    for symbol, compare in OPERATORS.items():
        if text.startswith(symbol):
            return compare, Version.parse(text[len(symbol) :])
    return operator.eq, Version.parse(text)


def accepts(requirement: str, version: str) -> bool:
    candidate = Version.parse(version)
    clauses = [parse_clause(part) for part in requirement.split(",")]
    return all(compare(candidate, limit) for compare, limit in clauses)


def newest(requirement: str, versions: Iterable[str]) -> str | None:
    """The highest accepted version, or None."""
    fitting = [version for version in versions if accepts(requirement, version)]
    return max(fitting, key=Version.parse, default=None)
