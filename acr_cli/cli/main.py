"""The entry point: the only place that catches, and the only one that decides an exit code.

Everything else raises `AcrError` or returns a number. What nobody foresaw becomes one sentence and a trace in
the home folder's `logs`.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import io
import os
import signal
import stat
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from acr_cli import __version__
from acr_cli.errors import AcrError

if TYPE_CHECKING:
    from types import FrameType

    from acr_cli.cli.invocation import Failure, Invocation

INTERRUPTED = 130


def program() -> NoReturn:
    """`acr`, as a process of its own; ends it with the exit code.

    At once, once all has been done that was asked for at the end: a thread of the background may be in the
    native code of a library, and Python, which takes itself apart around such a thread, may crash."""
    code = main()
    with contextlib.suppress(KeyboardInterrupt):
        threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001  for those that are to be waited for
        atexit._run_exitfuncs()  # noqa: SLF001
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code. Never raises."""
    if argv is None:
        _speak_utf8()
        _open_standard_streams()
        _lose_what_nobody_can_read()
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        return _main(arguments)
    except KeyboardInterrupt:  # before anything began, or once more while an interrupt was being reported
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        sys.stderr.write("acr: Interrupted.\n")
        return INTERRUPTED
    except OSError as error:  # of `--version`, which is answered before all else
        return _unwritable(error)


def _speak_utf8() -> None:
    """Begin again in Python's UTF-8 mode where file names are in another encoding: git's are bytes, and two
    spellings of one name would be two files. What goes to the terminal stays in the terminal's encoding."""
    if sys.getfilesystemencoding() == "utf-8" or os.environ.get("PYTHONUTF8") == "1":
        return
    spoken = getattr(sys.stdout, "encoding", None) or "ascii"
    os.environ.update(PYTHONUTF8="1", PYTHONIOENCODING=f"{spoken}:replace")
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606  ourselves


def _main(arguments: list[str]) -> int:
    for stream in (sys.stdout, sys.stderr):
        # A file name need not be valid text in the terminal's encoding.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    if arguments == ["--version"]:
        # Answered before typer is imported: programs ask it often.
        sys.stdout.write(f"acr {__version__}\n")
        return _flushed(0)
    from acr_cli.cli.invocation import Invocation

    hear_interrupts()
    return guarded(arguments, Invocation())


def _open_standard_streams() -> None:
    """What was closed (`>&-`) swallows what is written; a file opened later must not take its number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)  # the lowest number that is free: this one
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
        if getattr(sys, name) is None:
            mode = "w" if number else "r"
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


class _Progress(io.FileIO):
    """Standard error: what cannot be written there (a full disk, a reader or a terminal that has gone) is
    lost and ends nothing, since it is no result."""

    def write(self, data: Any, /) -> int:
        with contextlib.suppress(OSError):
            return super().write(data) or 0
        return len(data)


def _lose_what_nobody_can_read() -> None:
    old = sys.stderr
    if isinstance(old, io.TextIOWrapper):
        raw = io.BufferedWriter(_Progress(2, "w", closefd=False))
        encoding, errors = old.encoding, old.errors or "backslashreplace"
        sys.stderr = io.TextIOWrapper(raw, encoding=encoding, errors=errors, line_buffering=True)


def hear_interrupts() -> None:
    """SIGTERM and a terminal that closes count as Ctrl-C, and none is lost where Python drops exceptions."""
    signal.signal(signal.SIGTERM, _terminate)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # which `nohup` wants
        signal.signal(signal.SIGHUP, _terminate)
    sys.unraisablehook = _interrupt_again


def _interrupt_again(dropped: sys.UnraisableHookArgs) -> None:
    """An interrupt that fell into a finalizer of some library is raised once more a moment later."""
    if not issubclass(dropped.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(dropped)
        return
    # Not from here, where it would be dropped again; and as a signal, which ends what the thread waits for.
    later = threading.Timer(0.02, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
    later.daemon = True
    later.start()


def _terminate(_signal: int, _frame: FrameType | None) -> NoReturn:
    """SIGTERM and SIGHUP end a run as Ctrl-C does: everything is cleaned up."""
    raise KeyboardInterrupt


def guarded(
    arguments: list[str],
    invocation: Invocation,
    run: Callable[[list[str], Invocation], int] | None = None,
) -> int:
    """The exit code of `run` (otherwise of the command line), whatever it raises."""
    from acr_cli.cli.invocation import Failure

    try:
        code = (run or _run)(arguments, invocation)
    except AcrError as error:
        failure = Failure(id=error.id, exit_code=error.exit_code, message=error.message, hint=error.hint)
        return _report(failure, invocation)
    except KeyboardInterrupt:
        failure = Failure(id="interrupted", exit_code=INTERRUPTED, message="Interrupted.")
        return _report(failure, invocation)
    except MemoryError:
        text, hint = (
            "This machine's memory is used up.",
            "Close other programs, or raise the limit (ulimit -v).",
        )
        return _report(Failure(id="out-of-memory", exit_code=1, message=text, hint=hint), invocation)
    except BrokenPipeError:
        return _flushed(invocation.ends)
    except Exception as error:  # noqa: BLE001  the last line of defence: one sentence instead of a trace
        if isinstance(error, OSError) and _is_lost(error):
            return invocation.ends or 1
        return _report(_unexpected(error, invocation), invocation)
    lost = _is_lost(invocation.lost)
    return code or int(lost)


def _run(arguments: list[str], invocation: Invocation) -> int:
    """Parse and carry out. Typer's own errors become ours or a code; all others pass."""
    if arguments[:2] == ["completion", "--values"]:
        from acr_cli.cli.values import print_values

        return print_values(arguments[2:], invocation)
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "-h"]
    import typer

    from acr_cli.cli.app import root
    from acr_cli.errors import UsageError

    command = root()
    try:
        with command.make_context("acr", arguments, obj=invocation) as context:
            result = command.invoke(context)
    except typer.Exit as done:
        return done.exit_code
    except typer.Abort:
        raise KeyboardInterrupt from None
    except typer.TyperException as error:
        context_ = getattr(error, "ctx", None)
        path = context_.command_path if context_ is not None else "acr"
        text = error.format_message()
        if text.startswith("Usage:"):
            # A command that was called without anything shows its help.
            sys.stderr.write(text.rstrip() + "\n")
            return 2
        raise UsageError(_usage(error, context_, text), hint=f"`{path} -h` shows what it takes.") from None
    return result if isinstance(result, int) else 0


