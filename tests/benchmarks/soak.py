"""`make soak`: long campaigns against the security model, bounded in time; seeds and figures are printed.

1. Faults thrown at runs, each by its seed, until the time is up. 2. Histories of git with patches in them.
3. Parsers shown hostile input. 4. Walls taken down, one at a time.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.benchmarks.fuzz import fuzz, states
from tests.benchmarks.guards import GUARDS, taken_down
from tests.conftest import IDENTITY
from tests.security.campaign import of_seed, trial
from tests.security.faults import FAULTS, compiled

_CAMPAIGNS = ("faults", "states", "fuzz", "guards")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="for each of the first three; default 10")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the first round")
    parser.add_argument("--only", choices=_CAMPAIGNS, help="one of the campaigns")
    given = parser.parse_args(arguments)
    chosen = (given.only,) if given.only else _CAMPAIGNS
    for ignored in (signal.SIGINT, signal.SIGHUP):  # in the background, under nohup
        if signal.getsignal(ignored) is signal.SIG_IGN:
            signal.signal(ignored, lambda *_: None)
    timed = {"faults": faults, "states": states, "fuzz": fuzz}
    lost = sum(timed[name](given.minutes, given.seed) if name in timed else guards() for name in chosen)
    return 1 if lost else 0


def faults(minutes: float, first: int) -> int:
    """Prints each loss with its seed; how many there were."""
    until, seed, states, lost = time.monotonic() + minutes * 60, first, 0, 0
    kinds: Counter[str] = Counter()
    missed = 0
    with tempfile.TemporaryDirectory(prefix="acr-soak-") as name:
        folder = Path(name)
        libraries = {kind: compiled(kind, folder) for kind in ("disk", "clock")}
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("ACR_", "GIT_"))}
        environ |= IDENTITY
        while time.monotonic() < until:
            kind = of_seed(seed)[0]
            if FAULTS[kind].needs != "root" or os.geteuid() == 0:
                done = trial(seed, folder / "trial", libraries, environ=environ)
                kinds[kind] += done.fired
                missed += not done.fired
                states += done.states
                lost += len(done.losses)
                for loss in done.losses:
                    print(f"seed {seed}: {kind} at {done.moment}: {loss}", flush=True)
            seed += 1
    told = ", ".join(f"{kind} {number}" for kind, number in sorted(kinds.items()) if number)
    print(f"faults: seeds {first} to {seed - 1}; {sum(kinds.values())} injected ({told})")
    print(f"faults: {missed} runs were over before their fault")
    print(f"faults: {states} states of files compared")
    print(f"faults: {lost or 'no'} losses", flush=True)
    return lost


def guards() -> int:
    """Prints each wall; how many of their tests do not notice that it is gone."""
    unnoticed = 0
    for guard in GUARDS:
        noticed = taken_down(guard)
        unnoticed += not noticed
        print(f"guards: {'noticed' if noticed else 'NOT NOTICED'}: {guard.name} ({guard.test})", flush=True)
    print(f"guards: {len(GUARDS)} walls taken down, {unnoticed or 'none'} unnoticed")
    return unnoticed


if __name__ == "__main__":
    sys.exit(main())
