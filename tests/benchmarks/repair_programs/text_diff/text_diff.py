"""The difference of two texts, line by line."""

from collections.abc import Iterator, Sequence

from lcs import lcs_length, lcs_table

KEEP, ADD, REMOVE = " ", "+", "-"


def changes(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Marks and lines that lead from old to new; removals come before additions."""
    table = lcs_table(new, old)
    i = j = 0
    while i < len(old) and j < len(new):
        if old[i] == new[j]:
            yield KEEP, old[i]
            i += 1
            j += 1
        elif table[i + 1][j] >= table[i][j + 1]:
            yield REMOVE, old[i]
            i += 1
        else:
            yield ADD, new[j]
            j += 1
    for line in old[i:]:
        yield REMOVE, line
    for line in new[j:]:
        yield ADD, line


def diff(old: str, new: str) -> str:
    """The whole difference as text, empty when nothing changed."""
    marked = list(changes(old.splitlines(), new.splitlines()))
    if all(mark == KEEP for mark, _ in marked):
        return ""
    return "\n".join(mark + line for mark, line in marked)


def patch(marked: Sequence[tuple[str, str]]) -> list[str]:
    """The new lines that a list of changes leads to."""
    return [line for mark, line in marked if mark != REMOVE]


def likeness(old: str, new: str) -> float:
    """0 for texts with no common line, 1 for equal ones."""
    left, right = old.splitlines(), new.splitlines()
    if not left and not right:
        return 1.0
    return 2 * lcs_length(left, right) / (len(left) + len(right))
