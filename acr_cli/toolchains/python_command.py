"""The command lines that run Python tests and leave a JUnit report.

A user's command is recognised when it is pytest or unittest behind the usual prefixes; then the report and
our plugin are added to it. Any other command runs as it is, with PYTEST_ADDOPTS set: if it runs pytest
underneath, as `make test` may, that writes the report. If it does not, the command is one pseudo-test, whose
exit code decides.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from acr_cli.protocols import TestPlan
from acr_cli.toolchains.python_detect import source_roots
from acr_cli.toolchains.python_tables import injected

# How much runs before pytest or unittest, and may be dropped: the sandbox has its own environment.
_RUNNERS = (
    ("poetry", "run"),
    ("uv", "run"),
    ("pdm", "run"),
    ("pipenv", "run"),
    ("hatch", "run"),
    ("rye", "run"),
)
_SHELL = re.compile(r"[|&;<>()$`\n*?~#{}]")
_PYTHON = re.compile(r"(?:.*/)?(?:python|python3|python3\.\d+|py)\Z")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


def pytest(
    tree: Path, extra: Sequence[str], tests: Sequence[str], scratch: str, *, reason: str, shown: str = ""
) -> TestPlan:
    """pytest on all tests or these node ids; `extra` are the user's own arguments."""
    report = f"{scratch}/report.xml"
    if tests:
        extra = [word for word in extra if not _is_path(tree, word)]
    argv = ("python3", "-m", "pytest", *extra, *_pytest_options(scratch, report), "--rootdir=.", *tests)
    return TestPlan(
        command=shown or "python3 -m pytest",
        argv=argv,
        reason=reason,
        report=report,
        environment=_environment(tree, scratch),
        files={f"{scratch}/acr/acr_pytest.py": injected("acr_pytest.py")},
    )


def unittest(
    tree: Path, extra: Sequence[str], tests: Sequence[str], scratch: str, *, reason: str, shown: str = ""
) -> TestPlan:
    """Our unittest runner on all tests or these ids; `extra` are arguments of that runner."""
    report = f"{scratch}/report.xml"
    runner = f"{scratch}/acr/acr_unittest.py"
    names = tests or [word for word in extra if not word.startswith("--")]
    options = [word for word in extra if word.startswith("--")]
    return TestPlan(
        command=shown or "python3 -m unittest",
        argv=("python3", runner, f"--report={report}", *options, *names),
        reason=reason,
        report=report,
        environment=_environment(tree, scratch),
        files={runner: injected("acr_unittest.py")},
    )


def given(tree: Path, command: str, tests: Sequence[str], scratch: str) -> TestPlan:
    """The user's own command (`--test`)."""
    words = _words(command)
    environment: dict[str, str] = {}
    while words and _ASSIGNMENT.match(words[0]):
        name, _, value = words.pop(0).partition("=")
        environment[name] = value
    words = _without_prefix(words)
    runner, rest = _runner(words)
    extra = rest if runner == "pytest" else _unittest_options(rest) if runner == "unittest" else None
    if extra is None:
        return _foreign(tree, command, scratch)
    make = pytest if runner == "pytest" else unittest
    plan = make(tree, extra, tests, scratch, reason="given by --test", shown=command)
    path = [environment.get("PYTHONPATH", ""), plan.environment["PYTHONPATH"]]
    merged = {**plan.environment, **environment, "PYTHONPATH": ":".join(p for p in reversed(path) if p)}
    return TestPlan(
        command=command,
        argv=plan.argv,
        reason=plan.reason,
        report=plan.report,
        environment=merged,
        files=plan.files,
    )


def _foreign(tree: Path, command: str, scratch: str) -> TestPlan:
    report = f"{scratch}/report.xml"
    environment = {
        **_environment(tree, scratch),
        "PYTEST_ADDOPTS": shlex.join(_pytest_options(scratch, report)),
    }
    return TestPlan(
        command=command,
        argv=("sh", "-c", command),
        reason="given by --test; where it leaves no report of pytest, its exit code decides",
        report=report,
        environment=environment,
        files={f"{scratch}/acr/acr_pytest.py": injected("acr_pytest.py")},
    )


def is_foreign(plan: TestPlan) -> bool:
    """Whether the plan runs a command that is neither pytest nor unittest as far as one can see."""
    return plan.argv[:2] == ("sh", "-c")


def runner_of(plan: TestPlan) -> str:
    return "unittest" if plan.argv[1:2] and plan.argv[1].endswith("/acr_unittest.py") else "pytest"


def _pytest_options(scratch: str, report: str) -> list[str]:
    # The cache goes to scratch instead of being switched off: a repository's own options may need the plugin.
    return [
        "-p", "acr_pytest", "-q", "--color=no", "--tb=short", "--continue-on-collection-errors",
        f"--junitxml={report}", "-o", "junit_family=xunit1", "-o", "junit_logging=all",
        "-o", "junit_log_passing_tests=false", "-o", f"cache_dir={scratch}/cache",
    ]  # fmt: skip


def _environment(tree: Path, scratch: str) -> dict[str, str]:
    # Before what is installed: an installed copy of the repository must not be what the tests import.
    roots = [f"{scratch}/acr", *source_roots(tree), "."]
    return {
        "PYTHONPATH": ":".join(roots),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONUNBUFFERED": "1",
    }


def _words(command: str) -> list[str]:
    """The words of a command, or nothing when only a shell can tell what it means."""
    if _SHELL.search(re.sub(r"'[^']*'", "", command)):
        return []
    try:
        return shlex.split(command)
    except ValueError:
        return []


def _without_prefix(words: list[str]) -> list[str]:
    for prefix in _RUNNERS:
        if tuple(words[: len(prefix)]) == prefix:
            words = words[len(prefix) :]
            break
    if words[:2] == ["coverage", "run"] and "-m" in words:
        words = ["python3", *words[words.index("-m") :]]
    return words


def _runner(words: list[str]) -> tuple[str, list[str]]:
    """ "pytest" or "unittest" and its arguments, or "" for anything else."""
    if not words:
        return "", []
    if re.match(r"(?:.*/)?(?:pytest|py\.test)\Z", words[0]):
        return "pytest", words[1:]
    if _PYTHON.match(words[0]) and words[1:2] == ["-m"] and words[2:3] in (["pytest"], ["unittest"]):
        return words[2], words[3:]
    return "", []


def _unittest_options(words: list[str]) -> list[str] | None:
    """Arguments of `python -m unittest` as our runner takes them; None when it has no counterpart."""
    options: list[str] = []
    names: list[str] = []
    pending = [
        word for word in words if word not in ("discover", "-v", "--verbose", "-b", "--buffer", "-q", "-c")
    ]
    positional = ["--start", "--pattern"] if "discover" in words else []
    while pending:
        word = pending.pop(0)
        flag, _, value = word.partition("=")
        match flag:
            case "-s" | "--start-directory" | "-p" | "--pattern" | "-t" | "--top-level-directory":
                value = value or (pending.pop(0) if pending else "")
                if flag in ("-s", "--start-directory"):
                    options.append(f"--start={value}")
                elif flag in ("-p", "--pattern"):
                    options.append(f"--pattern={value}")
            case _ if word.startswith("-"):
                return None
            case _ if positional:
                options.append(f"{positional.pop(0)}={word}")
            case _:
                names.append(word)
    return [*options, *names]


def _is_path(tree: Path, word: str) -> bool:
    file = word.split("::", 1)[0]
    return not word.startswith("-") and bool(file) and (tree / file).exists()
