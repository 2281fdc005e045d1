"""Wrap, indent and justify plain text."""

from collections.abc import Iterator


def _pieces(word: str, width: int) -> Iterator[str]:
    """A word in pieces that fit; most words are one piece."""
    while len(word) > width:
        yield word[:width]
        word = word[width:]
    if word:
        yield word


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most `width` characters; longer words are broken."""
    if width < 1:
        raise ValueError("width must be positive")
    lines: list[str] = []
    line = ""
    for word in text.split():
        for piece in _pieces(word, width):
            if not line:
                line = piece
            elif len(line) + len(piece) <= width:
                line = f"{line} {piece}"
            else:
                lines.append(line)
                line = piece
    if line:
        lines.append(line)
    return lines


def justify(line: str, width: int) -> str:
    """Spread the blanks of a line over the width, the wider gaps first."""
    words = line.split()
    if len(words) < 2:
        return line
    blanks = width - sum(len(word) for word in words)
    gap, extra = divmod(blanks, len(words) - 1)
    result = words[0]
    for index, word in enumerate(words[1:]):
        result += " " * (gap + (1 if index < extra else 0)) + word
    return result


def paragraph(text: str, width: int, indent: str = "") -> str:
    """A justified paragraph whose last line is left as it is."""
    lines = wrap(text, width - len(indent))
    body = [justify(line, width - len(indent)) for line in lines[:-1]] + lines[-1:]
    return "\n".join(indent + line for line in body)
