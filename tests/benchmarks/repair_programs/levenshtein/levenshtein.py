"""Edit distance, and what to suggest for a misspelt word."""

from collections.abc import Iterable


def distance(source: str, target: str) -> int:
    """The fewest insertions, deletions and substitutions that turn one word into the other."""
    if source == target:
        return 0
    previous = list(range(len(target) + 1))
    for row, letter in enumerate(source, start=1):
        current = [row]
        for column, other in enumerate(target, start=1):
            current.append(
                min(
                    previous[column] + 1,
                    current[column - 1] + 1,
                    previous[column] + (letter != other),
                )
            )
        previous = current
    return previous[-1]


def similarity(source: str, target: str) -> float:
    """1 for equal words, 0 for words with nothing in common."""
    longest = max(len(source), len(target))
    if longest == 0:
        return 1.0
    return 1 - distance(source, target) / longest


def suggest(word: str, vocabulary: Iterable[str], limit: int = 3, farthest: int = 2) -> list[str]:
    """The closest known words, nearest first, equal ones by the alphabet."""
    ranked = sorted((distance(word, known), known) for known in vocabulary)
    return [known for steps, known in ranked if steps <= farthest][:limit]


def did_you_mean(word: str, vocabulary: Iterable[str]) -> str | None:
    """A sentence for an error message, or None when nothing is close."""
    found = suggest(word, vocabulary)
    if not found or found[0] == word:
        return None
    return "did you mean " + " or ".join(repr(known) for known in found) + "?"
