"""The commands of a chat: lines that begin with a slash."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from acr_cli.cli.words import usd
from acr_cli.errors import UsageError
from acr_cli.settings.keys import APPROVALS, BY_NAME, nearest, parse

if TYPE_CHECKING:
    from acr_cli.cli.chat import Chat

ROUTED = "auto"
"""What /model takes for: choose among all."""

_ASKED = {"auto": "nothing", "edits": "plans and patches", "all": "plans, commands and patches"}


def _nothing(_chat: Chat) -> Sequence[str]:
    return ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """One command."""

    takes: str = ""  # as in /help; in brackets where it may be left out
    about: str
    act: Callable[[Chat, str], None]
    values: Callable[[Chat], Sequence[str]] = _nothing  # that may stand behind it


def carry_out(chat: Chat, message: str) -> int:
    """Carry out a line that begins with a slash; the exit code. Raises: AcrError."""
    name, _, rest = message.partition(" ")
    command, argument = COMMANDS.get(name), rest.strip()
    if command is None:
        raise UsageError(
            f"There is no command {name}{nearest(name, list(COMMANDS))}", hint="/help lists them."
        )
    if command.takes and not command.takes.startswith("[") and not argument:
        raise UsageError(f"{name} takes {command.takes}.")
    chat.code = 0
    command.act(chat, argument)
    return chat.code


# --- one function a command ---


def _help(chat: Chat, _argument: str) -> None:
    names = {name: f"{name} {command.takes}".strip() for name, command in COMMANDS.items()}
    width = max(map(len, names.values()))
    for name, command in COMMANDS.items():
        chat.say(f"  {names[name]:<{width}}  {command.about}")
    chat.say("All else is a task. It goes on in the next line behind a backslash, or with Alt-Enter.")


def _fix(chat: Chat, _argument: str) -> None:
    chat.fix("")


def _test(chat: Chat, _argument: str) -> None:
    chat.fix("", plan_only=True)


def _plan(chat: Chat, argument: str) -> None:
    chat.fix(argument, plan_only=True)


def _diff(chat: Chat, argument: str) -> None:
    from acr_cli.cli.diff_shown import show_patch
    from acr_cli.worktree.runs import find_run

    last = chat.talk.last
    patch = find_run(chat.settings.home, argument).patch if argument else (last.patch if last else "")
    if not patch:
        raise UsageError("There is no patch to show.", hint="/runs lists the runs of this repository.")
    show_patch(chat.invocation.out, patch)


def _apply(chat: Chat, argument: str) -> None:
    chat.apply(argument or None)


def _undo(chat: Chat, argument: str) -> None:
    from acr_cli import build

    where = chat.talk.where
    run = build.run_to_undo(chat.settings, where=where, run_id=argument or None)
    done = build.undo_run(chat.settings, run, where=where)
    chat.talk.notes.append(f"The user took back the patch of {', '.join(done.files)}.")
    chat.say(f"Reversed run {done.run} in {', '.join(done.files)}.")


def _model(chat: Chat, argument: str) -> None:
    known = [name for name in _models(chat) if name != ROUTED]
    if argument:
        if argument not in (ROUTED, *known):
            raise UsageError(f"There is no model {argument!r}{nearest(argument, known)}")
        chat.settings = replace(chat.settings, model=None if argument == ROUTED else argument)
    now = chat.settings.model
    chat.say(
        f"{now} takes every step." if now else f"One of these is chosen for each step: {', '.join(known)}."
    )


def _models(chat: Chat) -> Sequence[str]:
    from acr_cli import build

    return [ROUTED, *(candidate.id for candidate in build.candidates(chat.settings))]


def _approve(chat: Chat, argument: str) -> None:
    if argument:
        mode = parse(BY_NAME["approve"], argument, "/approve", UsageError)
        chat.settings = replace(chat.settings, approve=mode)
    chat.say(f"You are asked about {_ASKED[chat.settings.approve]}.")


def _approvals(_chat: Chat) -> Sequence[str]:
    return APPROVALS


def _cost(chat: Chat, _argument: str) -> None:
    talk = chat.talk
    chat.say(f"{usd(talk.spent_usd)} in {len(talk.turns)} runs of this chat.")
    for turn in talk.turns:
        what = " ".join((turn.message or "make the failing tests pass").split())[:60]
        chat.say(f"  {usd(turn.result.receipt.paid_usd):>8}  {what}")


def _route(chat: Chat, argument: str) -> None:
    from acr_cli import build

    routed = build.route(chat.settings, task=argument, where=chat.talk.where)
    chat.say(f"{routed.choice.candidate}: {routed.choice.reason}")


def _runs(chat: Chat, _argument: str) -> None:
    from acr_cli import build
    from acr_cli.cli.runs import described
    from acr_cli.cli.terminal import one_line
    from acr_cli.worktree.repository import open_repository

    here = str(open_repository(chat.talk.where).root)
    runs = [about for run in build.runs(chat.settings) if (about := described(run))["repository"] == here]
    for about in runs[:10]:
        what = one_line(about["task"] or "make the failing tests pass", 60)
        chat.say(f"  {about['run']}  {about['status'].replace('_', ' '):<18}  {what}")
    if not runs:
        chat.say("No run yet.")


def _clear(chat: Chat, _argument: str) -> None:
    chat.talk.clear()
    chat.say("What was said before is told no more.")


def _quit(chat: Chat, _argument: str) -> None:
    chat.left = True


COMMANDS: Mapping[str, Command] = MappingProxyType(
    {
        "/help": Command(about="this list", act=_help),
        "/fix": Command(about="make the failing tests pass", act=_fix),
        "/test": Command(about="run the tests, and change nothing", act=_test),
        "/plan": Command(takes="TASK", about="show the steps that a task would take", act=_plan),
        "/route": Command(takes="TASK", about="show which model would be chosen", act=_route),
        "/diff": Command(takes="[RUN]", about="show the last patch", act=_diff),
        "/apply": Command(takes="[RUN]", about="apply a patch that was kept back", act=_apply),
        "/undo": Command(takes="[RUN]", about="take the last patch back", act=_undo),
        "/model": Command(takes="[MODEL]", about="use one model, or auto", act=_model, values=_models),
        "/approve": Command(
            takes="[MODE]", about="what you are asked: auto, edits, all", act=_approve, values=_approvals
        ),
        "/cost": Command(about="what this chat has cost", act=_cost),
        "/runs": Command(about="the runs of this repository", act=_runs),
        "/clear": Command(about="forget what was said", act=_clear),
        "/quit": Command(about="leave; so does Ctrl-D", act=_quit),
    }
)
