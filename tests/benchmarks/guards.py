"""Walls taken down one at a time, in a copy of the program: the test that attacks each must fail then.

`GUARDS` names a file, a text in it and what stands there instead, and the test. A wall whose test still
passes without it is not tested.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, kw_only=True, slots=True)
class Guard:
    """One wall, how it is taken down, and the test that must notice."""

    name: str
    file: str
    text: str
    instead: str
    test: str


_LEAVES = "tests/security/test_nothing_leaves_the_tree.py"
_SEES = "tests/security/test_what_a_sandbox_sees.py"
_RUNS = "tests/security/test_no_code_of_a_repository_runs.py"
_UNASKED = "tests/security/test_files_run_unasked.py"
_MONEY = "tests/security/test_money.py"
_WALLS = "tests/sandbox/test_walls.py"
_INSTALL = "tests/sandbox/test_install_network.py"

GUARDS = (
    Guard(
        name="a prefix of Python that is the whole machine",
        file="acr_cli/sandbox/interpreter.py",
        text="    return any(each.resolve().is_relative_to(folder) for each in inside)",
        instead="    return False",
        test=f"{_SEES}::test_an_environment_of_the_repository_does_not_show_the_machine",
    ),
    Guard(
        name="manifests behind links",
        file="acr_cli/sandbox/files.py",
        text="            if path.is_symlink():\n                break",
        instead="            if False:\n                break",
        test=f"{_SEES}::test_manifests_behind_a_link_are_not_copied",
    ),
    Guard(
        name="links out of the tree",
        file="acr_cli/worktree/tree.py",
        text="if loops or resolved == root or not resolved.is_relative_to(root):",
        instead="if False:",
        test=f"{_LEAVES}::test_a_hostile_path_is_refused_and_named",
    ),
    Guard(
        name="git's own names",
        file="acr_cli/worktree/tree.py",
        text='return plain in (".git", "git~1")',
        instead="return False",
        test="tests/worktree/test_tree.py::test_a_hostile_path_is_refused",
    ),
    Guard(
        name="reading through links in a sandbox's copy",
        file="acr_cli/sandbox/files.py",
        text="flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC",
        instead="flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC",
        test=f"{_LEAVES}::test_what_a_command_makes_leads_nowhere",
    ),
    Guard(
        name="git's file-system monitor",
        file="acr_cli/worktree/hardened_git.py",
        text='"core.fsmonitor=false",',
        instead="",
        test="tests/worktree/test_repository.py::test_no_program_of_the_repository_runs",
    ),
    Guard(
        name="programs that a commit would run",
        file="acr_cli/worktree/repository.py",
        text="        self._refuse_programs()\n",
        instead="",
        test=f"{_RUNS}::test_a_commit_runs_the_programs_of_the_user_alone",
    ),
    Guard(
        name="files that tools run unasked",
        file="acr_cli/build/job.py",
        text="elif run_unasked and not",
        instead="elif False and not",
        test=f"{_UNASKED}::test_a_verified_patch_with_such_a_file_is_kept_until_somebody_says_yes",
    ),
    Guard(
        name="the caps of a day and a month",
        file="acr_cli/agent/ledger.py",
        text="if spent + usd > self._caps[period]:\n                        raise",
        instead="if False:\n                        raise",
        test=f"{_MONEY}::test_many_processes_together_pass_no_cap",
    ),
    Guard(
        name="what a killed process had reserved",
        file="acr_cli/agent/ledger.py",
        text="values = (self._now(), usd)",
        instead="values = (self._now(), 0.0)",
        test=f"{_MONEY}::test_a_killed_process_leaves_the_most_that_its_call_could_cost",
    ),
    Guard(
        name="a project's settings",
        file="acr_cli/settings/sources.py",
        text="elif not key.project:",
        instead="elif False:",
        test="tests/test_settings.py::test_whatever_else_a_project_sets_is_ignored_with_a_warning",
    ),
    Guard(
        name="no network in bubblewrap",
        file="acr_cli/sandbox/bubblewrap.py",
        text='options += ["--share-net"] if network else []',
        instead='options += ["--share-net"]',
        test=f"{_WALLS}::test_there_is_no_network",
    ),
    Guard(
        name="addresses beside the machine while dependencies are installed",
        file="acr_cli/sandbox/reach.py",
        text="far = [place for place in places if not self.near(ipaddress.ip_address(place[1][0]))]",
        instead="far = places",
        test=f"{_INSTALL}::test_installing_reaches_nothing_on_or_beside_this_machine",
    ),
    Guard(
        name="no network but the proxy while dependencies are installed in bubblewrap",
        file="acr_cli/sandbox/bubblewrap.py",
        text="session = BubblewrapSession(self, copy, network=direct,",
        instead="session = BubblewrapSession(self, copy, network=True,",
        test=f"{_INSTALL}::test_installing_reaches_nothing_on_or_beside_this_machine",
    ),
    Guard(
        name="no network but the proxy while dependencies are installed in Docker",
        file="acr_cli/sandbox/images.py",
        text='yield f"container:{beside}", VARIABLES',
        instead="yield network_mode(self._engine), VARIABLES",
        test=f"{_INSTALL}::test_installing_reaches_nothing_on_or_beside_this_machine",
    ),
    Guard(
        name="settings of the kernel in bubblewrap",
        file="acr_cli/sandbox/bubblewrap.py",
        text='options += ["--ro-bind-try", covered, covered]',
        instead="pass",
        test="tests/security/test_inside_the_sandbox.py::test_no_privilege_is_had",
    ),
    Guard(
        name="system calls that reach past namespaces in bubblewrap",
        file="acr_cli/sandbox/bubblewrap.py",
        text='own += ["--seccomp", str(rules)] if rules is not None else []',
        instead="pass",
        test="tests/security/test_inside_the_sandbox.py::test_what_reaches_out_of_the_sandbox_is_refused",
    ),
    Guard(
        name="namespaces in bubblewrap",
        file="acr_cli/sandbox/bubblewrap.py",
        text='return ("--disable-userns",) if tried.returncode == 0 else ()',
        instead="return ()",
        test="tests/security/test_inside_the_sandbox.py::test_no_namespace_can_be_made",
    ),
    Guard(
        name="control sequences",
        file="acr_cli/cli/terminal.py",
        text='return _CONTROLS.sub("", _SEQUENCES.sub("", text))',
        instead="return text",
        test="tests/security/test_screen.py",
    ),
    Guard(
        name="secrets",
        file="acr_cli/memory/encoding.py",
        text="return replace(outcome, text=redact(outcome.text), signals=signals)",
        instead="return outcome",
        test="tests/end_to_end/test_secrets.py::test_no_secret_of_a_task_stays_in_memory",
    ),
)


def taken_down(guard: Guard) -> bool:
    """Whether the guard's test fails without it. Raises: ValueError where the wall is not found."""
    with tempfile.TemporaryDirectory(prefix="acr-guards-") as folder:
        copy = Path(folder)
        for name in ("acr_cli", "tests"):
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", copy)
        source = copy / guard.file
        text = source.read_text(encoding="utf-8")
        if guard.text not in text:
            raise ValueError(f"{guard.name}: {guard.file} holds no {guard.text!r} any more")
        source.write_text(text.replace(guard.text, guard.instead), encoding="utf-8")
        # A test's own environment drops all that is not named; the copy must be what its programs import.
        fixtures = copy / "tests" / "conftest.py"
        kept = fixtures.read_text(encoding="utf-8").replace('*("PATH", ', '*("PATH", "PYTHONPATH", ', 1)
        fixtures.write_text(kept, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", guard.test],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": str(copy)},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
    return done.returncode == 1
