"""Run-length encoding of text without digits."""

import re
from itertools import groupby


def encode(text):
    """The text with each run of one letter as its length and the letter."""
    runs = ((letter, len(list(run))) for letter, run in groupby(text))
    return "".join(f"{length if length > 1 else ''}{letter}" for letter, length in runs)


def decode(text):
    """The text that `encode` made this from."""
    return "".join(letter * int(length or 1) for length, letter in re.findall(r"(\d*)(\D)", text))
