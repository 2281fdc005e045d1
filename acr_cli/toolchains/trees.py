"""What lies in a tree: its files, its projects, what its CI and its task files run. Nothing is run."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from acr_cli.toolchains.python_detect import read_text
from acr_cli.toolchains.python_tables import matches
from acr_cli.toolchains.tables import table

_STEP = re.compile(r"^\s*(?:-\s+)?(?:run|script|command):\s*(.*)$|^\s*-\s+(?!\w+:)(.*)$|^\s+(\S.*)$")
_SHELL = re.compile(r"[|&;<>()$`*?{}]")


def walk(tree: Path) -> Iterator[str]:
    """Paths of the files of a tree, sorted within each folder; no installed or built code, no links."""
    skipped = table("shared")["detect"]["skipped"]
    for folder, folders, names in os.walk(tree):
        folders[:] = sorted(name for name in folders if not matches(name, skipped))
        prefix = Path(folder).relative_to(tree).as_posix()
        for name in sorted(names):
            yield name if prefix == "." else f"{prefix}/{name}"


def projects(tree: Path, manifests: Sequence[str]) -> list[str]:
    """The folders that hold one of these files ("" is the root), the shallowest first."""
    depth = table("shared")["detect"]["depth"]
    found = {path.rpartition("/")[0] for path in walk(tree) if matches(path.rpartition("/")[2], manifests)}
    return sorted((f for f in found if f.count("/") < depth), key=lambda f: (f.count("/") + bool(f), f))


def files_of(tree: Path, project: str, *, others: Sequence[str] = ()) -> list[str]:
    """The files of a project, relative to it; none of the projects that lie inside of it."""
    inside = [f"{other}/" for other in others if other != project]
    start = f"{project}/" if project else ""
    return [
        path.removeprefix(start)
        for path in walk(tree)
        if path.startswith(start) and not any(path.startswith(o) and o.startswith(start) for o in inside)
    ]


def load_json(tree: Path, *names: str) -> dict[str, Any]:
    """A JSON object; {} where it is absent, lies behind a link out of the tree, or is none."""
    try:
        value = json.loads(read_text(tree, *names).removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def ci_commands(tree: Path, *program: str) -> Iterator[tuple[str, list[str]]]:
    """The commands of CI files that begin with these words: the file, and the words after them.

    Lines that only a shell or the CI service itself could understand are left out."""
    for file, words in _ci_steps(tree):
        if tuple(words[: len(program)]) == program:
            yield file, words[len(program) :]


def ci_test(tree: Path, language: str) -> tuple[str, str]:
    """The first step of a CI file that runs tests by a program of this language or by a script, and the
    reason; ("", "") for none."""
    programs = table("shared")["detect"]["ci_programs"]
    ours = (*programs["any"], *programs.get(language, ()))
    for file, words in _ci_steps(tree):
        command = shlex.join(words)
        if words[0] not in ours and not words[0].startswith("./"):
            continue
        if any(re.search(pattern, command) for pattern in table("shared")["detect"]["ci_tests"]):
            return command, f"{file} runs it"
    return "", ""


def _ci_steps(tree: Path) -> Iterator[tuple[str, list[str]]]:
    """The file and the words of each."""
    for file in _ci_files(tree):
        for line in read_text(tree, file.relative_to(tree).as_posix()).splitlines():
            found = _STEP.match(line)
            step = next((part for part in found.groups() if part), "") if found else ""
            if _SHELL.search(step):
                continue
            try:
                words = shlex.split(step)
            except ValueError:
                continue
            if words:
                yield file.relative_to(tree).as_posix(), words


def _ci_files(tree: Path) -> Iterator[Path]:
    yield from sorted(tree.glob(".github/workflows/*.y*ml"))
    for name in (".gitlab-ci.yml", ".travis.yml", ".circleci/config.yml", "azure-pipelines.yml"):
        if (tree / name).is_file():
            yield tree / name


def task(tree: Path, folder: str) -> tuple[str, str]:
    """The command of a Makefile or justfile that runs the tests, and the reason; ("", "") for none."""
    for names, tool in (
        (("GNUmakefile", "makefile", "Makefile"), "make"),
        (("justfile", "Justfile", ".justfile"), "just"),
    ):
        for name in names:
            text = read_text(tree, folder, name) if (tree / folder / name).is_file() else ""
            for target in ("check", "test", "tests"):
                if re.search(rf"^{target}\b[^:=\n]*:(?!=)", text, re.MULTILINE):
                    shown = f"{folder}/{name}" if folder else name
                    return f"{tool} {target}", f"{shown} has a target {target}"
    return "", ""
