"""The arguments of a test runner: what is left out of a user's command, and what CI files add."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from acr_cli.toolchains import trees


def kept(words: Sequence[str], dropped: Mapping[str, int]) -> list[str]:
    """`words` without the options of the table; its values say how many words follow each. Pure."""
    left, skip = [], 0
    for word in words:
        if skip:
            skip -= 1
            continue
        name, equals, _ = word.partition("=")
        if name in dropped:
            skip = 0 if equals else dropped[name]
        else:
            left.append(word)
    return left


def of_ci(tree: Path, program: Sequence[str], wanted: Mapping[str, int]) -> tuple[list[str], str]:
    """These options of the first such command in a CI file, and the file; none where one does without."""
    first: tuple[list[str], str] = ([], "")
    for file, words in trees.ci_commands(tree, *program):
        taken: list[str] = []
        for at, word in enumerate(words):
            name, equals, _ = word.partition("=")
            if name in wanted:
                taken += [word] if equals else words[at : at + 1 + wanted[name]]
        if not taken:
            return [], ""
        first = first if first[0] else (taken, file)
    return first
