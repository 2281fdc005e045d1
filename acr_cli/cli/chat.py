"""`acr chat`: the same loop, with a person in it."""

# ruff: noqa: PLR0917  typer reads a command's options off its signature

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from acr_cli.cli.app import Leaf, group
from acr_cli.cli.chat_commands import COMMANDS, carry_out
from acr_cli.cli.chat_reading import Read, is_terminal, plain, terminal
from acr_cli.cli.invocation import Invocation
from acr_cli.cli.terminal import clean, confirmed, show_error
from acr_cli.cli.words import usd
from acr_cli.errors import AcrError
from acr_cli.records import Status

if TYPE_CHECKING:
    from types import FrameType

    from acr_cli.build.chatting import Conversation
    from acr_cli.events import Emit
    from acr_cli.records import RunResult
    from acr_cli.settings import Settings

app = group("")

INTERRUPTED = 130


@app.command(cls=Leaf)
def chat(
    ctx: typer.Context,
    model: str = typer.Option(None, metavar="MODEL", help="This model only, without routing."),
    approve: str = typer.Option(
        None, metavar="auto|edits|all", help="Ask before plans and patches (edits), commands too (all)."
    ),
    test: str = typer.Option(None, metavar="CMD", help="The test command; otherwise it is detected."),
    sandbox: str = typer.Option(None, metavar="auto|docker|bubblewrap|none", help="Where tests run."),
    max_cost: str = typer.Option(None, metavar="USD", help="Most to spend on a message; default 1."),
    yes: bool = typer.Option(False, "--yes", help="Answer every question with yes."),
) -> int:
    """Talk about the repository you stand in: each message is carried out as `acr fix` does.

    A later message knows what was said and done before. /help lists the commands, such as /diff, /undo,
    /test, /model. Ctrl-C stops what is going on, Ctrl-D leaves. Where standard input is no terminal, each
    line is a message, and the exit code is that of the last one.
    """
    from acr_cli.build.chatting import Conversation
    from acr_cli.build.pooling import pool_of
    from acr_cli.cli.fix import with_providers

    invocation: Invocation = ctx.obj
    flags = {"model": model, "approve": approve, "test": test, "sandbox": sandbox, "max_cost": max_cost}
    settings = invocation.settings({**flags, "yes": yes or None})
    settings = with_providers(settings, invocation, lambda _: None, quiet=not is_terminal())
    if settings.model:
        pool_of(settings)  # one that nobody knows ends the chat before it begins
    talk = Conversation(where=Path.cwd())
    this = Chat(invocation=invocation, settings=settings, talk=talk, speaks=is_terminal())
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, this.end)
    return this.go(_reader(this))


def _reader(chat: Chat) -> Read:
    if not chat.speaks:
        return plain(sys.stdin)
    sys.stderr.write("Say what is to be done, or /help. Ctrl-C stops, Ctrl-D leaves.\n")
    return terminal(
        chat.settings.home / "chat_history",
        commands=tuple(COMMANDS),
        values=lambda name: COMMANDS[name].values(chat),
        files=chat.files,
        status=chat.status,
    )


@dataclass(kw_only=True, slots=True)
class Chat:
    """One chat: what it goes by, and what came of it."""

    invocation: Invocation
    settings: Settings
    talk: Conversation
    speaks: bool  # a person at a terminal
    code: int = 0  # exit code of the last message
    left: bool = False
    known: Sequence[str] | None = None  # files, for completion

    def go(self, read: Read) -> int:
        """Read and carry out messages until the end. The exit code."""
        while not self.left:
            try:
                message = read().strip()
            except EOFError:
                break
            except KeyboardInterrupt:  # a message that was given up
                continue
            except OSError:  # the terminal has gone, and its signal was not to be heard
                break
            if message:
                self._carry_out(message)
        if self.left and self.code == INTERRUPTED:
            return INTERRUPTED
        return 0 if self.speaks else self.code

    def _carry_out(self, message: str) -> None:
        """One message. Its error ends the message and not the chat: that is why it is caught here."""
        try:
            if message.startswith("/"):
                self.code = carry_out(self, message)
            else:
                self.fix(message)
        except AcrError as error:
            self.code = error.exit_code
            show_error(error.message, error.hint, id_=error.id, no_color=self.invocation.no_color)
        except KeyboardInterrupt:
            self.code = INTERRUPTED
            sys.stderr.write("Stopped.\n")

    def fix(self, message: str, **changed: Any) -> None:
        """A run for this message, shown as it goes; `changed`: settings of this run alone."""
        from acr_cli.cli.asking import who_answers
        from acr_cli.cli.fix import carried_out

        settings = replace(self.settings, **changed)
        results: list[RunResult] = []

        def work(emit: Emit, close: Callable[[], None]) -> RunResult:
            asked = who_answers(settings, self.invocation, close)
            results.append(self.talk.carry_out(message, settings, emit, asked))
            return results[-1]

        self.code = carried_out(self.invocation, None, work, lambda: settings)
        self.known = None
        self._offer(results[-1])

    def _offer(self, result: RunResult) -> None:
        """A patch that no test proves is applied only if the person, who has seen it, wants it."""
        if not result.patch or result.applied or result.status is not Status.CHANGED_UNVERIFIED:
            return
        from acr_cli import build

        run = build.run_to_apply(self.settings, where=self.talk.where, run_id=result.run)
        # --yes does not speak for files that tools run unasked.
        yes = self.settings.yes and not build.run_unasked(run, allowed=self.settings.allow_path)
        if yes or (self.speaks and confirmed("No test proves this patch. Apply it?")):
            self.apply(result.run)
        else:
            self.say("Not applied; /apply applies it.")

    def apply(self, run: str | None) -> None:
        """Apply the patch of a run that kept it back. Raises: UsageError, PatchConflict."""
        from acr_cli import build

        where = self.talk.where
        done = build.apply_run(build.run_to_apply(self.settings, where=where, run_id=run), where=where)
        self.code = 0
        self.talk.notes.append(f"The user applied the patch of {', '.join(done.files)}.")
        self.say(f"Applied {done.run} in {', '.join(done.files)}; /undo reverses it.")

    def say(self, text: str) -> None:
        """A line for the user."""
        try:
            sys.stdout.write(f"{clean(text)}\n")
            sys.stdout.flush()
        except OSError as error:  # what is still to be done is done all the same
            self.invocation.lost = error

    def files(self) -> Sequence[str]:
        """The repository's files, for completion; none where it cannot be read."""
        from acr_cli.worktree.repository import open_repository

        if self.known is None:
            try:
                self.known = open_repository(self.talk.where).files()
            except AcrError:
                self.known = ()
        return self.known

    def status(self) -> str:
        """The line at the bottom of the screen."""
        who = self.settings.model or "routed"
        return f" {who}   approve {self.settings.approve}   spent {usd(self.talk.spent_usd)}   /help "

    def end(self, _signal: int, _frame: FrameType | None) -> None:
        """SIGTERM, or a terminal that closes: what is going on stops as at Ctrl-C, and the chat with it."""
        self.left, self.code = True, INTERRUPTED
        raise KeyboardInterrupt
