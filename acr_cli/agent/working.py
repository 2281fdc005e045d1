"""The two ways of working on a step: with tools, call by call; or in plain text, with corrections."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from acr_cli.agent.applying import apply_edits
from acr_cli.agent.conversation import Conversation
from acr_cli.agent.formats import marked_format, read_edits
from acr_cli.agent.prompts import cut
from acr_cli.agent.sight import Sight
from acr_cli.agent.toolbox import Result, Toolbox
from acr_cli.errors import BadReply, PathRefused
from acr_cli.events import Emit, ToolCalled
from acr_cli.protocols import Edit, EditFormat, Reply, ToolCall
from acr_cli.records import Step, StepKind

_OPEN = re.compile(r"^\s*OPEN:?\s+`?([^\s`]+)`?\s*$", re.MULTILINE)
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


@dataclass(kw_only=True, slots=True)
class ToolWork:
    """A model at work with tools."""

    step: Step
    talk: Conversation
    toolbox: Toolbox
    emit: Emit
    patience: Patience
    calls: int = 0
    _misunderstood: int = 0
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
            if self.toolbox.edits or self.step.kind in (StepKind.PLAN, StepKind.REVIEW):
                return reply.content
            if written := self._written(reply.content):
                return written
            idle += 1
            if idle > self.patience.idle:
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
            paths = apply_edits(self.toolbox.tree, marked.parse(text), check=self.toolbox.sight.check).paths
        except (BadReply, PathRefused) as error:
            self.emit(ToolCalled(name="edits", argument="", ok=False, result=_line(error.message)))
            return ""
        self.emit(ToolCalled(name="edits", argument=_line(" ".join(paths)), ok=True, result="applied"))
        return f"Changed {', '.join(paths)}."

    def _answer_all(self, reply: Reply) -> str | None:
        """Every call of a reply gets its answer, also one behind a call to finish; the summary once done."""
        finished: str | None = None
        for call in reply.tool_calls:
            result = self._use(call, cut_off=reply.finish == "length")
            self.talk.answer(call.id, result.text)
            argument, said = _line(call.arguments), _line(result.text)
            self.emit(ToolCalled(name=call.name, argument=argument, ok=result.ok, result=said))
            self._misunderstood = 0 if result.understood else self._misunderstood + 1
            if result.finished and finished is None:
                finished = result.text
        if self._misunderstood >= self.patience.misunderstood:
            return "The model's tool calls could not be understood."
        if self._repeated and max(self._repeated.values()) > self.patience.repeats * 2:
            return "The model made the same call again and again."
        return finished

    def _use(self, call: ToolCall, *, cut_off: bool) -> Result:
        self.calls += 1
        # The same call is honest again once something has been edited.
        key = (call.name, call.arguments, self.toolbox.edits)
        self._repeated[key] += 1
        if self._repeated[key] > self.patience.repeats:
            text = "You made this very call before, and nothing has changed since: its result is the same."
            return Result(text=text, ok=False)
        result = self.toolbox.use(call)
        if cut_off and not result.understood:
            text = f"{result.text} The reply was cut off: write less at once."
            return Result(text=text, ok=False, understood=False)
        return result


@dataclass(kw_only=True, slots=True)
class TextWork:
    """A model at work in plain text: its edits are applied all or none, and it may correct itself."""

    step: Step
    talk: Conversation
    sight: Sight
    emit: Emit
    edit_format: EditFormat
    calls: int = 0

    def go(self) -> str:
        """One sentence of what came of it. Raises: ProviderError, BudgetExhausted."""
        wrong, openings, cut_offs = "", 0, 0
        while self.calls < 1 + _CORRECTIONS + openings:
            reply = self.talk.hear()
            self.calls += 1
            if self.step.kind in (StepKind.PLAN, StepKind.REVIEW):
                return reply.content
            cut_offs += reply.finish == "length"
            if cut_offs > 1:
                return "The model's replies were cut off at their greatest length."
            asked = _OPEN.findall(reply.content)
            if asked and openings < _OPENINGS:
                openings += 1
                self.talk.say(self._opened(asked))
                continue
            try:
                paths = apply_edits(self.sight.tree, self._edits(reply), check=self.sight.check).paths
            except (BadReply, PathRefused) as error:
                wrong = error.message
                self.emit(ToolCalled(name="edits", argument="", ok=False, result=_line(wrong)))
                self.talk.say(f"Nothing was changed. {wrong}\nWrite all edits again, corrected.")
                continue
            self.emit(ToolCalled(name="edits", argument=_line(" ".join(paths)), ok=True, result="applied"))
            return f"Changed {', '.join(paths)}."
        return f"The model's edits could not be applied: {_line(wrong)}"

    def _edits(self, reply: Reply) -> tuple[Edit, ...]:
        if reply.finish == "length":
            raise BadReply("The reply was cut off: write less.")
        return read_edits(reply.content, self.edit_format)

    def _opened(self, paths: Sequence[str]) -> str:
        parts = []
        for path in dict.fromkeys(paths):
            try:
                parts.append(f"{path}\n```\n{self.sight.read(path).rstrip()}\n```")
            except PathRefused as error:
                parts.append(error.message)
        return cut("\n\n".join(parts), _SHOWN)


def _line(text: str, limit: int = 160) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(text[: limit * 4].split())
    return line if len(line) <= limit else line[:limit] + " ..."
