"""The parsers of what tests, tools and other processes leave: reports, matrices, files of acr itself."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

from acr_cli import matrix
from acr_cli.agent.scores import KeptScores
from acr_cli.bench import results
from acr_cli.build import checkpoints, recording
from acr_cli.memory import exchange
from acr_cli.memory.exchange import to_json
from acr_cli.models.rests import resting
from acr_cli.parts import load
from acr_cli.protocols import CommandResult, TestPlan
from acr_cli.records import Outcome, Price, Usage
from acr_cli.toolchains import BUILTIN, junit, suite
from acr_cli.verifier import lint
from acr_cli.verifier.added import Line
from acr_cli.worktree.beginning import changed_since
from acr_cli.worktree.contents import kept_changes
from acr_cli.worktree.delivery import recover
from acr_cli.worktree.runs import RunFolder, find_run, list_runs, sweep_runs
from tests.security.fuzzing import Parser, encoded
from tests.security.fuzzing_replies import beneath

_JUNIT = (
    '<?xml version="1.0" encoding="utf-8"?>\n<testsuites><testsuite name="s"><testcase classname="tests.t'
    'est_a" '
    'name="test_b[1]" file="tests/test_a.py" time="0.1"><properties><property name="acr_nodeid" '
    'value="tests/test_a.py::test_b[1]"/></properties><failure type="builtins.ValueError" message="no: x"'
    ">detail"
    '</failure><system-out>said</system-out></testcase><testcase classname="A" name="b"/></testsuite>'
    "</testsuites>"
)
_JEST = (
    '{"testResults": [{"name": "/acr/work/a.test.js", "status": "failed", "message": "m", "assertionResul'
    'ts": '
    '[{"ancestorTitles": ["d"], "title": "t", "status": "failed", "duration": 3, "failureMessages": ["Err'
    'or: x"]}]}]}'
)
_NODE = (
    '{"path": ["d", "t"], "file": "/acr/work/a.js", "outcome": "failed", "ms": 3, "message": "m", "stack": "s'
    '"}'
)
_GO = (
    '{"Action": "fail", "Package": "example.org/a", "Test": "TestA", "Output": "a_test.go:3: x\\n", "Elapsed"'
    ": 0.1}"
)
_CARGO = (
    "     Running unittests src/lib.rs (target/debug/deps/a-1)\ntest t::a ... ok\ntest t::b ... FAILED\n"
    "\nfailures:\n\n"
    "---- t::b stdout ----\nthread 't::b' panicked at src/lib.rs:3:5:\nno\n\ntest result: FAILED. 1 passed\n"
)
_RSPEC = (
    '{"examples": [{"file_path": "./spec/a_spec.rb", "full_description": "d", "status": "failed", "run_ti'
    'me": 0.1, '
    '"exception": {"class": "E", "message": "m", "backtrace": ["a:1"]}}]}'
)
_MINITEST = (
    '{"id": "ATest#test_a", "outcome": "failed", "file": "test/a.rb", "name": "E", "message": "m", "stack": "'
    '"}'
)
_TAP = "TAP version 13\n1..3\nok 1 - a\nnot ok 2 - b\n  ---\n  x: 1\n  ...\nok 3 # SKIP c\n"
_AUTOMAKE = "PASS: a\nFAIL: b\n# TOTAL: 2\n"
_MESON = '{"name": "t"\n"result": "FAIL"\n'
RUNNERS = (
    *(
        ("javascript", "jest", "report.json", _JEST, "json"),
        ("javascript", "node", "cases.jsonl", _NODE, "json"),
    ),
    *(("go", "go", "go.jsonl", _GO, "json"), ("rust", "cargo", "cargo.txt", _CARGO, "")),
    *(
        ("ruby", "rspec", "rspec.json", _RSPEC, "json"),
        ("ruby", "minitest", "cases.jsonl", _MINITEST, "json"),
    ),
    *(("php", "phpunit", "phpunit.xml", _JUNIT, ""), ("java", "maven", "TEST-a.xml", _JUNIT, "")),
    *(("c", "ctest", "ctest.xml", _JUNIT, ""), ("c", "meson", "results", _MESON, "")),
    *(("c", "command", "output.txt", _TAP, ""), ("cpp", "command", "output.txt", _AUTOMAKE, "")),
)
_MATRIX = (
    "task_id,model,score,cost_usd,total_tokens,split,dimension,language\na,m,1,0.1,10,test,bug,py\nb,m,0,0.2,"
    "9,test,bug,py\n"
)
_PRICES = "model,input,output,usd_per_task\nm,1,2,\nn,,,0.1\n"
_RESULT = (
    '{"type": "bench", "schema": 1, "policies": [{"policy": "p", "spread": {}, "avg_perf": 1, "avg_perf_l'
    'ow": 1, '
    '"avg_perf_high": 1, "cum_reg": 0, "total_usd": 0}]}'
)
_CHANGES = (
    '{"a.py": {"before": ["100644", "eA=="], "after": ["100755", "eQ=="]}, "n": {"before": null, "after": nul'
    "l}}"
)
_JOURNAL = (
    '{"root": "/nowhere", "state": "committed", "entries": [{"path": "a", "new": "b.new", "old": "c.old",'
    ' "before": '
    '"", "after": "x"}]}'
)
_RUN = '{"repository": "/nowhere", "status": "running", "time": 1.0, "pid": 1, "task": "x", "applied": false}'
_REACHED = (
    '{"tree": "t", "patch": "", "queue": [{"id": "1", "kind": "edit", "text": "x", "dimension": "bug_fixi'
    'ng", '
    '"language": "python"}], "plan": null, "spent_usd": 0.1, "seconds": 1, "progress": {}, "shared": []}'
)
_EVENT = '{"type": "call", "candidate": "m", "reply": {"content": "x", "tool_calls": []}}'
_RUFF = '[{"filename": "/acr/work/a.py", "location": {"row": 1, "column": 1}, "code": "E1"}]'
_ESLINT = '[{"filePath": "/w/a.py", "messages": [{"line": 1, "severity": 2}]}]'


@cache
def _chain(name: str) -> Any:
    return load("acr_cli.toolchains", name, BUILTIN)()


@cache
def _plan(runner: str) -> TestPlan:
    run = suite.Run(folder="", runner=runner, lines=("true",), command="run it", reason="r")
    return suite.plan([run], "/s", environment={})


def _report(language: str, runner: str, name: str, text: str) -> object:
    """As a file of the report and as what was printed; also the report's tar itself broken."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for file, data in ((f"./0/{name}", encoded(text)), ("./0/exit", b"1\n")):
            member = tarfile.TarInfo(file)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    result = CommandResult(exit_code=1, output=text, seconds=1.0)
    chain = _chain(language)
    chain.read(_plan(runner), encoded(text), result)
    return chain.read(_plan(runner), packed.getvalue(), result)


