"""`acr train policy`, and the policy models that vote: settings joined with data set, training and voters."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from acr_cli import __version__
from acr_cli.advisor.card import FOLDER, KINDS, Card, folder_of, names, put_in_place, read_card, write_card
from acr_cli.build.keeping import memory
from acr_cli.errors import AcrError, ConfigurationError, UsageError
from acr_cli.protocols import Voter
from acr_cli.records import Candidate
from acr_cli.settings import Settings

if TYPE_CHECKING:
    from acr_cli.training.lora import Seen
    from acr_cli.training.tasks import Tasks

Tell = Callable[[str], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Training:
    """What `acr train policy` is asked for."""

    name: str
    kind: str = "classifier"
    matrix: Path | None = None
    tasks: Path | None = None  # their texts
    own: bool = False  # memory's outcomes as well, or alone
    train: tuple[str, ...] = ("train",)  # splits of the matrix
    held: tuple[str, ...] = ("val",)
    embed: bool = False  # embed the matrix's texts, so that similar tasks stand in the questions
    base: str = ""  # the language model under an adapter: a folder, a .gguf file or a name
    steps: int = 300
    batch: int = 4
    accumulate: int = 1
    rate: float = 2e-4
    patience: int = 4  # measurements without an improvement, after which it stops
    every: int = 25  # steps between two measurements, each with a checkpoint
    measured: int = 200  # held-out tasks that each measurement takes, at most
    characters: int = 1600  # of a task's text
    seed: int = 0
    device: str = "auto"  # "auto" | "cpu" | "cuda"
    fresh: bool = False  # begin anew, also where a checkpoint is


@dataclass(frozen=True, kw_only=True, slots=True)
class Installed:
    """A trained policy model, and whether it fits the pool."""

    name: str
    votes: bool  # the settings choose it
    card: Card | None  # None: it cannot be read
    problem: str = ""  # why it cannot vote, one sentence
    knows: tuple[str, ...] = ()  # candidates of the pool that it votes for
    silent: tuple[str, ...] = ()  # those that it never saw

    @property
    def says(self) -> str:
        """One line for people. Pure."""
        if self.card is None:
            return f"{self.name}: {self.problem}"
        made = time.strftime("%Y-%m-%d", time.gmtime(self.card.made))
        base = f" on {Path(self.card.base).name}" if self.card.base else ""
        about = f"{self.name}: {self.card.kind}{base}, trained {made} on {self.card.source}"
        models = sum(1 for _ in (*self.knows, *self.silent))
        fits = f"knows {len(self.knows)} of {models} in the pool"
        return f"{about}; {fits}{'' if self.votes else '; does not vote'}{_and(self.problem)}"


def train(
    settings: Settings,
    training: Training,
    *,
    tell: Tell = lambda _: None,
    seen: Callable[[Seen], None] = lambda _: None,
) -> tuple[Path, Card]:
    """Train a policy model and put it in place; (its folder, its card).

    `tell` takes a line for people, `seen` every step of an adapter's training.

    Raises: UsageError, ConfigurationError, StoreError."""
    folder = folder_of(settings.home, training.name)
    if training.kind not in KINDS:
        raise UsageError(f"A policy model is a {' or a '.join(KINDS)}, not a {training.kind!r}.")
    if training.kind == "lora":
        if not training.base:
            raise UsageError(
                "An adapter needs a language model.", hint="Name its folder or its name: --base."
            )
        if absent := _absent():
            raise ConfigurationError(
                f"An adapter cannot be trained: {absent}.",
                hint="pip install torch 'acr-cli[local]', or train --kind classifier.",
            )
    tasks = tasks_of(settings, training)
    tell(f"{tasks.train.tasks} tasks to train on, {tasks.held.tasks} held out: {tasks.source}")
    card = _card(training, tasks)
    try:
        with _alone(folder):
            made = _begun(folder, card, fresh=training.fresh)
            if training.kind == "classifier":
                card = _classifier(tasks, card, made, tell)
            else:
                card = _adapter(settings, training, tasks, card, made, tell, seen)
            write_card(made, card)
            put_in_place(made, folder)
    except OSError as error:
        raise ConfigurationError(
            f"The policy model cannot be kept in {folder}: {error.strerror or error}.",
            hint="Free space there, or name another home with ACR_HOME; training goes on where it was.",
        ) from error
    return folder, card


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One training of a name at a time; the lock of one that died is nobody's.

    Raises: UsageError where there is another, OSError."""
    from filelock import FileLock, Timeout

    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder.with_name(f".{folder.name}.lock"), timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise UsageError(
            f"Another training of {folder.name!r} is running.", hint="Wait for it, or choose another --name."
        ) from None
    try:
        yield
    finally:
        lock.release()


