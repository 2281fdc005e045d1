"""Settling in a process apart, which may be started ahead: it takes longer to import Chroma than to use it.

A child that is started ahead imports beside the run, and touches no file of memory. Once the outcomes are in
the journal it gets one word on its standard input, and settles. Where that input ends without the word, acr
has been killed or needs no settling, and the child ends at once, in the middle of an import too. A damaged
collection can hang or kill the child: its crash or silence after it has begun is taken for damage, and one
before that only for a child that is not there.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from acr_cli.memory.collection import FOLDER, JOURNAL, NOTES
from acr_cli.memory.sums import Decay

GO = "go"
BEGUN = "settling"  # said by a child that was started ahead, before it touches anything
CHILD_SECONDS = 60.0


class Ahead:
    """A child that waits until it may settle `folder` (HOME/memory, which need not be there yet).

    Raises: OSError where none can be started."""

    def __init__(self, folder: Path, decay: Decay) -> None:
        self._process = _started(folder.parent, [*_command(folder, decay), "ahead"], stdin=subprocess.PIPE)

    @property
    def pid(self) -> int:
        return self._process.pid

    def settle(self) -> tuple[str, str] | None:
        """(the child's line, "") or ("", why there is none); None where it had not begun. Ends the child."""
        line, reason, lines = _answer(self._process, GO + "\n")
        return (line, reason) if BEGUN in lines else None

    def end(self) -> None:
        """It is gone afterwards, whatever it was at."""
        with self._process as process:
            process.kill()


def settle_apart(folder: Path, decay: Decay, ahead: Ahead | None = None) -> str:
    """Bring snapshot and collection in `folder` (HOME/memory) up to date in a child process, that which was
    started ahead if there is one; one line for the user.

    Never raises for a busy or broken collection: a broken one is built anew, a busy one left alone."""
    if not (folder / JOURNAL).exists():
        if ahead is not None:
            ahead.end()
        return "nothing to index yet"
    line = reason = ""
    for _ in range(2):
        told = ahead.settle() if ahead is not None else _child(folder, decay)
        ahead = None
        if told is None:  # it never began, and nothing is damaged
            continue
        line, reason = told
        if line:
            return line
        # Without its notes a collection counts as damaged: the second try starts from nothing.
        with suppress(OSError):
            (folder / FOLDER / NOTES).unlink(missing_ok=True)
    return f"the Chroma collection could not be built ({reason}); memory itself is unharmed"


def _child(folder: Path, decay: Decay) -> tuple[str, str]:
    """(the child's line, "") or ("", why there is none)."""
    try:
        process = _started(folder, _command(folder, decay), stdin=subprocess.DEVNULL)
    except OSError as error:
        return "", str(error)
    line, reason, _ = _answer(process)
    return line, reason


def _command(folder: Path, decay: Decay) -> list[str]:
    # -P: the folder that acr was started in is the user's repository, and nothing is imported from there.
    module = [sys.executable, "-P", "-m", "acr_cli.memory"]
    return [*module, "settle", str(folder.absolute()), repr(decay.half_life)]


def _started(where: Path, command: Sequence[str], *, stdin: int) -> subprocess.Popen[str]:
    """Raises: OSError."""
    return subprocess.Popen(
        command,
        cwd=where,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )


def _answer(process: subprocess.Popen[str], told: str | None = None) -> tuple[str, str, Sequence[str]]:
    """(a child's last line, "", its lines) or ("", why it came to none, its lines); it is gone afterwards."""
    with process:
        try:
            said, errors = process.communicate(told, timeout=CHILD_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            said, _ = process.communicate()
            return "", f"no answer in {CHILD_SECONDS:.0f} s", said.split("\n")
        except BaseException:  # an interrupt, which does not wait for the child
            process.kill()
            raise
    lines = said.strip().splitlines()
    if process.returncode == 0 and lines:
        return lines[-1], "", lines
    why = errors.strip().splitlines()
    return "", why[-1][:200] if why else f"exit code {process.returncode}", lines
