"""Whatever a model says: the attempt ends without a traceback, and nothing outside its tree changes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acr_cli.agent.backend import Agent
from acr_cli.agent.budget import RunBudget
from acr_cli.protocols import CommandResult, Limits, Reply, ToolCall
from acr_cli.records import StepKind
from acr_cli.testing.scripted import ScriptedModel
from acr_cli.worktree.tree import RunTree
from tests.agent.conftest import FILES, candidate, step

TOOLS = ("search", "open", "edit", "move", "run", "finish", "create", "bash", "", "\ud800")
PATHS = st.sampled_from(
    [
        *("calc.py", "a.py", "./b.py", "new/deep/c.py", "a.py/b.py", "new", ".", "", "..", "../source/a.py"),
        *("/etc/passwd", ".git/config", ".GIT/hooks/x", "link.py", "out/x.py", "dangling", "loop", ".env"),
        *("a\0b", "\ud800.py", "x" * 300, "y/" * 3000, "output-1", "output-9", ".acrignore", "wide.txt"),
        *("con", "a\\b", "C:\\x", "calc.py ", "caf\u00e9.py"),
    ]
)  # fmt: skip
TEXTS = st.sampled_from(
    ["", "\n", "x = 1\n", "    return a - b\n", "return", "a - b", "y", "\r\n", "\0", "\ud800", "a" * 500]
) | st.text(max_size=30)
VALUES = PATHS | TEXTS | st.none() | st.integers(-5, 10**12) | st.lists(PATHS, max_size=3) | st.booleans()
NAMES = st.sampled_from(
    [
        "path",
        "search",
        "replace",
        "target",
        "start",
        "end",
        "pattern",
        "glob",
        "command",
        "keep",
        "summary",
        "x",
    ]
)
ARGUMENTS = st.dictionaries(NAMES, VALUES, max_size=5).map(json.dumps)
SOUND = st.one_of(
    st.builds(lambda p, s, r: ("edit", {"path": p, "search": s, "replace": r}), PATHS, TEXTS, TEXTS),
    st.builds(lambda p, t: ("move", {"path": p, "target": t}), PATHS, PATHS),
    st.builds(lambda p, n: ("open", {"path": p, "start": n, "end": n + 3}), PATHS, st.integers(-3, 9)),
    st.builds(lambda p, g: ("search", {"pattern": p, "glob": g}), TEXTS, PATHS),
    st.builds(lambda c, k: ("run", {"command": c, "keep": k}), TEXTS, st.lists(PATHS, max_size=3)),
    st.builds(lambda s: ("finish", {"summary": s}), TEXTS),
).map(lambda each: ToolCall(id="c", name=each[0], arguments=json.dumps(each[1])))
CALLS = SOUND | st.builds(
    ToolCall, id=st.just("c"), name=st.sampled_from(TOOLS), arguments=ARGUMENTS | st.text(max_size=20)
)
BLOCKS = st.one_of(
    st.builds("{}\n<<<<<<< SEARCH\n{}\n=======\n{}\n>>>>>>> REPLACE\n".format, PATHS, TEXTS, TEXTS),
    st.builds("{}\n```\n{}\n```\n".format, PATHS, TEXTS),
    st.builds("--- a/{}\n+++ b/{}\n@@ -1,9 +3,2 @@\n-{}\n+{}\n".format, PATHS, PATHS, TEXTS, TEXTS),
    st.builds("rename from {}\nrename to {}\n".format, PATHS, PATHS),
    st.builds("DELETE FILE {}\nMOVE FILE {} TO {}\nOPEN {}\n".format, PATHS, PATHS, PATHS, PATHS),
    st.text(max_size=40),
    st.sampled_from(["<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE", "```", "@@ -1 +1 @@", '{"steps": [']),
)
TALK = st.lists(BLOCKS, max_size=4).map("\n".join)
REPLIES = st.one_of(
    TALK,
    st.lists(CALLS, min_size=1, max_size=3).map(tuple),
    TALK.map(lambda text: Reply(content=text, finish="length")),
)


@dataclass
class NoSandbox:
    """A `Sandbox` in which nothing is run: every command has the results that are given."""

    results: Iterator[CommandResult]
    contents: Iterator[bytes | None]
    name: str = "none"
    workdir: str = "/nowhere"
    scratch: str = "/nowhere"
    commands: list[str] = field(default_factory=list)

    def prepare(self, recipe: object, tree: Path) -> None: ...

    @contextmanager
    def open(self, tree: Path) -> Iterator[NoSandbox]:
        yield self

    def sweep(self) -> tuple[str, ...]:
        return ()

    def describe(self) -> str:
        return "none"

    def run(
        self,
        command: Sequence[str] | str,
        *,
        environment: Mapping[str, str] | None = None,
        limits: Limits | None = None,
    ) -> CommandResult:
        return next(self.results)

    def put(self, files: Mapping[str, bytes]) -> None: ...

    def get(self, path: str) -> bytes | None:
        return next(self.contents)


RESULTS = st.builds(
    CommandResult,
    exit_code=st.sampled_from([0, 1, 2, 4, 137]),
    output=st.text(max_size=30) | st.just("line\n" * 4000),
    seconds=st.just(0.0),
    timed_out=st.booleans(),
)


def outside(place: Path) -> dict[str, bytes]:
    """All files that are not of the run's tree nor of its own git directory."""
    return {
        str(path.relative_to(place)): path.read_bytes()
        for path in place.rglob("*")
        if path.is_file() and not path.is_symlink() and path.relative_to(place).parts[0] != "run"
    }


