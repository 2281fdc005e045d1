"""Brackets in source text: balance, partners, depth."""

from collections.abc import Iterator

PAIRS = {")": "(", "]": "[", "}": "{"}
OPENERS = frozenset(PAIRS.values())
QUOTES = frozenset("'\"")


def brackets(text: str) -> Iterator[tuple[int, str]]:
    """Positions and brackets of the text, those within quotes left out."""
    quote = ""
    escaped = False
    for position, character in enumerate(text):
        if escaped:
            escaped = False
        elif quote:
            if character == "\\":
                escaped = True
            elif character == quote:
                quote = ""
        elif character in QUOTES:
            quote = character
        elif character in OPENERS or character in PAIRS:
            yield position, character


def is_balanced(text: str) -> bool:
    """Whether every bracket has its partner, properly nested."""
    stack: list[str] = []
    for _, bracket in brackets(text):
        if bracket in OPENERS:
            stack.append(bracket)
        elif not stack or stack.pop() != PAIRS[bracket]:
            return False
    return True


def partners(text: str) -> dict[int, int]:
    """The position of every bracket that has a partner, and the partner's."""
    found: dict[int, int] = {}
    stack: list[tuple[int, str]] = []
    for position, bracket in brackets(text):
        if bracket in OPENERS:
            stack.append((position, bracket))
        elif stack and stack[-1][1] == PAIRS[bracket]:
            opened, _ = stack.pop()
            found[opened] = position
            found[position] = opened
    return found


def deepest(text: str) -> int:
    """The greatest number of brackets that are open at once."""
    depth = most = 0
    for _, bracket in brackets(text):
        depth += 1 if bracket in OPENERS else -1
        most = max(most, depth)
    return most


def needs_more(lines: list[str]) -> bool:
    """Whether a prompt has to wait for another line."""
    return not is_balanced("\n".join(lines))
