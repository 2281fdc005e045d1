"""A person at the terminal answers for a run: its plan, the commands of its models, its patch."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from acr_cli.cli.invocation import Invocation
from acr_cli.cli.plan_shown import HELP, about, as_lines, from_lines, without
from acr_cli.cli.terminal import asks, clean, confirmed, hidden_shown, one_line
from acr_cli.errors import Interrupted, UsageError

if TYPE_CHECKING:
    from acr_cli.records import Step
    from acr_cli.settings import Settings


class Person:
    """Answers on stderr and stdin; `pause` ends what turns on the screen."""

    def __init__(self, invocation: Invocation, pause: Callable[[], None]) -> None:
        self._invocation = invocation
        self._pause = pause
        self._allowed: set[str] = set()

    def command(self, command: str) -> bool:
        """Whether a model may run a command in the sandbox; one that was allowed is not asked about again."""
        if command in self._allowed:
            return True
        self._pause()
        sys.stderr.write(f"\nThe model wants to run, in the sandbox:\n  {hidden_shown(command)}\n")
        answer = self._answer("Allow it? [y]es, [n]o, [q]uit")
        if answer.startswith("q"):
            raise Interrupted("The run was ended at a command.")
        if answer.startswith("y"):
            self._allowed.add(command)
            return True
        return False

    def plan(self, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        """The steps that the user leaves. Raises: Interrupted where it is none of them."""
        self._pause()
        while True:
            sys.stderr.write("\nThe plan:\n")
            for line, step in zip(as_lines(steps), steps, strict=True):
                told = f"  {one_line(hidden_shown(line), 200)}\n     {one_line(about(step), 200)}\n"
                sys.stderr.write(told)
            answer = self._answer("Carry it out? [y]es, [e]dit, [d]rop N ..., [n]o")
            word, *numbers = answer.split() or [""]
            try:
                if word in ("y", "yes") and steps:
                    return steps
                if word in ("n", "no", "q"):
                    raise Interrupted("The plan was not approved.")
                if word in ("e", "edit"):
                    steps = from_lines(edited("\n".join((*HELP, *as_lines(steps))) + "\n"), steps)
                elif word in ("d", "drop") and numbers and all(number.isdigit() for number in numbers):
                    steps = without(steps, [int(number) for number in numbers])
            except UsageError as error:
                sys.stderr.write(f"{clean(error.message)}\n")

    def patch(self, patch: str) -> bool:
        """Whether the patch, which is shown, is to be applied."""
        from acr_cli.cli.diff_shown import show_patch

        self._pause()
        sys.stderr.write("\n")
        show_patch(self._invocation.err, patch)
        return self._answer("Apply this patch? [y]es, [n]o").startswith("y")

    def _answer(self, question: str) -> str:
        """Raises: Interrupted at the end of input."""
        sys.stderr.write(f"{question} ")
        sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            raise Interrupted("There was no answer.")
        return line.strip().lower()


def who_answers(settings: Settings, invocation: Invocation, pause: Callable[[], None]) -> Person | None:
    """Whom a run asks; None where `approve` asks nothing, or --yes has answered.

    Raises: UsageError where nobody is there to answer."""
    if settings.approve == "auto" or settings.yes:
        return None
    if not asks():
        raise UsageError(
            f"--approve {settings.approve} asks before changes are made, and nobody can answer here.",
            hint="Use --approve auto, or --yes to say yes to everything.",
        )
    return Person(invocation, pause)


def may_run_unasked(
    invocation: Invocation, pause: Callable[[], None], unasked: Mapping[str, str], patch: str
) -> bool:
    """Whether a patch is to be applied that changes what tools run unasked; it is shown first."""
    from acr_cli.cli.diff_shown import show_patch

    pause()
    sys.stderr.write("\n")
    show_patch(invocation.err, patch)
    for path, why in unasked.items():
        sys.stderr.write(f"  {one_line(hidden_shown(path), 100)}: {why}\n")
    return confirmed("No test shows what these do. Apply the patch?")


def edited(text: str) -> str:
    """The text as the user's editor leaves it: $VISUAL, $EDITOR, else vi.

    Raises: UsageError where there is no editor, or it fails."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory(prefix="acr-") as folder:
        file = Path(folder) / "plan.txt"
        file.write_text(text, encoding="utf-8")
        try:
            done = subprocess.run([*shlex.split(editor), str(file)], check=False)
        except (OSError, ValueError) as error:
            raise UsageError(f"The editor {editor!r} cannot be started.", hint="Set EDITOR.") from error
        if done.returncode:
            raise UsageError(f"The editor {editor!r} failed; the plan is as it was.")
        return file.read_text(encoding="utf-8", errors="replace")
