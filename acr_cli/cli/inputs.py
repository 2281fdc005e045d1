"""What a command is given: an argument, a file, or standard input, which is never waited for unasked."""

from __future__ import annotations

import codecs
import os
import select
import stat
import sys
from pathlib import Path
from typing import BinaryIO

from acr_cli.cli.ci_logs import failing_part
from acr_cli.errors import UsageError
from acr_cli.records import Task

_PICTURES = (b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"II*\0", b"MM\0*")
READ_BYTES = 256 << 20  # of a log, which is shortened; more is no text of anybody
TASK_BYTES = 1024 * 1024
PATIENCE = 0.25  # seconds that a silent pipe is given, so that a program just started beside us may write


def read_task(task: str | None, issue: str | None, log: str | None, test: str | None) -> tuple[Task, str]:
    """The task, and a remark for the user ("" for none).

    Standard input is read for `-`, or when it is piped and neither TASK, --issue nor --log is given; it is
    never joined to a TASK. Raises: UsageError."""
    if [task, issue, log].count("-") > 1:
        raise UsageError("Standard input can be read only once.", hint="Give one - and a file for the other.")
    if task is not None and issue is not None:
        raise UsageError("TASK and --issue say the same thing twice.", hint="Leave one of them away.")
    text = remark = ""
    if task == "-" or issue == "-":
        text = _stdin_text()
    elif issue is not None and issue.startswith(("https://", "http://")):
        text, remark = _issue(issue)
    elif issue is not None:
        text = _file(issue, "--issue")
    elif task is not None:
        text = task
    elif log is None:
        text, remark = piped()
    if (task is not None or issue is not None) and not text.strip():
        raise UsageError(
            "The task is empty.", hint="Say what is wrong, or leave TASK away to fix failing tests."
        )
    if len(text.encode(errors="replace")) > TASK_BYTES:
        raise UsageError("The task is longer than 1 MiB.", hint="Give a log with --log, which is shortened.")
    said = ""
    if log is not None:
        said = failing_part(_stdin_text() if log == "-" else _file(log, "--log"))
        if not said.strip():
            raise UsageError("The log is empty.")
    return Task(text=text.strip(), log=said, test_command=test), remark


def _issue(address: str) -> tuple[str, str]:
    from acr_cli.cli.github import read_issue  # it brings an HTTP client, which most calls do not need

    return read_issue(address, os.environ)


def _file(name: str, flag: str) -> str:
    try:
        with Path(name).expanduser().open("rb") as file:
            return _text(_read(file, f"{flag} {name}"), f"{flag} {name}")
    except OSError as error:
        raise UsageError(f"{flag} {name}: {error.strerror}.") from error


def _read(file: BinaryIO, what: str) -> bytes:
    """Raises: UsageError where there is more than anybody has written, as in a device."""
    data = file.read(READ_BYTES + 1)
    if len(data) > READ_BYTES:
        raise UsageError(
            f"{what} is longer than {READ_BYTES >> 20} MiB.", hint="Give its last part: tail -c 100M FILE."
        )
    return data


def _text(data: bytes, what: str) -> str:
    """Raises: UsageError for a picture, and for whatever else is no text."""
    if data.startswith(_PICTURES) or (data[:4] == b"RIFF" and data[8:12] == b"WEBP"):
        raise UsageError(
            f"{what} is an image, and models are sent text only.", hint="Say in words what it shows."
        )
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", errors="replace")
    head = data[:8192]
    if head.count(0) * 20 > len(head):  # a log may hold a few
        raise UsageError(f"{what} is no text.", hint="Give the words of the task or of the log.")
    return data.decode("utf-8-sig", errors="replace")


def _stdin_text() -> str:
    if sys.stdin is None or sys.stdin.closed:
        raise UsageError("Standard input is closed.", hint="Pipe something in, or name a file.")
    return _text(_read(sys.stdin.buffer, "Standard input"), "Standard input")


def piped() -> tuple[str, str]:
    """What was piped in, if anything; and a remark where a pipe is open and silent."""
    if sys.stdin is None or sys.stdin.closed:
        return "", ""
    descriptor = sys.stdin.fileno()
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError:
        return "", ""
    if stat.S_ISREG(mode):
        return _stdin_text(), ""
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return "", ""  # a terminal, /dev/null
    ready, _, _ = select.select([descriptor], [], [], PATIENCE)
    if not ready:
        return "", "standard input is open but silent, and is not waited for; `acr fix -` waits."
    return _stdin_text(), ""
