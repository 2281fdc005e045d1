"""The two ways of working on a step: with tools, call by call; or in plain text, with corrections."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from acr_cli.agent.conversation import Conversation
from acr_cli.agent.formats import marked_format, read_edits
from acr_cli.agent.prompts import declines
from acr_cli.agent.text import cut
from acr_cli.agent.toolbox import Result, Toolbox
from acr_cli.errors import BadReply, PathRefused
from acr_cli.events import Emit, ToolCalled
from acr_cli.protocols import Edit, EditFormat, Reply, ToolCall
from acr_cli.records import Step, StepKind

_OPEN = re.compile(r"^[ \t]*OPEN:?[ \t]+`?([^\s`]+)`?[ \t]*$", re.MULTILINE)
_CORRECTIONS = 3  # rounds for edits that could not be applied
_OPENINGS = 3  # rounds of asking for files
_SHOWN = 30_000  # characters of files asked for in one round


@dataclass(frozen=True, kw_only=True, slots=True)
class Patience:
    """How long a model may go on."""

    calls: int = 30  # replies of the model
    repeats: int = 3  # of the same call while nothing has changed
    misunderstood: int = 5  # calls in a row that no tool can make sense of
    idle: int = 2  # replies without a call before any edit
    unfinished: int = 2  # times that a model is told that its work does not pass the tests yet


@dataclass(kw_only=True, slots=True)
class ToolWork:
    """A model at work with tools. `right` and `wrong` count edits that could and could not be made."""

    step: Step
    talk: Conversation
    toolbox: Toolbox
    emit: Emit
    patience: Patience
    calls: int = 0
    right: int = 0
    wrong: int = 0
    _misunderstood: int = 0
    _unfinished: int = 0
    _repeated: Counter[tuple[str, str, int]] = field(default_factory=Counter)

    def go(self) -> str:
        """Answer the model's calls until it is done; one sentence of what came of it.

        Raises: ProviderError, BudgetExhausted, SandboxUnavailable."""
        idle = 0
        while self.talk.spoken < self.patience.calls:
            reply = self.talk.hear(self.toolbox.tools)
            if reply.tool_calls:
                finished = self._answer_all(reply)
                if finished is not None:
                    return finished
                continue
            if declines(self.step, reply.content):
                return reply.content
            if self.step.kind in (StepKind.PLAN, StepKind.REVIEW):
                return reply.content
            said = self._written(reply.content) or reply.content
            if self.toolbox.edits:
                if not (failing := self._not_yet()):
                    return said
                self.talk.say(failing)
                continue
            idle += 1
            if idle > self.patience.idle:
                self.wrong += 1
                return "The model used no tool and changed nothing."
            self.talk.say(
                "Nothing has been changed yet. Use the tools, or call finish if there is nothing to do."
            )
        return f"Stopped after {self.patience.calls} calls of the model."

    def _written(self, text: str) -> str:
        """Edits that a model wrote down in spite of its tools; "" where none can be applied."""
        marked = marked_format(text)
        if marked is None:
            return ""
        try:
            paths, _ = self.toolbox.apply(marked.parse(text))
        except (BadReply, PathRefused) as error:
            self.emit(ToolCalled(name="edits", argument="", ok=False, result=_line(error.message)))
            return ""
        self.emit(ToolCalled(name="edits", argument=_line(" ".join(paths)), ok=True, result="applied"))
        return f"Changed {', '.join(paths)}."

    def _answer_all(self, reply: Reply) -> str | None:
        """Every call of a reply gets its answer, also one behind a call to finish; the summary once done."""
        results: dict[int, Result] = {}
        # What is done comes first, so that finish can be judged by it.
        for number in sorted(
            range(len(reply.tool_calls)), key=lambda n: reply.tool_calls[n].name == "finish"
        ):
            call = reply.tool_calls[number]
            result = self._use(call, cut_off=reply.finish == "length")
            if result.finished:
                result = self._finish(result, results.values())
            results[number] = result
            argument, said = _line(call.arguments), _line(result.text)
            self.emit(ToolCalled(name=call.name, argument=argument, ok=result.ok, result=said))
            self._misunderstood = 0 if result.understood else self._misunderstood + 1
        for number, call in enumerate(reply.tool_calls):
            self.talk.answer(call.id, results[number].text)
        if self._misunderstood >= self.patience.misunderstood:
            self.wrong += 1
            return "The model's tool calls could not be understood."
        if self._repeated and max(self._repeated.values()) > self.patience.repeats * 2:
            return "The model made the same call again and again."
        return next((result.text for result in results.values() if result.finished), None)

    def _finish(self, result: Result, others: Iterable[Result]) -> Result:
        """A call to finish, unless an edit of the same reply was refused or tests still fail."""
        if any(other.edit and not other.ok for other in others):
            return Result(text="Not finished: an edit of this reply was refused.", ok=False)
        if failing := self._not_yet():
            return Result(text=failing, ok=False)
        return result

    def _not_yet(self) -> str:
        """Why the work is not done; "" where it is, and where the model has been told often enough."""
        if self._unfinished >= self.patience.unfinished or not (failing := self.toolbox.still_failing()):
            return ""
        self._unfinished += 1
        return f"Not finished: this still fails.\n{failing}\nGo on, or finish again if it cannot be mended."

    def _use(self, call: ToolCall, *, cut_off: bool) -> Result:
        self.calls += 1
        # The same call is honest again once something has been edited.
        key = (call.name, call.arguments, self.toolbox.edits)
        self._repeated[key] += 1
        if self._repeated[key] > self.patience.repeats:
            text = "You made this very call before, and nothing has changed since: its result is the same."
            return Result(text=text, ok=False)
        result = self.toolbox.use(call)
        if result.edit or (not result.understood and call.name == "edit"):
            self.right, self.wrong = self.right + result.ok, self.wrong + (not result.ok)
        if cut_off and not result.understood:
            text = f"{result.text} The reply was cut off: write less at once."
            return Result(text=text, ok=False, understood=False, edit=result.edit)
        return result


@dataclass(kw_only=True, slots=True)
class TextWork:
    """A model at work in plain text: its edits are applied all or none, and it may correct itself.

    `right` and `wrong` count replies whose edits could and could not be made."""

    step: Step
    talk: Conversation
    toolbox: Toolbox
    emit: Emit
    edit_format: EditFormat
    calls: int = 0
    right: int = 0
    wrong: int = 0

    def go(self) -> str:
        """One sentence of what came of it. Raises: ProviderError, BudgetExhausted, SandboxUnavailable."""
        wrong = done = ""
        openings = cut_offs = 0
        while self.calls < 1 + _CORRECTIONS + openings:
            reply = self.talk.hear()
            self.calls += 1
            if self.step.kind in (StepKind.PLAN, StepKind.REVIEW) or declines(self.step, reply.content):
                return reply.content
            cut_offs += reply.finish == "length"
            if cut_offs > 1:
                return done or "The model's replies were cut off at their greatest length."
            asked = _OPEN.findall(reply.content)
            if asked and openings < _OPENINGS:
                openings += 1
                self.talk.say(self._opened(asked))
                continue
            try:
                paths, _ = self.toolbox.apply(self._edits(reply))
            except (BadReply, PathRefused) as error:
                if done:
                    return done
                wrong = error.message
                self.wrong += 1
                self.emit(ToolCalled(name="edits", argument="", ok=False, result=_line(wrong)))
                self.talk.say(f"Nothing was changed. {wrong}\nWrite all edits again, corrected.")
                continue
            self.right += 1
            self.emit(ToolCalled(name="edits", argument=_line(" ".join(paths)), ok=True, result="applied"))
            again, done = bool(done), f"Changed {', '.join(paths)}."
            if again or not (failing := self.toolbox.still_failing()):
                return done
            self.talk.say(
                f"The edits are made, but this still fails:\n{failing}\nWrite what must change further. "
                f"The files are now:\n\n{self._opened(paths)}"
            )
        return done or f"The model's edits could not be applied: {_line(wrong)}"

    def _edits(self, reply: Reply) -> tuple[Edit, ...]:
        if reply.finish == "length":
            raise BadReply("The reply was cut off: write less.")
        return read_edits(reply.content, self.edit_format)

    def _opened(self, paths: Sequence[str]) -> str:
        sight = self.toolbox.sight
        parts = []
        for path in dict.fromkeys(paths):
            try:
                parts.append(f"{path}\n```\n{sight.read(path).rstrip()}\n```")
                sight.showed(path)
            except PathRefused as error:
                parts.append(error.message)
        return cut("\n\n".join(parts), _SHOWN)


def _line(text: str, limit: int = 160) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(text[: limit * 4].split())
    return line if len(line) <= limit else line[:limit] + " ..."