def _usage(error: Exception, context: Any, text: str) -> str:
    """What is wrong with a command line; of an option that does not exist, which one was meant."""
    from acr_cli.settings.keys import nearest

    option = getattr(error, "option_name", None)
    if not hasattr(error, "possibilities") or option is None or context is None:
        return _sentence(text)
    if option[1:2].isdigit():
        return f"There is no option {option}; a value that begins with - follows --."
    known = [name for param in context.command.get_params(context) for name in param.opts]
    return _sentence(f"There is no option {option}{nearest(option, [n for n in known if n[:2] == '--'])}")


def _sentence(text: str) -> str:
    line = " ".join(text.split())
    return line if line.endswith((".", "?", "!", ")")) else line + "."


def _report(failure: Failure, invocation: Invocation) -> int:
    """One sentence, and what to do, on stderr; for a command in JSON its last line on stdout."""
    from acr_cli.cli.terminal import show_error

    try:
        show_error(failure.message, failure.hint, id_=failure.id, no_color=invocation.no_color)
        if invocation.on_failure is not None:
            invocation.on_failure(failure)
    except BrokenPipeError:
        pass  # silenced below
    _flushed(0)
    return failure.exit_code


def _unexpected(error: Exception, invocation: Invocation) -> Failure:
    import traceback
    from datetime import UTC, datetime

    from acr_cli.cli.invocation import Failure
    from acr_cli.redaction import struck
    from acr_cli.settings import home_folder, load_environment

    environ: Mapping[str, str] = os.environ
    with contextlib.suppress(AcrError):
        environ = load_environment()
    trace = struck("".join(traceback.format_exception(error)), environ)
    if invocation.verbose:
        from acr_cli.cli.terminal import clean

        sys.stderr.write(clean(trace))
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    message = f"Unexpected {type(error).__name__}: {' '.join(struck(str(error), environ).split())[:300]}"
    try:
        path = home_folder() / "logs" / f"crash-{stamp}-{os.getpid()}.txt"
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as file:
            file.write(f"acr {__version__}, Python {sys.version}\n{trace}")
    except (OSError, AcrError):
        return Failure(id="unexpected", exit_code=1, message=message, hint="Run again with -v for the trace.")
    return Failure(id="unexpected", exit_code=1, message=message, hint=f"The trace is in {path}.")


def _is_lost(error: OSError | None) -> bool:
    """Whether standard output could not be written, now or by this error; it is said then."""
    return bool(_flushed(0) or (error is not None and _unwritable(error)))


def _unwritable(error: OSError) -> int:
    """1, said in one sentence, if an error is that of standard output, which is not a terminal; else 0.

    Where Python does not buffer, and for long texts, the write itself fails, and no flush does."""
    if error.filename is not None or error.errno not in _FULL:
        return 0
    kind = os.fstat(1).st_mode
    if not (stat.S_ISREG(kind) or (stat.S_ISCHR(kind) and not os.isatty(1))):
        return 0
    _say_unwritable(error)
    return 1


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def _say_unwritable(error: OSError) -> None:
    reason = (error.strerror or str(error)).lower()
    sys.stderr.write(f"acr: The output cannot be written: {reason}. [output]\n")


def _flushed(code: int) -> int:
    """`code` once standard output has taken everything. A reader that has gone, as in `acr runs list | head`,
    has all that it wanted; a disk that is full is an error."""
    try:
        sys.stdout.flush()
    except OSError as error:
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, sys.stdout.fileno())
        os.close(silence)
        if not isinstance(error, BrokenPipeError):
            _say_unwritable(error)
            return code or 1
    return code
