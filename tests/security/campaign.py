"""Faults thrown at a run, by a seed; and whether every byte of the user's was safe afterwards.

One trial makes a repository with everything that a user could lose, starts acr in it, lets one thing go wrong
at a moment of the run, and compares. Then acr is used as a user would: its patch is taken back, if it came to
one, and the program is fixed once more, which cleans up after a run that was killed.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from acr_cli.memory.store import Memory
from acr_cli.worktree.runs import list_runs
from tests.security.faults import FAULTS, MINE, Fault, Place, lines_of
from tests.security.left_behind import Processes
from tests.security.users_work import FIXED, State, differences, is_patched, repository, state

ACR = Path(sys.executable).parent / "acr"
EVENTS = (
    *("run_started", "notice", "sandbox_ready", "progress", "baseline", "plan", "step_started", "choice"),
    *("attempt", "verdict", "remembered", "applied", "result"),
)
"""The moments of a run; the first event of each kind."""
KINDS = tuple(FAULTS)
SCRIBE = f"""
from acr_cli.records import Attempt


class Scribe:
    name = "scribe"

    def __init__(self, *, emit): ...

    def eligible(self, step):
        return bool(step.failures)

    def attempt(self, step, candidate, tree, sandbox, budget):
        tree.path("limit.py").write_text({FIXED!r})
        return Attempt(candidate=candidate.id, summary="written")
"""
"""An installed backend that writes the fix at once."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """What was done to a run, and what was lost: nothing, if all is well."""

    seed: int
    fault: str
    moment: str
    fired: bool  # whether the fault happened at all: a run may be over before its moment
    code: int
    states: int  # files, links and folders whose state was compared
    losses: tuple[str, ...]


@dataclass(kw_only=True, slots=True)
class _Run:
    """One process of acr, and what it has said."""

    process: subprocess.Popen[str]
    events: list[dict[str, Any]] = field(default_factory=list)
    errors: str = ""

    @property
    def code(self) -> int:
        return self.process.returncode

    @property
    def last(self) -> Mapping[str, Any]:
        return self.events[-1] if self.events else {}

    def said(self, text: str) -> bool:
        """Whether one of its notices says so."""
        return any(text in str(event.get("text")) for event in self.events if event["type"] == "notice")

    def until(self, event: str) -> bool:
        """Read on until it says this; whether it does."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.events.append(json.loads(line))
            if self.last.get("type") == event:
                return True
        return False

    def end(self) -> _Run:
        output, self.errors = self.process.communicate(timeout=300)
        self.events += [json.loads(line) for line in output.splitlines() if line]
        return self