def _begun(folder: Path, card: Card, *, fresh: bool) -> Path:
    """Where this very training is, or begins; what is left of others of the name goes. Raises: OSError."""
    made = folder.with_name(f".{folder.name}~{card.fingerprint[:8]}")
    for other in folder.parent.glob(f".{folder.name}~*"):
        if fresh or other != made:
            shutil.rmtree(other)
    made.mkdir(exist_ok=True)
    return made


def tasks_of(settings: Settings, training: Training) -> Tasks:
    """The data set. Raises: UsageError, StoreError."""
    from acr_cli.matrix import read_matrix
    from acr_cli.orchestrator.prior import plain_name
    from acr_cli.training.tasks import divided, joined, of_memory

    if training.matrix is None and not training.own:
        raise UsageError("There is nothing to train on.", hint="Give --matrix FILE, --memory or both.")
    if training.tasks is not None and training.matrix is None:
        raise UsageError("--tasks holds the texts of a matrix.", hint="Give --matrix FILE as well.")
    sources, found = [], None
    if training.matrix is not None:
        found = read_matrix(training.matrix, tasks=training.tasks)
        sources.append(f"the matrix {found.name} ({found.tasks} tasks, {len(found.models)} models)")
    if training.own:
        own = of_memory(memory(settings).outcomes())
        sources.append(f"memory ({own.tasks} steps)")
        found = own if found is None else joined(found, own, lambda name: plain_name(name.split("@")[0]))
    if found is None:
        raise AssertionError("unreachable: there is a matrix or memory")
    return divided(found, train=training.train, held=training.held, source=" and ".join(sources))


def installed(settings: Settings, pool: Sequence[Candidate] | None = None) -> tuple[Installed, ...]:
    """All trained policy models and those that the settings name; `pool` is that of the settings, if not
    given. Nothing slow is imported. Never raises for a damaged one."""
    from acr_cli.build.pooling import candidates
    from acr_cli.orchestrator.voters.known import known_as

    everybody = candidates(settings) if pool is None else tuple(pool)
    there = names(settings.home / FOLDER)
    found = []
    for name in dict.fromkeys((*there, *settings.policy_models)):
        votes = name in settings.policy_models
        try:
            card = read_card(folder_of(settings.home, name))
        except AcrError as error:
            found.append(Installed(name=name, votes=votes, card=None, problem=error.message))
            continue
        knows = tuple(c.id for c in everybody if known_as(c, card.candidates))
        silent = tuple(c.id for c in everybody if c.id not in knows)
        problem = _missing(settings.home / FOLDER / name, card) or (
            "it knows nobody in the pool" if not knows else ""
        )
        one = Installed(name=name, votes=votes, card=card, problem=problem, knows=knows, silent=silent)
        found.append(one)
    return tuple(found)


def advisors(settings: Settings) -> tuple[Voter, ...]:
    """The voters of the policy models that the settings choose; an adapter is loaded in a thread meanwhile.

    Raises: ConfigurationError."""
    return tuple(_voter(settings.home, name) for name in dict.fromkeys(settings.policy_models))


