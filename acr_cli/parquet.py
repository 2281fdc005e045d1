"""Parquet files as polars reads them, where a damaged one is an error like any other.

polars panics on some: that is an exception which nobody expects, and a trace of its own on the terminal.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def reading() -> Iterator[None]:
    """Around whatever reads one. Raises: ComputeError of polars where it panics."""
    import polars as pl

    with _nothing_printed():
        try:
            yield
        except pl.exceptions.PanicException as error:
            raise pl.exceptions.ComputeError("it is damaged") from error


@contextmanager
def _nothing_printed() -> Iterator[None]:
    """What is not Python's writes to the descriptor of standard error itself."""
    try:
        kept = os.dup(2)
    except OSError:  # there is none
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(nowhere)
        os.close(kept)
