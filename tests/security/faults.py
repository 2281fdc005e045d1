"""The kinds of fault: what is prepared for each, what goes wrong, and what a run may end with then."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random

from acr_cli.sandbox.bubblewrap import find_program
from tests.memory.test_faults import SOURCE
from tests.security.users_work import UNDER_WAY, git

MINE = "# mine\n"
ORDINARY = 1000  # the id of a user without rights
DAY = 86_400


@dataclass(kw_only=True, slots=True)
class Place:
    """Where a fault is thrown: a user's repository, acr's home, folders for temporary files and for notes."""

    folder: Path
    libraries: Mapping[str, Path]  # what is preloaded: "disk", "clock"
    rng: Random
    environ: dict[str, str] = field(default_factory=dict)  # of the run that meets the fault alone
    before: list[str] = field(default_factory=list)  # what that run's command begins with
    user: list[str] = field(default_factory=list)  # what every command begins with: it makes another user
    modes: dict[Path, int] = field(default_factory=dict)  # what to give back afterwards

    @property
    def repo(self) -> Path:
        return self.folder / "repo"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def fired(self) -> Path:
        """Holds a line for each call that failed."""
        return self.folder / "notes" / "fired"


def nothing(_: Place) -> None: ...


def untouched(_: Place, __: subprocess.Popen[str]) -> None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """One kind."""

    ends: frozenset[int]  # exit codes that are right
    arrange: Callable[[Place], None] = nothing  # before the run
    act: Callable[[Place, subprocess.Popen[str]], None] = untouched  # at a moment of the run
    command: str = "fix"  # what meets the fault
    under_way: str = ""  # what the user is in the middle of
    needs: str = ""  # a library, or "root"
    kills: bool = False  # the process may have no chance to clean up
    user_acts: bool = False  # what is in the repository afterwards is the user's
    may_be_patched: bool = True
    forgets: bool = False  # what acr keeps is gone, and with it how to take a patch back


def _send(number: signal.Signals, _: Place, process: subprocess.Popen[str]) -> None:
    process.send_signal(number)


def _sleep(place: Place, process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGSTOP)
    time.sleep(place.rng.uniform(0.2, 1.0))
    process.send_signal(signal.SIGCONT)


def _write(name: str, place: Place, _: subprocess.Popen[str]) -> None:
    (place.repo / name).write_text(MINE)


def _switch(place: Place, _: subprocess.Popen[str]) -> None:
    git(place.repo, "switch", "-q", "other")


def _delete_trees(place: Place, _: subprocess.Popen[str]) -> None:
    for tree in place.home.glob("runs/*/tree"):
        shutil.rmtree(tree, ignore_errors=True)


def _delete_home(place: Place, _: subprocess.Popen[str]) -> None:
    for _ in range(3):  # acr may write there meanwhile
        shutil.rmtree(place.home, ignore_errors=True)


def _failing_disk(most: int, place: Place) -> None:
    """Some calls fail in the repository, or in the home until that numbered `most`: one, a few, or all from
    then on."""
    under = place.rng.choice([place.home, place.repo])
    errors = [errno.ENOSPC, errno.EIO, errno.EACCES, errno.EDQUOT, errno.EROFS]
    _preload_disk(
        place, under, error=place.rng.choice(errors), more=place.rng.choice([0, 3, 10**6]), most=most
    )


def _deadly_disk(most: int, place: Place) -> None:
    """acr is killed before a call in the repository, or in the home until the one numbered `most`."""
    _preload_disk(place, place.rng.choice([place.home, place.repo]), error=0, more=0, most=most)
    place.environ["FAULT_ONLY"] = "python"


def _preload_disk(place: Place, under: Path, *, error: int, more: int, most: int) -> None:
    place.environ |= {
        "LD_PRELOAD": str(place.libraries["disk"]),
        "FAULT_NAMES": "1",
        "FAULT_AT": str(place.rng.randint(1, 6 if under == place.repo else most)),
        "FAULT_MORE": str(more),
        "FAULT_ERROR": str(error),
        "FAULT_UNDER": f"{under}/",
        "FAULT_FIRED": str(place.fired),
    }


def _wrong_clock(place: Place) -> None:
    place.environ |= {"LD_PRELOAD": str(place.libraries["clock"]), "CLOCK_FILE": str(_offset(place))}
    _offset(place).write_text("0")


def _set_clock(factor: int, place: Place, _: subprocess.Popen[str]) -> None:
    _offset(place).write_text(str(factor * place.rng.choice([90, 3600, 40 * DAY, 500 * DAY])))


def _far_clock(place: Place) -> None:
    _wrong_clock(place)
    year = place.rng.choice([0.1, 130])  # since 1970
    _offset(place).write_text(str(int(year * 365 * DAY - time.time())))


def _offset(place: Place) -> Path:
    return place.folder / "notes" / "offset"


def _ordinary_user(place: Place) -> None:
    """All of it belongs to a user without rights, who runs acr."""
    place.user += ["setpriv", f"--reuid={ORDINARY}", f"--regid={ORDINARY}", "--clear-groups", "--"]
    for outer in place.folder.parents:
        if outer.stat().st_mode & 0o005 != 0o005:
            outer.chmod(outer.stat().st_mode | 0o005)
    for path in (place.folder, *place.folder.rglob("*")):
        os.chown(path, ORDINARY, ORDINARY, follow_symlinks=False)


def _close(place: Place, *paths: Path, to: int = ~0o222) -> None:
    for path in paths:
        if not path.is_symlink():
            place.modes[path] = path.stat().st_mode & 0o7777
    for path, mode in sorted(place.modes.items(), reverse=True):
        path.chmod(mode & to)


def _read_only(place: Place) -> None:
    _ordinary_user(place)
    _close(place, place.repo, *(place.repo.rglob("*") if place.rng.random() < 0.5 else ()))


def _read_only_home(place: Place) -> None:
    _ordinary_user(place)
    _close(place, place.home)


def _unreadable(place: Place) -> None:
    _ordinary_user(place)
    _close(place, place.repo / place.rng.choice(["other.txt", "untracked.txt", "limit.py"]), to=0)


def _not_theirs(place: Place) -> None:
    """The repository is another's, who lets everybody read it."""
    _ordinary_user(place)
    for path in (place.repo, *place.repo.rglob("*")):
        os.chown(path, 0, 0, follow_symlinks=False)


