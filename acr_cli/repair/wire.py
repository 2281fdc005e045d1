"""Talking to the driver in a session: put it there, ask for a survey or a round of search, read it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from acr_cli.protocols import Limits, Session
from acr_cli.repair import answers
from acr_cli.repair.answers import DriverFailed
from acr_cli.repair.mutation import Mutation

DRIVER = Path(__file__).with_name("driver")
PACKAGE = "acr_repair_driver"
GRACE = 15.0  # seconds that the driver may take beyond its own limit before it is killed
EXTRA_MEMORY = 1 << 30  # bytes of address space that a candidate may take beyond what the tests took before

_PROBE = (
    "import sys, importlib.util as u; "
    "print('acr', int(sys.version_info >= (3, 8)), int(u.find_spec('pytest') is not None))"
)
_VALUED = ("-k", "-m", "-c", "-p", "-W", "-o", "--import-mode", "--confcutdir")


@dataclass(frozen=True, kw_only=True, slots=True)
class TestCommand:
    """What the driver takes over from the command that runs the tests."""

    __test__ = False

    runner: str = ""  # "pytest" | "unittest" | "": whichever there is
    arguments: tuple[str, ...] = ()  # for pytest
    paths: tuple[str, ...] = ()
    discover: Mapping[str, str] = field(default_factory=dict)  # start, pattern, top of unittest's discovery
    interpreters: tuple[str, ...] = ()


def read_command(command: str) -> TestCommand:
    """Runner, selection and options of a test command as typed; what is not understood is left out."""
    try:
        words = shlex.split(command)
    except ValueError:
        return TestCommand()
    interpreters = tuple(word for word in words if re.search(r"(^|/)python[\d.]*$", word))
    at = next(
        (i for i, word in enumerate(words) if re.search(r"(^|/)(pytest|py\.test|unittest)$", word)), None
    )
    if at is None:
        return TestCommand(interpreters=interpreters)
    rest = words[at + 1 :]
    if words[at].endswith("unittest"):
        return TestCommand(runner="unittest", discover=_discovery(rest), interpreters=interpreters)
    arguments: list[str] = []
    paths: list[str] = []
    position = 0
    while position < len(rest):
        word = rest[position]
        if word in _VALUED and position + 1 < len(rest):
            arguments += [word, rest[position + 1]]
            position += 1
        elif word.startswith(tuple(f"{name}=" for name in _VALUED if name.startswith("--"))) or word in (
            "--doctest-modules",
            "--strict-markers",
            "--strict-config",
        ):
            arguments.append(word)
        elif not word.startswith("-") and ("/" in word or word.endswith(".py") or "." not in word):
            paths.append(word)
        position += 1
    return TestCommand(
        runner="pytest", arguments=tuple(arguments), paths=tuple(paths), interpreters=interpreters
    )


def _discovery(words: Sequence[str]) -> dict[str, str]:
    names = {"-s": "start", "--start-directory": "start", "-p": "pattern", "--pattern": "pattern"}
    names.update({"-t": "top", "--top-level-directory": "top"})
    found: dict[str, str] = {}
    if words and words[0] == "discover":
        plain = [word for word in words[1:2] if not word.startswith("-")]
        found.update({"start": plain[0]} if plain else {})
        for name, value in pairwise(words):
            if name in names:
                found[names[name]] = value
    return found


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """How one candidate did."""

    number: int
    passed: frozenset[str]  # targets
    full: bool  # all targets, and nothing that passed before fails
    how: str  # "ok" | "failed" | "timeout" | "broke others"


class Driver:
    """The driver in one session.

    Raises: SandboxBroken from every method, DriverFailed when the driver dies or gives no answer."""

    def __init__(
        self,
        session: Session,
        *,
        command: TestCommand,
        interpreter: str | None,
        workers: int,
        limits: Limits,
    ) -> None:
        """`limits` bind the driver and all candidates that it runs at a time together, but for the time."""
        self.session = session
        self.limits = limits
        self.command = command
        self.workers = workers
        self.survey: dict[str, Any] = {}
        self._rounds = 0
        self.interpreter = interpreter or self._find_interpreter()
        scratch = session.scratch.rstrip("/")
        files = {
            f"{scratch}/{PACKAGE}/{path.name}": path.read_bytes() for path in sorted(DRIVER.glob("*.py"))
        }
        files[f"{scratch}/run.py"] = files.pop(f"{scratch}/{PACKAGE}/run.py")
        session.put(files)

    def _find_interpreter(self) -> str:
        usable = ""
        for name in dict.fromkeys((*self.command.interpreters, "python3", "python")):
            result = self.session.run([name, "-X", "utf8", "-c", _PROBE], limits=self.limits)
            answer = re.search(r"acr (\d) (\d)", result.output)
            if result.exit_code == 0 and answer is not None and answer.group(1) == "1":
                if answer.group(2) == "1" or self.command.runner == "unittest":
                    return name
                usable = usable or name
        if not usable:
            raise DriverFailed("The sandbox has no Python 3.8 or newer, which repair needs.")
        return usable

    def look(
        self, targets: Sequence[str], tests: Sequence[str], *, limit: float, each: float
    ) -> dict[str, Any]:
        """The survey, see driver/survey.py. `limit`: seconds in all; `each`: seconds until a test hangs."""
        request = {
            **self._common(),
            "targets": list(targets),
            "tests": list(tests),
            "paths": list(self.command.paths),
            "limit": limit,
            "each": each,
            "workers": self.workers,
        }
        answer = self._ask("survey", request, limit + 4 * each + GRACE)
        self.survey = answers.surveyed(answer)
        return self.survey

    def try_out(
        self,
        candidates: Sequence[tuple[int, Sequence[Mutation]]],
        *,
        targets: Sequence[str],
        must_pass: Sequence[str],
        timeout: float,
        full_timeout: float,
        limit: float,
        after: tuple[float, int],
    ) -> list[Result]:
        """One round: candidates as (number, mutations). `after`: seconds and candidates after a success."""
        request = {
            **self._common(),
            "runner": self.survey["runner"],
            "folders": self.survey["folders"],
            "modules": self.survey["modules"],
            "memory": self.survey["peak"] + EXTRA_MEMORY if self.survey["peak"] else 0,
            "targets": list(targets),
            "must_pass": list(must_pass),
            "candidates": [{"n": number, "edits": _edits(mutations)} for number, mutations in candidates],
            "timeout": timeout,
            "full_timeout": full_timeout,
            "limit": limit,
            "after_seconds": after[0],
            "after_candidates": after[1],
        }
        answer = self._ask("search", request, limit + timeout + full_timeout + GRACE)
        return [
            Result(number=said["n"], passed=frozenset(said["passed"]), full=said["full"], how=said["how"])
            for said in answers.tried(answer, {number for number, _ in candidates})
        ]

    def _common(self) -> dict[str, Any]:
        runner = self.survey.get("runner") or self.command.runner
        return {
            "workdir": self.session.workdir,
            "scratch": self.session.scratch.rstrip("/"),
            "arguments": list(self.command.arguments),
            "discover": dict(self.command.discover),
            "runner": runner,
        }

    def _ask(self, mode: str, request: Mapping[str, Any], seconds: float) -> bytes:
        self._rounds += 1
        scratch = self.session.scratch.rstrip("/")
        question, answer = (f"{scratch}/{mode}{self._rounds}.{kind}" for kind in ("request", "answer"))
        self.session.put({question: json.dumps(request).encode()})
        result = self.session.run(
            [self.interpreter, "-X", "utf8", f"{scratch}/run.py", mode, question, answer],
            limits=replace(self.limits, seconds=seconds),
        )
        data = self.session.get(answer)
        if data is None:
            last = (result.output.strip().splitlines() or ["no output"])[-1]
            raise DriverFailed(f"The driver of repair ended with exit code {result.exit_code}: {last[:200]}")
        # A driver that was killed may have left half a line.
        return data[: data.rfind(b"\n") + 1] if mode == "search" else data


def _edits(mutations: Iterable[Mutation]) -> list[dict[str, Any]]:
    return [
        {"path": m.path, "start": m.start, "end": m.end, "text": m.text.decode("latin-1")} for m in mutations
    ]