def _voter(home: Path, name: str) -> Voter:
    folder = folder_of(home, name)
    card = read_card(folder)
    if card.kind == "classifier":
        from acr_cli.advisor import classifier
        from acr_cli.orchestrator.voters.classifier import ClassifierVoter

        return ClassifierVoter(card, classifier.read(folder, card.candidates))
    from acr_cli.advisor.language_model import LanguageModel
    from acr_cli.orchestrator.voters.policy_model import PolicyModelVoter

    if missing := _missing(folder, card):
        raise ConfigurationError(f"The policy model {name} cannot vote: {missing}.", hint=INSTALL)
    model = LanguageModel(folder, card)
    Thread(target=model.warm, name="acr-policy-model", daemon=True).start()
    return PolicyModelVoter(card, model)


INSTALL = (
    "pip install torch 'acr-cli[local]' brings the libraries;"
    " acr config set policy_models NAME,... chooses other models."
)


def _missing(folder: Path, card: Card) -> str:
    """What an adapter lacks on this machine, "" where nothing. Imports nothing."""
    from acr_cli.advisor.language_model import BASE

    if card.kind != "lora":
        return ""
    base = Path(card.base).expanduser()
    if base.is_absolute() and not base.exists() and not (folder / BASE).is_dir():
        return f"its language model {base} is not there"
    return _absent()


def _absent() -> str:
    """Which of the libraries of adapters are not installed, as a clause; "" where all are."""
    from importlib.util import find_spec

    absent = [module for module in ("torch", "transformers", "peft") if find_spec(module) is None]
    are = "is" if len(absent) == 1 else "are"
    return f"{', '.join(absent)} {are} not installed" if absent else ""


def _card(training: Training, tasks: Tasks) -> Card:
    from acr_cli.training.tasks import rates

    chosen = {
        "kind": training.kind,
        "train": list(training.train),
        "held": list(training.held),
        "seed": training.seed,
    }
    if training.kind == "lora":
        for each in (
            "base",
            "steps",
            "batch",
            "accumulate",
            "rate",
            "patience",
            "every",
            "measured",
            "embed",
        ):
            chosen[each] = getattr(training, each)
    return Card(
        name=training.name,
        kind=training.kind,
        made=time.time(),
        acr_version=__version__,
        candidates=tasks.train.models,
        source=tasks.source,
        fingerprint=tasks.fingerprint(characters=training.characters, **chosen),
        tasks=tasks.train.tasks,
        held_out=tasks.held.tasks,
        base=training.base,
        characters=training.characters,
        rates=rates(tasks.train),
        settings=chosen,
    )


def _classifier(tasks: Tasks, card: Card, made: Path, tell: Tell) -> Card:
    from acr_cli.advisor.classifier import FILE
    from acr_cli.training import fitting

    found = fitting.fit(tasks, tell)
    found.write(made / FILE)
    return replace(card, temperature=found.temperature, figures=fitting.measured(found, tasks))


def _adapter(  # noqa: PLR0917
    settings: Settings,
    training: Training,
    tasks: Tasks,
    card: Card,
    made: Path,
    tell: Tell,
    seen: Callable[[Seen], None],
) -> Card:
    from acr_cli.training.lora import Recipe, tune
    from acr_cli.training.questions import asked

    vectors = _vectors(settings, tasks) if training.embed else {}
    recipe = Recipe(
        base=training.base,
        steps=training.steps,
        batch=training.batch,
        accumulate=training.accumulate,
        rate=training.rate,
        patience=training.patience,
        every=training.every,
        measured=training.measured,
        seed=training.seed,
        device=training.device,
    )
    return tune(recipe, card, asked(tasks, card, vectors), made, tell=tell, seen=seen)


def _vectors(settings: Settings, tasks: Tasks) -> Mapping[str, Any]:
    from acr_cli.bench.vectors import embedded
    from acr_cli.build.sharing import embedder

    texts = sorted({text for part in (tasks.train, tasks.held) for text in part.texts if text})
    return embedded(texts, embedder(settings), settings.home / "cache")


def _and(text: str) -> str:
    return f"; {text}" if text else ""
