"""Run-length encoding of text without digits."""


def encode(text):
    """The text with each run of one letter as its length and the letter."""
    raise NotImplementedError


def decode(text):
    """The text that `encode` made this from."""
    raise NotImplementedError