def _read_only_mount(what: str, place: Place) -> None:
    program, _ = find_program(os.environ)
    path, repo = str(place.folder / what), str(place.repo)
    place.before += [str(program), "--dev-bind", "/", "/", "--ro-bind", path, path, "--chdir", repo, "--"]


def _ends(*codes: int) -> frozenset[int]:
    return frozenset(codes)


def _signalled(number: signal.Signals, *codes: int) -> Fault:
    return Fault(ends=_ends(0, *codes), act=partial(_send, number), kills=number is signal.SIGKILL)


KILLED = -signal.SIGKILL
_DISK = _ends(0, 1, 4)
FAULTS: Mapping[str, Fault] = {
    "kill": _signalled(signal.SIGKILL, KILLED),
    "int": _signalled(signal.SIGINT, 130),
    "term": _signalled(signal.SIGTERM, 130),
    "hup": _signalled(signal.SIGHUP, 130),
    "killed at a call": Fault(
        ends=_ends(0, KILLED), arrange=partial(_deadly_disk, 60), needs="disk", kills=True
    ),
    "killed in apply": Fault(
        ends=_ends(0, KILLED), arrange=partial(_deadly_disk, 20), needs="disk", kills=True, command="apply"
    ),
    "killed in undo": Fault(
        ends=_ends(0, KILLED), arrange=partial(_deadly_disk, 20), needs="disk", kills=True, command="undo"
    ),
    "disk": Fault(ends=_DISK, arrange=partial(_failing_disk, 60), needs="disk"),
    "disk in apply": Fault(ends=_DISK, arrange=partial(_failing_disk, 20), needs="disk", command="apply"),
    "disk in undo": Fault(ends=_DISK, arrange=partial(_failing_disk, 20), needs="disk", command="undo"),
    "edited": Fault(ends=_ends(0, 1), act=partial(_write, "limit.py"), user_acts=True),
    "edited beside": Fault(ends=_ends(0), act=partial(_write, "untracked.txt"), user_acts=True),
    "switched": Fault(ends=_ends(0), act=_switch, user_acts=True),
    "tree deleted": Fault(ends=_ends(0, 1, 4), act=_delete_trees),
    "home deleted": Fault(ends=_ends(0, 1, 4), act=_delete_home, forgets=True),
    "two at once": Fault(ends=_ends(0, 1)),
    **{what: Fault(ends=_ends(0), under_way=what) for what in UNDER_WAY},
    "clock back": Fault(ends=_ends(0), arrange=_wrong_clock, act=partial(_set_clock, -1), needs="clock"),
    "clock forward": Fault(ends=_ends(0, 6), arrange=_wrong_clock, act=partial(_set_clock, 1), needs="clock"),
    "far clock": Fault(ends=_ends(0), arrange=_far_clock, needs="clock"),
    "asleep": Fault(ends=_ends(0), act=_sleep),
    "read-only": Fault(ends=_ends(1), arrange=_read_only, needs="root", may_be_patched=False),
    "read-only home": Fault(ends=_ends(4), arrange=_read_only_home, needs="root", may_be_patched=False),
    "read-only mount": Fault(ends=_ends(1), arrange=partial(_read_only_mount, "repo"), may_be_patched=False),
    "read-only mount of the home": Fault(
        ends=_ends(4), arrange=partial(_read_only_mount, "home"), may_be_patched=False
    ),
    "unreadable": Fault(ends=_ends(4), arrange=_unreadable, needs="root", may_be_patched=False),
    "not theirs": Fault(ends=_ends(1), arrange=_not_theirs, needs="root", may_be_patched=False),
}
"""By name; `ends` holds for a run that was to fix the program."""


def lines_of(path: Path) -> Sequence[str]:
    """The lines of a note; none where there is none."""
    return path.read_text().splitlines() if path.exists() else ()


def compiled(name: str, folder: Path) -> Path:
    """What "disk" or "clock" preloads, built in this folder. Raises: CalledProcessError."""
    source = {"disk": SOURCE, "clock": Path(__file__).with_name("clock.c")}[name]
    library = folder / f"{name}.so"
    command = ["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"]
    subprocess.run(command, check=True, capture_output=True)
    return library
