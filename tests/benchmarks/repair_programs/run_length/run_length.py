"""Run-length encoding of texts and of pixel rows."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def runs(items: Iterable[T]) -> list[tuple[T, int]]:
    """Items and how often each comes in a row."""
    result: list[tuple[T, int]] = []
    current: list[T] = []
    for item in items:
        if current and current[-1] != item:
            result.append((current[0], len(current)))
        current = []
        current.append(item)
    if current:
        result.append((current[0], len(current)))
    return result


def encode(text: str) -> str:
    """`aaab` as `3ab`; texts must not hold digits."""
    if any(character.isdigit() for character in text):
        raise ValueError("digits cannot be encoded")
    return "".join(f"{count if count > 1 else ''}{letter}" for letter, count in runs(text))


def decode(code: str) -> str:
    text, count = "", ""
    for character in code:
        if character.isdigit():
            count += character
        else:
            text += character * int(count or 1)
            count = ""
    if count:
        raise ValueError(f"a count without a letter: {count}")
    return text


def spans(row: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """Start and end of every stretch of set pixels."""
    position = 0
    for is_set, length in runs(row):
        if is_set:
            yield position, position + length
        position += length


def longest(items: Iterable[T]) -> tuple[T, int] | None:
    """The longest run, the first of equal ones."""
    return max(runs(items), key=lambda run: run[1], default=None)
