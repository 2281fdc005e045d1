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
from acr_cli.agent.scores import TOOLS, KeptScores, best_format, usual_format
from acr_cli.agent.sight import Sight
from acr_cli.agent.toolbox import Rehearse, TestRunner, Toolbox, run_command
from acr_cli.agent.transcript import Transcript
from acr_cli.agent.unseen import images_named
from acr_cli.agent.working import Patience, TextWork, ToolWork
from acr_cli.errors import ProviderError
from acr_cli.events import Emit, Notice
from acr_cli.parts import load
from acr_cli.protocols import Budget, EditFormat, FormatScores, Gateway, Limits, Sandbox, Tree
from acr_cli.records import Attempt, Candidate, Step, StepKind

BUILTIN_FORMATS: Mapping[str, str] = MappingProxyType(
    {each.name: f"{type(each).__module__}:{type(each).__name__}" for each in FORMATS}
)
"""Entry points may add others (group `acr_cli.edit_formats`)."""


class Agent:
    """A `Backend` for every kind of step.

    `transcripts` is where conversations are kept, None keeps none; `repomap` draws large repositories;
    `scores` knows which edit format each candidate gets right; `limits` bind what models run; `rehearse` is
    asked before work is taken for done, and the step's own test command where it does not answer."""

    name = "agent"

    def __init__(
        self,
        *,
        gateway: Gateway,
        emit: Emit,
        transcripts: Path | None = None,
        repomap: RepoMap | None = None,
        scores: FormatScores | None = None,
        test_runner: TestRunner = run_command,
        rehearse: Rehearse | None = None,
        limits: Limits | None = None,
        patience: Patience | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._gateway = gateway
        self._emit = emit
        self._transcripts = transcripts
        self._repomap = repomap or RepoMap(None)
        self._scores = scores or KeptScores(None)
        self._test_runner = test_runner
        self._rehearse = rehearse
        self._limits = limits or Limits()
        self._patience = patience or Patience()
        self._clock = clock
        self._told: set[str] = set()  # images that the user knows are not sent

    def eligible(self, step: Step) -> bool:
        return True

    def attempt(
        self, step: Step, candidate: Candidate, tree: Tree, sandbox: Sandbox, budget: Budget
    ) -> Attempt:
        """See `Backend.attempt`. A provider that fails makes it void.

        Raises: BudgetExhausted, SandboxUnavailable, ConfigurationError (an unknown edit format)."""
        since, started = tree.checkpoint(), self._clock()
        name = format_name(candidate, self._scores)
        edit_format = edit_format_of(name)
        self._remark(step, candidate, name)
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
            with Toolbox(
                step,
                sight,
                sandbox,
                meter,
                test_runner=self._test_runner,
                limits=self._limits,
                rehearse=self._rehearse,
            ) as toolbox:
                work = self._work(step, talk, toolbox, edit_format)
                try:
                    summary = work.go()
                finally:
                    calls = work.calls
                    self._scores.count(candidate.id, name, right=work.right, wrong=work.wrong)
        except ProviderError as error:
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

    def _remark(self, step: Step, candidate: Candidate, edit_format: str) -> None:
        """What the user should know before it begins."""
        usual = usual_format(candidate)
        if candidate.edit_format == "auto" and edit_format != usual:
            right, wrong = self._scores.of(candidate.id).get(usual, (0, 0))
            why = f"as {usual}, {wrong} of {right + wrong} failed"
            text = f"{candidate.id} writes its edits as {edit_format}: {why}."
            self._emit(Notice(level="info", text=text))
        new = [image for image in images_named(step.text) if image not in self._told]
        self._told.update(new)
        if new:
            text = f"Models are sent text only, and do not see {', '.join(new)}: say what it shows."
            self._emit(Notice(level="warning", text=text))

    def _work(
        self, step: Step, talk: Conversation, toolbox: Toolbox, edit_format: EditFormat | None
    ) -> ToolWork | TextWork:
        if edit_format is not None:
            return TextWork(step=step, talk=talk, toolbox=toolbox, emit=self._emit, edit_format=edit_format)
        return ToolWork(step=step, talk=talk, toolbox=toolbox, emit=self._emit, patience=self._patience)


def format_name(candidate: Candidate, scores: FormatScores) -> str:
    """How a candidate is to write its edits: as its settings say, else as it gets right most often."""
    if candidate.edit_format != "auto":
        return candidate.edit_format
    return best_format(candidate, scores.of(candidate.id))


def edit_format_of(name: str) -> EditFormat | None:
    """The format of this name; None: by tools. Raises: ConfigurationError for one that nobody offers."""
    if name == TOOLS:
        return None
    chosen: EditFormat = load("edit_formats", name, BUILTIN_FORMATS)()
    return chosen


def _sentence(text: str, limit: int = 300) -> str:
    """The first paragraph of a text, on one line."""
    line = " ".join(text.strip().split("\n\n")[0].split())
    return line if len(line) <= limit else line[:limit] + " ..."
