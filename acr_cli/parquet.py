"""Parquet files, read once in a process of their own before polars reads them in this one.

On some that are damaged polars panics, or asks for so much memory that it ends the process.

python -m acr_cli.parquet PATH    exit code 0 where it can be read; else what is wrong, as far as it is known
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

_PAGE = 100_000  # rows at once


def check(path: Path) -> None:
    """Raises: ComputeError of polars where it cannot be read."""
    import polars as pl

    # -P: nothing is imported from the folder that acr was called in.
    command = [sys.executable, "-P", "-m", "acr_cli.parquet", str(path)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode:
        raise pl.exceptions.ComputeError(done.stdout.decode(errors="replace").strip() or "it is damaged")


def main(arguments: Sequence[str]) -> int:
    import polars as pl

    try:
        frame, start = pl.scan_parquet(arguments[0], glob=False), 0
        while frame.slice(start, _PAGE).collect().height == _PAGE:
            start += _PAGE
    except (pl.exceptions.PolarsError, OSError) as error:
        sys.stdout.buffer.write(str(error).encode(errors="replace"))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