def _pytest(text: str) -> object:
    plan = TestPlan(command="pytest", argv=("python", "-m", "pytest"), reason="r", report="/s/r.xml")
    result = CommandResult(exit_code=1, output=text, seconds=1.0)
    return _chain("python").read(plan, encoded(text), result), _chain("python").read(plan, None, result)


def _junit(text: str) -> object:
    return [junit.exception_and_message(raw) for raw in junit.parse(encoded(text))]


def _run_folder(
    name: str, read: Callable[[RunFolder], object], *, packed: bool = False
) -> Callable[[str], object]:
    """Shows a reader the folder of a run with one file in it, of this content."""

    def feed(text: str) -> object:
        with tempfile.TemporaryDirectory() as home:
            place = Path(home, "runs", "20280101-000000-000abcd")
            place.mkdir(parents=True)
            (place / name).write_bytes(gzip.compress(encoded(text), 1) if packed else encoded(text))
            return read(RunFolder(path=place))

    return feed


def _runs(folder: RunFolder) -> object:
    home = folder.path.parents[1]
    list_runs(home)
    sweep_runs(home)
    return find_run(home, folder.id).describe()


def _imported(folder: Path) -> object:
    return list(exchange.read(str(folder / "x.jsonl")))


def _complaints(text: str) -> object:
    linters = lint.chosen(
        ["ruff.toml", ".eslintrc.json", ".golangci.yml"], ["a.py", "a.js", "a.go"], lambda _: ""
    )
    added = [Line(path=name, number=1, text="x") for name in ("a.py", "a.js", "a.go")]
    return lint.complaints(linters, added, lambda _: CommandResult(exit_code=1, output=text, seconds=0.0))


