"""What acr does to its memory in a process apart; prints one line.

python -m acr_cli.memory settle FOLDER HALF_LIFE    snapshot and Chroma collection up to date; with "ahead"
                                                    behind it, once standard input says so
python -m acr_cli.memory team FOLDER                with the team's server, as told on standard input
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from acr_cli.errors import AcrError
from acr_cli.memory import chroma
from acr_cli.memory.apart import BEGUN, GO
from acr_cli.memory.collection import JOURNAL, settle
from acr_cli.memory.journal import Journal
from acr_cli.memory.sums import Decay
from acr_cli.memory.team import Server, synchronise

TEAM_SECONDS = 600


def main(arguments: Sequence[str]) -> int:
    os.umask(0o077)  # what Chroma makes is the user's alone
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # Chroma brings onnxruntime along
    try:
        line = _team(*arguments[1:]) if arguments[0] == "team" else _settle(*arguments[1:])
    except AcrError as error:
        sys.stderr.write(f"{error.message}\n")
        return 1
    sys.stdout.write(f"{line}\n")
    return 0


def _settle(folder: str, half_life: str, when: str = "") -> str:
    if when == "ahead":
        _wait()
    return settle(Path(folder), Decay(half_life=None if half_life == "None" else float(half_life)))


def _wait() -> None:
    """Import what is slow until settling may begin. Does not return where that will never be.

    Not at a lower priority, which cannot be raised again: on a busy machine acr would wait for it later."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is acr's, which ends this process if it wants to
    loading = threading.Thread(target=chroma.load, daemon=True)
    loading.start()
    if sys.stdin.readline().strip() != GO:
        os._exit(0)  # not later, when what is being imported has been
    loading.join()
    sys.stdout.write(f"{BEGUN}\n")
    sys.stdout.flush()


def _team(folder: str) -> str:
    signal.alarm(TEAM_SECONDS)  # a server that never answers must not hold the lock for ever
    told = json.loads(sys.stdin.read())  # the token among it stands in no list of processes
    journal = Journal(
        Path(folder) / JOURNAL, bound=told["bound"], decay=Decay.of_days(told["half_life_days"])
    )
    try:
        server = Server(**told["server"])
        store_text = told["store_text"]
        return synchronise(Path(folder), journal, server, now=time.time(), store_text=store_text).line()
    finally:
        journal.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