def laid_out(place: Path) -> RunTree:
    source = place / "source"
    source.mkdir()
    for name, content in FILES.items():
        (source / name).write_bytes(content)
    (source / ".env").write_bytes(b"KEY=1\n")
    (source / "wide.txt").write_bytes("\ufeffx = 1\n".encode("utf-16-le"))
    (source / "link.py").symlink_to("b.py")
    (source / "out").symlink_to(place)
    (source / "dangling").symlink_to("nowhere")
    (source / "loop").symlink_to("loop")
    names = (*FILES, ".env", "wide.txt", "link.py", "out", "dangling", "loop")
    return RunTree.copy(source, names, place / "run")


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(REPLIES, max_size=12),
    st.sampled_from(["tools", "search-replace", "whole-file", "unified-diff"]),
    st.sampled_from([*StepKind, StepKind.EDIT, StepKind.EDIT, StepKind.EDIT]),
    st.data(),
)
def test_an_attempt_ends_whatever_is_said_and_stays_in_its_tree(replies, edit_format, kind, data) -> None:
    results = iter(lambda: data.draw(RESULTS), None)
    contents = iter(lambda: data.draw(st.sampled_from([b"x\n", b"\0", b"\xff\xfe"])), None)
    with TemporaryDirectory() as folder:
        place = Path(folder).resolve()
        tree = laid_out(place)
        before = outside(place)
        # When the script is over, its last line is said for ever.
        said = iter([*replies, *[replies[-1] if replies else ""] * 200])
        model = ScriptedModel(lambda _: next(said))
        agent = Agent(gateway=model, emit=lambda _: None, transcripts=place / "run" / "transcripts")
        attempt = agent.attempt(
            step(kind=kind, test_command="pytest"),
            candidate(edit_format=edit_format, tools=edit_format == "tools"),
            tree,
            NoSandbox(results, contents),
            RunBudget(max_cost=1.0, max_steps=20, max_time=900, clock=lambda: 0.0),
        )
        assert attempt.void == ""
        assert len(model.calls) <= 30
        assert outside(place) == before
        if kind in (StepKind.PLAN, StepKind.REVIEW):
            assert attempt.patch == ""
