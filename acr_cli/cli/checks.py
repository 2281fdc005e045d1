"""The checks of `acr doctor`, each a function that looks at one thing and says what to do about it."""

from __future__ import annotations

import importlib.util
import locale
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from acr_cli import __version__
from acr_cli.errors import AcrError, BudgetExhausted, ProviderError, SandboxUnavailable
from acr_cli.settings import Settings

LITTLE = 2.0  # GiB of disk that are few
MUCH = 10 * 1024**3  # bytes of what is kept that are many


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One thing that was looked at."""

    name: str
    state: str  # "ok" | "note": works without it | "missing"
    says: str
    hint: str = ""
    mend: Callable[[], str] | None = None  # what `--fix` does; says what was done
    asks: str = ""  # a question to be answered with yes before that; "": none is needed


def python(_: Settings) -> Check:
    return Check(name="python", state="ok", says=f"{sys.version.split()[0]}, acr {__version__}")


def git(_: Settings) -> Check:
    if (version := _asked("git", "--version")) is None:
        return Check(name="git", state="missing", says="not on PATH", hint="Install git.")
    if not (who := identity()):
        says = f"{version}, which does not know who you are"
        return Check(name="git", state="note", says=says, hint=f"Only --commit needs it: {TELL_GIT}.")
    return Check(name="git", state="ok", says=f"{version}, {who}")


TELL_GIT = "git config --global user.name NAME, and user.email ADDRESS"


def identity() -> str:
    """Whom git would name as the author of a commit, "" where it does not know."""
    who = _asked("git", "var", "GIT_COMMITTER_IDENT") or ""
    return who.rpartition(">")[0] + ">" if ">" in who else ""


def home(settings: Settings) -> Check:
    place = settings.home
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir() or not os.access(place, os.W_OK):
        hint = "Name another folder with ACR_HOME."
        return Check(name="home", state="missing", says=f"{settings.home} cannot be written", hint=hint)
    free = shutil.disk_usage(place).free / 1024**3
    says = f"{settings.home}, {free:.0f} GiB free"
    if free < LITTLE:
        return Check(
            name="home", state="note", says=says, hint="Free some space: a run needs a copy of the tree."
        )
    if not settings.home.exists():
        hint = "It is made with the first run."

        def make() -> str:
            settings.home.mkdir(parents=True, mode=0o700)
            return f"made {settings.home}"

        return Check(
            name="home", state="note", says=f"{settings.home} is not there yet", hint=hint, mend=make
        )
    return Check(name="home", state="ok", says=says)


def disk(settings: Settings) -> Check:
    """What acr keeps and could make again."""
    from acr_cli.build.caching import cached
    from acr_cli.cli.words import size

    found = cached(settings)
    images = sum(kept.bytes for kept in found if not kept.place.startswith("/"))
    total = sum(kept.bytes for kept in found)
    says = (
        f"{size(total)} kept, {size(images)} of it by the Docker engine" if images else f"{size(total)} kept"
    )
    hint = "`acr cache prune` removes what was not used for 30 days." if total > MUCH else ""
    return Check(name="disk", state="note" if total > MUCH else "ok", says=says, hint=hint)


def keys(settings: Settings) -> Check:
    """Which variables hold keys; never a key."""
    from acr_cli.models.keys import KEY_VARIABLES

    held = [name for names in KEY_VARIABLES.values() for name in names if os.environ.get(name)]
    says = ", ".join(held) if held else "no variable of a provider is set"
    path = settings.home / ".env"
    if path.exists() and stat.S_IMODE(path.stat().st_mode) & 0o077:

        def close() -> str:
            path.chmod(0o600)
            return f"{path} is yours alone"

        hint = f"Others may read {path}: chmod 600 {path}"
        return Check(name="keys", state="note", says=says, hint=hint, mend=close)
    return Check(name="keys", state="ok", says=says)


def docker(settings: Settings) -> Check:
    from acr_cli.sandbox.engine import broken, connect
    from acr_cli.sandbox.images import DEFAULT_IMAGES, OF_THE_REPOSITORY

    image = settings.image or DEFAULT_IMAGES["python"]
    try:
        engine = connect(os.environ)
    except SandboxUnavailable as error:
        return Check(name="docker", state="note", says=error.message.rstrip("."), hint=error.hint)
    with closing(engine.client):
        says = f"engine {engine.version}"
        if image in OF_THE_REPOSITORY:
            return Check(name="docker", state="ok", says=f"{says}, the repository's own image ({image})")
        try:
            with broken("list its images"):
                there = bool(engine.client.images.list(name=image))
        except SandboxUnavailable as error:
            return Check(name="docker", state="note", says=f"{says}: {error.message}", hint=error.hint)
    if there:
        return Check(name="docker", state="ok", says=f"{says}, image {image} is there")
    hint = f"The first run pulls {image}; where that cannot be, name one that is there: acr config set image."
    return Check(name="docker", state="ok", says=f"{says}, image {image} is not there yet", hint=hint)


def bubblewrap(_: Settings) -> Check:
    if not sys.platform.startswith("linux"):
        return Check(name="bubblewrap", state="note", says="Linux only")
    from acr_cli.sandbox.bubblewrap import INSTALL_HINT, find_program

    program, why_not = find_program(os.environ)
    if program is None:
        return Check(name="bubblewrap", state="note", says=why_not, hint=INSTALL_HINT)
    return Check(name="bubblewrap", state="ok", says=str(program))


def sandbox(settings: Settings, checks: Mapping[str, Check]) -> Check:
    """Whether tests can run as it is configured."""
    wanted = settings.sandbox
    if wanted == "none":
        says = "none, as configured: tests run on this machine without any protection"
        hint = "`acr config set sandbox auto` confines them."
        return Check(name="sandbox", state="note", says=says, hint=hint)
    why = "the first that works" if wanted == "auto" else "as configured"
    if wanted != "bubblewrap" and checks["docker"].state == "ok" and checks["docker"].hint:
        falls = wanted == "auto" and not settings.image and checks["bubblewrap"].state == "ok"
        says = f"docker, {'' if wanted == 'auto' else 'as configured, '}if its image can be pulled"
        return Check(name="sandbox", state="ok", says=f"{says}, else bubblewrap" if falls else says)
    for name in ("docker", "bubblewrap") if wanted == "auto" else (wanted,):
        if checks[name].state == "ok":
            return Check(name="sandbox", state="ok", says=f"{name}, {why}")
    if wanted == "auto":
        hint = "Start Docker or install bubblewrap; --sandbox none runs the tests without any protection."
        return Check(name="sandbox", state="missing", says="neither Docker nor bubblewrap works", hint=hint)
    hint = "Mend it, or let acr choose: `acr config set sandbox auto`."
    return Check(name="sandbox", state="missing", says=f"{wanted}, as configured, does not work", hint=hint)


def limits(settings: Settings) -> Check:
    """Memory, processes and network, tried from inside."""
    from acr_cli.build.checking import try_limits

    try:
        tried = try_limits(settings)
    except SandboxUnavailable as error:
        return Check(name="limits", state="note", says=f"not tried: {error.message}", hint=error.hint)
    if tried.loose:
        says = f"{tried.sandbox} does not bind {' and '.join(tried.loose)}"
        hint = (
            "Docker needs cgroups with the memory and pids controllers: `docker info` names what is missing."
        )
        return Check(
            name="limits", state="missing", says=says, hint=hint if tried.sandbox == "docker" else ""
        )
    return Check(name="limits", state="ok", says=f"{tried.sandbox} binds memory, processes and network")


def memory(settings: Settings) -> Check:
    """Whether the store can be read, and follows the embedder of the settings."""
    from acr_cli import build

    if not (settings.home / "memory").is_dir():
        return Check(name="memory", state="ok", says="empty: the first run begins it")
    try:
        known = build.statistics(settings)
        follows = build.memory(settings).follows()
    except AcrError as error:
        return Check(name="memory", state="missing", says=error.message.rstrip("."), hint=error.hint)
    says = f"{known.outcomes:,} outcomes, search {known.collection.state}"
    if known.damaged:
        says += f", {known.damaged:,} damaged ones set aside"
    if follows and follows != settings.embedder:

        def again() -> str:
            done = build.reindex(settings, progress=lambda _done, _all: None)
            return f"embedded {done.embedded:,} outcomes with {settings.embedder}"

        return Check(
            name="memory",
            state="note",
            says=f"{says}; embedded by {follows}, not by {settings.embedder}",
            hint="`acr memory reindex` embeds it anew.",
            mend=again,
            asks=f"Embed {known.outcomes:,} outcomes anew with {settings.embedder}?",
        )
    if known.outcomes and known.collection.state in ("absent", "stale"):

        def settle() -> str:
            build.memory(settings).settle()
            return "built the search anew"

        return Check(name="memory", state="note", says=says, hint="The next run builds it anew.", mend=settle)
    return Check(name="memory", state="ok", says=says)


def embedder(settings: Settings) -> Check:
    name, _, model = settings.embedder.partition(":")
    needed = {"minilm": ("onnxruntime", "tokenizers"), "sentence-transformers": ("sentence_transformers",)}
    absent = [module for module in needed.get(name, ()) if importlib.util.find_spec(module) is None]
    if absent:
        hint = "Install acr-cli[local]." if model else "Install acr-cli again."
        return Check(name="embedder", state="missing", says=f"{', '.join(absent)} is not there", hint=hint)
    return Check(name="embedder", state="ok", says=settings.embedder)


def policy(settings: Settings) -> Check:
    """The policy that chooses, and the trained models that vote in it: on what they were trained, and whether
    they fit the pool."""
    from acr_cli.build.training import installed

    found = installed(settings)
    says = "; ".join([settings.policy, *(one.says for one in found)])
    bad = [one for one in found if one.problem and (one.votes or one.card is None)]
    if bad:
        hint = (
            "Train it anew with `acr train policy`, or choose others: acr config set policy_models NAME,..."
        )
        state = "missing" if any(one.votes for one in bad) else "note"
        return Check(name="policy", state=state, says=says, hint=hint)
    if not found:
        says += "; no trained model votes: `acr train policy` makes one"
    return Check(name="policy", state="ok", says=says)


def models(settings: Settings) -> Check:
    from acr_cli import build
    from acr_cli.models.keys import missing_key

    every = [each for each in build.candidates(settings) if each.model]
    unheard = [name for name in settings.providers if not any(_of(each.id, name) for each in every)]
    if not every:
        says = f"none of {', '.join(unheard)}: key or server is not there" if unheard else "none accepted"
        hint = "`acr config init` proposes what it finds; failing tests can be repaired without any model."
        return Check(name="models", state="note", says=says, hint=hint)
    lacking = sorted({name for each in every if (name := missing_key(each, os.environ))})
    says = ", ".join(each.id for each in every)
    if lacking:
        return Check(name="models", state="note", says=says, hint=f"Not set: {', '.join(lacking)}.")
    return Check(name="models", state="ok", says=says)


def _of(model: str, provider: str) -> bool:
    return model.startswith(f"{provider}/") or provider in ("ollama", "vllm", "lm_studio", "llama_cpp")


def online(settings: Settings) -> tuple[Check, ...]:
    """Every model asked for one word; paid for, within the caps of a run, a day and a month."""
    from acr_cli import build

    checks, budget = [], build.run_budget(settings)
    for each in build.candidates(settings):
        if not each.model:
            continue
        try:
            build.probe(settings, each.id, budget)
        except (ProviderError, BudgetExhausted) as error:
            says, hint = error.message.rstrip("."), error.hint
            checks.append(Check(name=each.id, state="missing", says=says, hint=hint))
        else:
            checks.append(Check(name=each.id, state="ok", says="answers"))
    return tuple(checks)


def leftovers(settings: Settings) -> Check:
    from acr_cli.build.checking import leftovers as left
    from acr_cli.build.checking import sweep

    if not (settings.home / "runs").is_dir() or not (found := left(settings)):
        return Check(name="leftovers", state="ok", says="no dead run has left anything")
    return Check(
        name="leftovers",
        state="note",
        says=f"{len(found)} dead runs have left copies: {', '.join(run.id for run in found[:3])}",
        hint="The next run removes them, and so does --fix.",
        mend=lambda: f"cleaned up after {sweep(settings)} of them",
    )


def completion(_: Settings) -> Check:
    """Whether the user's shell completes; where not, how it would."""
    from acr_cli.cli.completion_install import install, installed_at, question, shell_in_use

    shell = shell_in_use(os.environ)
    if not shell:
        return Check(
            name="completion", state="ok", says="not checked: SHELL names neither bash, zsh nor fish"
        )
    if place := installed_at(shell, os.environ):
        return Check(name="completion", state="ok", says=f"{shell}: {place}")
    return Check(
        name="completion",
        state="note",
        says=f"not installed for {shell}",
        hint="`acr completion -h` says how; --fix does it.",
        mend=lambda: install(shell, os.environ),
        asks=question(shell, os.environ),
    )


def terminal(_: Settings) -> Check:
    from acr_cli.cli.terminal import colored

    encoding = (sys.stdout.encoding or "").lower()
    columns = shutil.get_terminal_size().columns
    shown = f"{encoding}, {columns} columns, {'colours' if colored(sys.stdout) else 'no colours'}"
    if not encoding.startswith("utf"):
        hint = f"Signs are replaced in {locale.setlocale(locale.LC_CTYPE)}: export LC_ALL=C.UTF-8 shows all."
        return Check(name="terminal", state="note", says=shown, hint=hint)
    return Check(name="terminal", state="ok", says=shown)


def _asked(*command: str) -> str | None:
    """The first line that a program prints; None when it is absent, fails or takes ten seconds."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=10, check=True, cwd=Path.home()
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip().split("\n")[0]
