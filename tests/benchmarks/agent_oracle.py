"""A model that holds the patch: it answers each program in that program's own format, in the fewest turns.

It is as good as a model can be, and no better than a model may be: unless it is `blind` it changes a line of
a file only once that line has stood in a request, and asks for the file in the program's own way before.
"""

from __future__ import annotations

import difflib
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acr_cli.testing.answers import Say, call
from acr_cli.testing.loopback import Request


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """A task: its text, the files of its repository, and those of them that are right once it is done."""

    name: str
    text: str
    before: Mapping[str, str]
    after: Mapping[str, str]
    beside: int = 0  # synthetic files that the repository has beside these

    @classmethod
    def read(cls, folder: Path) -> Sample:
        beside = folder / "beside.txt"
        return cls(
            name=folder.name,
            text=(folder / "task.md").read_text().strip(),
            before=_texts(folder / "before"),
            after=_texts(folder / "after"),
            beside=int(beside.read_text()) if beside.exists() else 0,
        )

    @property
    def old(self) -> tuple[str, ...]:
        """Files that exist and are changed."""
        return tuple(path for path in self.after if path in self.before)

    def hunks(self, path: str) -> list[tuple[str, str]]:
        """What is replaced in a file by what; each searched text stands in it once. A new file has one."""
        if path not in self.before:
            return [("", self.after[path])]
        return _hunks(self.before[path], self.after[path])

    def diff(self) -> str:
        """The whole change as a unified diff."""
        parts = []
        for path, text in self.after.items():
            old = self.before.get(path)
            lines = difflib.unified_diff(
                [] if old is None else old.splitlines(keepends=True),
                text.splitlines(keepends=True),
                "/dev/null" if old is None else f"a/{path}",
                f"b/{path}",
            )
            parts.append("".join(lines))
        return "".join(parts)


def _texts(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_text() for path in files}


def _grown(span: Sequence[int], old: Sequence[str], before: str) -> list[int]:
    """A changed span of old and new lines, with as many around it as make its old text stand there once."""
    i1, i2, j1, j2 = span
    while before.count("".join(old[i1:i2])) != 1:
        if i1 > 0:
            i1, j1 = i1 - 1, j1 - 1
        if i2 < len(old) and before.count("".join(old[i1:i2])) != 1:
            i2, j2 = i2 + 1, j2 + 1
    return [i1, i2, j1, j2]


def _hunks(before: str, after: str) -> list[tuple[str, str]]:
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    found: list[list[int]] = []
    for tag, *span in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        grown = _grown(span, old, before)
        if found and grown[0] <= found[-1][1]:
            found[-1] = [found[-1][0], max(grown[1], found[-1][1]), found[-1][2], max(grown[3], found[-1][3])]
        else:
            found.append(grown)
    return [("".join(old[a:b]), "".join(new[c:d])) for a, b, c, d in found]


@dataclass(kw_only=True, slots=True)
class Oracle:
    """The script of one run: what it says to a request, and what it was asked, when."""

    sample: Sample
    program: str  # "acr", "aider" or "mini"
    blind: bool = False
    asked: list[Request] = field(default_factory=list)
    arrived: list[float] = field(default_factory=list)  # on the clock of time.perf_counter
    busy: float = 0.0  # seconds that the answers took
    _edited: bool = False

    def __call__(self, request: Request) -> Say:
        started = time.perf_counter()
        self.asked.append(request)
        self.arrived.append(started)
        said = self._answer(request)
        self.busy += time.perf_counter() - started
        return said

    def _answer(self, request: Request) -> Say:
        unseen = [] if self.blind else [p for p in self.sample.old if not self._seen(p, request)]
        answers: Mapping[str, Callable[[Request, Sequence[str]], Say]] = {
            "acr": self._acr,
            "aider": self._aider,
            "mini": self._mini,
        }
        if (self._edited and not unseen) or len(self.asked) > _PATIENCE:
            return self._stop()
        said = answers[self.program](request, unseen)
        self._edited = not unseen
        return said

    def _seen(self, path: str, request: Request) -> bool:
        """Whether every line that will be replaced in a file has stood in this request."""
        shown = _plain("\n".join(strings(request.messages)))
        lines = (line.strip() for search, _ in self.sample.hunks(path) for line in search.splitlines())
        return all(line in shown for line in lines if line)

    def _stop(self) -> Say:
        """More is asked although all edits have been written: nothing is left but to end."""
        if self.program == "acr":
            return Say(tool_calls=(call("finish", {"summary": "Done."}, id=f"end_{len(self.asked)}"),))
        if self.program == "mini":
            return Say(tool_calls=(self._bash(_SUBMIT),))
        return Say(text="There is nothing more to change.")

    def _acr(self, request: Request, unseen: Sequence[str]) -> Say:
        if not request.body.get("tools"):
            return self._blocks(unseen, "OPEN {path}")
        if unseen:
            return Say(tool_calls=tuple(call("open", {"path": path}) for path in unseen))
        calls = [
            call("edit", {"path": path, "search": search, "replace": replace})
            for path in self.sample.after
            for search, replace in self.sample.hunks(path)
        ]
        return Say(tool_calls=(*calls, call("finish", {"summary": "Done."})))

    def _aider(self, request: Request, unseen: Sequence[str]) -> Say:
        return self._blocks(unseen, "I need to see {path}.")

    def _blocks(self, unseen: Sequence[str], wish: str) -> Say:
        if unseen:
            return Say(text="\n".join(wish.format(path=path) for path in unseen))
        blocks = [
            f"{path}\n```python\n<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n```"
            for path in self.sample.after
            for search, replace in self.sample.hunks(path)
        ]
        return Say(text="\n\n".join(blocks))

    def _mini(self, request: Request, unseen: Sequence[str]) -> Say:
        if unseen:
            return Say(tool_calls=(self._bash(f"cat {' '.join(unseen)}"),))
        patch = f"git apply <<'PATCH'\n{self.sample.diff()}PATCH"
        return Say(
            tool_calls=(self._bash(patch), self._bash("python -m pytest -q"), self._bash(_SUBMIT)),
        )

    def _bash(self, command: str) -> Any:
        return call("bash", {"command": command})


_PATIENCE = 12  # requests, after which something is wrong with the oracle
_SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


def _plain(text: str) -> str:
    """What stands in a text that may hold the outputs of commands as JSON."""
    text = re.sub(r"\\u([0-9a-f]{4})", lambda match: chr(int(match[1], 16)), text)
    return f"{text}\n{text.replace(chr(92) + chr(34), chr(34)).replace(chr(92) * 2, chr(92))}"


def strings(value: object) -> Iterator[str]:
    """Every text in a request that a model would read: contents, names, arguments, descriptions of tools."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            if name in ("id", "tool_call_id", "type", "role"):
                continue
            yield from strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from strings(inner)


def prompt(request: Request) -> str:
    """All that a model reads of a request: the tools first, as they come first at providers.

    Tools count as the JSON that they are; messages as their texts, one behind the other."""
    tools = request.body.get("tools")
    spoken = "\n".join(strings(request.messages))
    return (json.dumps(tools) + "\n" if tools else "") + re.sub(r"\r\n?", "\n", spoken)
