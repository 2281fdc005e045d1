"""`python -m acr_cli.memory FOLDER HALF_LIFE`: brings snapshot and collection up to date, prints one line."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from acr_cli.errors import AcrError
from acr_cli.memory.collection import settle
from acr_cli.memory.sums import Decay


def main() -> int:
    os.umask(0o077)  # what Chroma makes is the user's alone
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # Chroma brings onnxruntime along
    try:
        half_life = None if sys.argv[2] == "None" else float(sys.argv[2])
        line = settle(Path(sys.argv[1]), Decay(half_life=half_life))
    except AcrError as error:
        sys.stderr.write(f"{error.message}\n")
        return 1
    sys.stdout.write(f"{line}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
