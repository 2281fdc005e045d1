"""The backend that drives a language model: a fresh conversation a step, with tools or in plain text."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from acr_cli.agent.budget import Metered
from acr_cli.agent.conversation import Conversation, room_for_files
from acr_cli.agent.formats import FORMATS
from acr_cli.agent.planning import read_plan
from acr_cli.agent.prompts import system, user
from acr_cli.agent.repomap.drawing import RepoMap
from acr_cli.agent.sight import Sight
from acr_cli.agent.toolbox import TestRunner, Toolbox, run_command
from acr_cli.agent.transcript import Transcript
from acr_cli.agent.working import Patience, TextWork, ToolWork
from acr_cli.errors import ProviderError, SandboxUnavailable
from acr_cli.events import Emit
from acr_cli.parts import load
from acr_cli.protocols import Budget, EditFormat, Gateway, Sandbox, Tree
from acr_cli.records import Attempt, Candidate, Step, StepKind

TOOLS = "tools"
"""The edit format of models that call functions."""

BUILTIN_FORMATS: Mapping[str, str] = MappingProxyType(
    {each.name: f"{type(each).__module__}:{type(each).__name__}" for each in FORMATS}
)
"""Entry points may add others (group `acr_cli.edit_formats`)."""


class Agent:
    """A `Backend` for every kind of step.

    `transcripts` is where conversations are kept, None keeps none; `repomap` draws large repositories."""

    name = "agent"

    def __init__(
        self,
        *,
        gateway: Gateway,
        emit: Emit,
        transcripts: Path | None = None,
        repomap: RepoMap | None = None,
        test_runner: TestRunner = run_command,
        patience: Patience | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._gateway = gateway
        self._emit = emit
        self._transcripts = transcripts
        self._repomap = repomap or RepoMap(None)
        self._test_runner = test_runner
        self._patience = patience or Patience()
        self._clock = clock

    def eligible(self, step: Step) -> bool:
        return True

    def attempt(
        self, step: Step, candidate: Candidate, tree: Tree, sandbox: Sandbox, budget: Budget
    ) -> Attempt:
        """See `Backend.attempt`. A provider or sandbox that fails makes it void.

        Raises: BudgetExhausted, ConfigurationError (an unknown edit format)."""
        since, started = tree.checkpoint(), self._clock()
        edit_format = edit_format_of(candidate)
        meter = Metered(budget)
        transcript = Transcript(self._transcripts, step, candidate)
        room = room_for_files(candidate)
        sight = Sight(tree, named=step.files)
        beginning = (
            system(step, edit_format, tools=edit_format is None),
            user(step, sight, self._repomap, room=room, whole_files=edit_format is not None),
        )
        talk = Conversation(self._gateway, candidate, meter, transcript, beginning)
        summary = void = ""
        calls = 0
        try:
            with Toolbox(step, sight, sandbox, meter, test_runner=self._test_runner) as toolbox:
                work = self._work(step, talk, toolbox, edit_format)
                try:
                    summary = work.go()
                finally:
                    calls = work.calls
        except (ProviderError, SandboxUnavailable) as error:
            void = error.message
        finally:
            transcript.ended(summary, void)
        return Attempt(
            candidate=candidate.id,
            patch=tree.diff(since),
            files=tree.changed(since),
            usage=talk.usage,
            cost_usd=meter.charged,
            seconds=self._clock() - started,
            summary=_sentence(summary),
            tried=calls,
            void=void,
            steps=read_plan(summary, step) if step.kind is StepKind.PLAN and not void else (),
        )

    def _work(
        self, step: Step, talk: Conversation, toolbox: Toolbox, edit_format: EditFormat | None
    ) -> ToolWork | TextWork:
        if edit_format is not None:
            return TextWork(step=step, talk=talk, toolbox=toolbox, emit=self._emit, edit_format=edit_format)
        return ToolWork(step=step, talk=talk, toolbox=toolbox, emit=self._emit, patience=self._patience)


def edit_format_of(candidate: Candidate) -> EditFormat | None:
    """How a candidate writes its edits; None: by tools.

    "auto" is by tools, unless the model is known to have none or is a local one of which nothing is known;
    then whole files for a local model, since weak ones garble blocks, and blocks for any other.

    Raises: ConfigurationError for a name that nobody offers."""
    name = candidate.edit_format
    if name == "auto":
        if candidate.tools or (candidate.tools is None and not candidate.local):
            return None
        name = "whole-file" if candidate.local else "search-replace"
    if name == TOOLS:
        return None
    chosen: EditFormat = load("edit_formats", name, BUILTIN_FORMATS)()
    return chosen


def _sentence(text: str, limit: int = 300) -> str:
    """The first paragraph of a text, on one line."""
    line = " ".join(text.strip().split("\n\n")[0].split())
    return line if len(line) <= limit else line[:limit] + " ..."