def of_seed(seed: int) -> tuple[str, str]:
    """The kind of fault and the moment of a seed: in turn, so that every pair comes up."""
    return KINDS[seed % len(KINDS)], EVENTS[seed // len(KINDS) % len(EVENTS)]


def trial(
    seed: int,
    folder: Path,
    libraries: Mapping[str, Path],
    *,
    environ: Mapping[str, str],
    kind: str | None = None,
    moment: str | None = None,
    thorough: bool = True,
) -> Trial:
    """One fault, by its seed, or of this kind at this moment. `libraries`: what is preloaded, by name.
    `thorough`: acr is used afterwards in any case, not only where it has something to clean up."""
    kind, moment = kind or of_seed(seed)[0], moment or of_seed(seed)[1]
    fault = FAULTS[kind]
    place = Place(folder=folder, libraries=libraries, rng=Random(seed))
    environ = _prepared(place, fault.under_way, environ)
    modes = {name: mode for name, (mode, _) in state(place.repo).items()}
    fault.arrange(place)
    processes = Processes(folder)
    before = state(place.repo)
    if fault.command != "fix":
        _start(place, environ, *_FIX, *(["--dry-run"] if fault.command == "apply" else []), alone=False).end()
    tries = {"fix": _FIX, "apply": ("apply", "--yes", "--json"), "undo": ("undo", "--json")}[fault.command]
    run = _start(place, environ, *tries)
    second = [_start(place, environ, *tries)] if kind == "two at once" else []
    fired = run.until(moment) if fault.command == "fix" else True
    if fired:
        fault.act(place, run.process)
    wanted = state(place.repo) if fault.user_acts else before
    if kind != "edited":  # the patch may have been there already when the user acted
        wanted = {**wanted, "limit.py": before["limit.py"]}
    ended = [each.end() for each in (run, *second)]
    fired = bool(lines_of(place.fired)) if "FAULT_AT" in place.environ else fired
    judge = _Judge(place=place, fault=fault, environ=environ, before=wanted, modes=modes)
    judge.run(ended)
    if kind == "edited" and fired and not run.last.get("applied"):
        judge.keeps_edit()
    if (thorough or fault.kills or fault.command != "fix") and not fault.forgets:
        judge.afterwards(ended, thorough=thorough or fault.kills)
    judge.remembers(ended)
    processes.look(kind)
    judge.losses += [str(each) for each in processes.left(patience=20)]
    shutil.rmtree(folder, ignore_errors=True)
    return Trial(
        seed=seed,
        fault=kind,
        moment=moment,
        fired=fired,
        code=run.code,
        states=judge.states,
        losses=tuple(judge.losses),
    )


_FIX = ("fix", "--json", "--sandbox", "none", "--yes", "--model", "scribe")


def _prepared(place: Place, under_way: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Everything that a trial needs, on disk; the environment of its commands."""
    repository(place.repo, under_way=under_way)
    site = place.folder / "site"
    info = site / "scribe-1.0.dist-info"
    for folder in (place.home, info, place.fired.parent, place.folder / "tmp"):
        folder.mkdir(parents=True)
    (place.home / "config.toml").write_text('backends = ["scribe"]\n')
    (site / "scribe.py").write_text(SCRIBE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: scribe\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[acr_cli.backends]\nscribe = scribe:Scribe\n")
    return {
        **environ,
        "ACR_HOME": str(place.home),
        "HOME": str(place.folder),
        "TMPDIR": str(place.folder / "tmp"),
        "PYTHONPATH": str(site),
        "PYTHONDONTWRITEBYTECODE": "1",
        "VIRTUAL_ENV": sys.prefix,
    }


def _start(place: Place, environ: Mapping[str, str], *arguments: str, alone: bool = True) -> _Run:
    """`alone`: the fault is for this command."""
    process = subprocess.Popen(
        [*(place.before if alone else ()), *place.user, str(ACR), *arguments],
        cwd=place.repo,
        env={**environ, **(place.environ if alone else {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    return _Run(process=process)


@dataclass(kw_only=True, slots=True)
class _Judge:
    """Compares what is with what should be."""

    place: Place
    fault: Fault
    environ: Mapping[str, str]
    before: State
    modes: Mapping[str, int] = field(default_factory=dict)  # as they were before a fault changed them
    losses: list[str] = field(default_factory=list)
    states: int = 0

    def run(self, ended: Sequence[_Run]) -> None:
        """What the run that met the fault left and said."""
        for run in ended:
            self._spoke_clearly(run, self.fault.ends)
        if any(run.code < 0 for run in ended):  # what it could not clean up, the next command does
            return
        self._compare("at once", patched=self.fault.may_be_patched)
        self._says_what_is_there(ended)
        if "FAULT_AT" not in self.place.environ:
            self._nothing_left()

    def keeps_edit(self) -> None:
        """What the user has written over the file that the patch is for is there."""
        if (self.place.repo / "limit.py").read_bytes() != self.before["limit.py"][1]:
            self.losses.append("limit.py: what the user wrote is gone")

    def afterwards(self, ended: Sequence[_Run], *, thorough: bool) -> None:
        """Use acr as before: its patch is taken back, and the program fixed again."""
        for path, mode in self.place.modes.items():
            path.chmod(mode)
        self.place.modes.clear()
        if not self.fault.may_be_patched:  # from here on it may
            self.place.user.clear()
        was_patched = is_patched(self.place.repo)
        back = _start(self.place, self.environ, "undo", "--json", alone=False).end()
        # Where it was killed while it took the patch back, that was completed before this one began.
        if was_patched and back.code != 0 and self.fault.command != "undo":
            self.losses.append(f"undo: exit code {back.code}: {back.errors.strip()}")
        # What the user has written over a patch is not taken back.
        ends = (0, 2) if self.before["limit.py"][1] != MINE.encode() else (0, 1, 2)
        self._spoke_clearly(back, ends, name="undo")
        self._compare("after undo", patched=False)
        if thorough:
            again = _start(self.place, self.environ, *_FIX, alone=False).end()
            self._spoke_clearly(again, frozenset((0,)), name="fix again")
            self._compare("after the next fix", patched=True)
            if not is_patched(self.place.repo):
                self.losses.append("the next fix: it is not there")
            self._nothing_left()

    def _spoke_clearly(self, run: _Run, ends: Iterable[int], name: str = "exit code") -> None:
        if run.code not in ends:
            self.losses.append(f"{name}: {run.code}: {run.errors.strip()[-300:]} {str(run.last)[-400:]}")
        if "Traceback" in run.errors or "Unexpected " in run.errors:
            self.losses.append(f"{name}: no clear sentence: {run.errors.strip()[-400:]}")
        if run.code >= 0 and run.last.get("exit_code", run.code) != run.code:
            self.losses.append(f"{name}: {run.code}, and the result says {run.last['exit_code']}")

    def _says_what_is_there(self, ended: Sequence[_Run]) -> None:
        """`applied` means that the patch is there, unless the user has gone on since."""
        if self.fault.command != "fix" or self.fault.user_acts:
            return
        applied = [run for run in ended if run.last.get("applied") or run.said("had just been applied")]
        if bool(applied) != is_patched(self.place.repo):
            self.losses.append(f"applied: said {bool(applied)}, and is {not applied}")
        if len(applied) > 1:
            self.losses.append("applied twice")

    def _compare(self, when: str, *, patched: bool) -> None:
        now = state(self.place.repo)
        self.states += len(now)
        if when == "at once" and "FAULT_AT" in self.place.environ:  # a broken disk may not be cleaned up
            now = {name: entry for name, entry in now.items() if not name.startswith(".acr-")}
        wanted = self.before
        if not self.place.modes:  # they were given back
            wanted = {name: (self.modes.get(name, mode), data) for name, (mode, data) in wanted.items()}
        if when == "at once" and "FAULT_AT" in self.place.environ:  # a broken disk may not be cleaned up
            now = {name: of for name, of in now.items() if not Path(name).name.startswith(".acr-")}
        self.losses += [f"{when}: {loss}" for loss in differences(wanted, now, patched=patched)]

    def _nothing_left(self) -> None:
        heavy = [copy for run in list_runs(self.place.home) for copy in run.copies()]
        journals = self.place.home.glob("runs/*/delivery.*")
        temporary = (self.place.folder / "tmp").iterdir()
        self.losses += [f"left behind: {path}" for path in (*heavy, *journals, *temporary)]

    def remembers(self, ended: Sequence[_Run]) -> None:
        """Every outcome that was said to be remembered is."""
        said = {event["outcome"] for run in ended for event in run.events if event["type"] == "remembered"}
        if not said or self.fault.forgets:
            return
        ours, tempfile.tempdir = tempfile.tempdir, str(self.place.folder / "tmp")
        try:
            memory = Memory(self.place.home)
            memory.settle()
            known = {outcome.id for outcome in memory.outcomes()}
            memory.close()
        finally:
            tempfile.tempdir = ours
        self.losses += [f"memory: {name} is forgotten" for name in sorted(said - known)]