def _outcome() -> str:
    made = Outcome(
        **dict.fromkeys(("id", "run", "step", "text", "embedder", "kind", "language", "repository"), "x"),
        **dict.fromkeys(("dimension", "candidate", "family", "policy", "verifier"), "y"),
        **dict.fromkeys(("u", "propensity", "cost_usd", "seconds", "time"), 0.5),
        **dict.fromkeys(("available", "failed_before"), ("m",)),
        attempt=1,
        vector=(0.6, 0.8),
        price=Price(input=1.0, output=2.0),
        verdict="passed",
        signals=(),
        usage=Usage(calls=1),
        votes=(("v", 0.5),),
    )
    return json.dumps(to_json(made))


PARSERS = (
    *(
        Parser(
            name=f"report of {runner} ({language})",
            feed=partial(_report, language, runner, name),
            samples=(text,),
            shape=shape,
            repeats=(
                "<a>",
                "&amp;",
                "ok 1 ",
                "not ok ",
                "test a ... ",
                "FAIL: ",
                "Error: ",
                "panicked at ",
                "\x1b[",
            ),
        )
        for language, runner, name, text, shape in RUNNERS
    ),
    Parser(
        name="report of pytest",
        feed=_pytest,
        samples=(
            _JUNIT,
            "E   ModuleNotFoundError: No module named 'x'\nImportError while loading conftest '/a/b'.\n",
        ),
        repeats=("ERROR: ", "E   ", "ImportError: ", "a.", "error: ", "<system-out>"),
    ),
    Parser(
        name="JUnit XML",
        feed=_junit,
        samples=(
            _JUNIT,
            (
                "<testsuite><testcase classname='a' name='b'><error message='failed on setup with \"x: y\"'/>"
                "</testcase></testsuite>"
            ),
        ),
        repeats=("<testsuite>", '<testsuite a="', "<?xml ", "a.b", "&lt;", "<!--"),
        errors=(junit.UnreadableReport,),
    ),
    Parser(
        name="matrix", feed=beneath("m.csv", lambda at: matrix.read_matrix(at / "m.csv")), samples=(_MATRIX,)
    ),
    Parser(
        name="list of prices",
        feed=beneath("p.csv", lambda at: matrix.read_prices(at / "p.csv")),
        samples=(_PRICES,),
    ),
    Parser(
        name="result of a replay",
        feed=beneath("r.json", lambda at: results.read(at / "r.json")),
        samples=(_RESULT,),
        shape="json",
    ),
    Parser(name="exported memory", feed=beneath("x.jsonl", _imported), samples=(_outcome(),), shape="json"),
    Parser(
        name="rests of models",
        feed=beneath("cache/rests.json", resting),
        samples=('[{"name": "openai", "until": 1, "seconds": 2, "reason": "r"}]',),
        shape="json",
    ),
    Parser(
        name="scores of edit formats",
        feed=beneath("s.json", lambda at: KeptScores(at / "s.json").of("openai/m")),
        samples=('{"openai/m": {"whole-file": [1, 2]}}',),
        shape="json",
    ),
    Parser(
        name="contents that a patch found",
        feed=_run_folder("contents.json.gz", lambda run: kept_changes(run.path), packed=True),
        samples=(_CHANGES,),
        shape="json",
    ),
    Parser(
        name="beginning of a run",
        feed=_run_folder(
            "beginning.json.gz", lambda run: changed_since(run.path, run.path, ["a"]), packed=True
        ),
        samples=('{"files": {"a": ["100644", "0"]}, "contents": {"0": "eA=="}}',),
        shape="json",
    ),
    Parser(
        name="journal of a delivery",
        feed=_run_folder("delivery.json", lambda run: recover(run.path)),
        samples=(_JOURNAL,),
        shape="json",
    ),
    Parser(name="description of a run", feed=_run_folder("run.json", _runs), samples=(_RUN,), shape="json"),
    Parser(
        name="checkpoint of a run",
        feed=_run_folder("checkpoint.json", lambda run: checkpoints.reached(run, "x")),
        samples=(_REACHED,),
        shape="json",
    ),
    Parser(
        name="events of a run",
        feed=_run_folder("events.jsonl", lambda run: list(run.events())),
        samples=(_EVENT,),
        shape="json",
    ),
    Parser(
        name="recording of a run",
        feed=_run_folder(
            "recording.jsonl", lambda run: recording.recorded_lines(run.path / "recording.jsonl")
        ),
        samples=(_EVENT,),
        shape="json",
    ),
    Parser(
        name="complaints of linters",
        feed=_complaints,
        samples=(_RUFF, _ESLINT),
        shape="json",
        repeats=("[", '{"'),
    ),
)
