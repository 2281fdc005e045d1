"""The tests of one or more projects as one script for `sh`, and what it left as one report.

A run of a project writes what it has to say into a folder of its own (`$ACR_REPORT`). At the end the folders
are packed into one tar, which is all that leaves the sandbox. Nothing in it is trusted: members are read by
name and size, and no file is unpacked.
"""

from __future__ import annotations

import io
import json
import re
import shlex
import tarfile
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from acr_cli.protocols import CommandResult, TestPlan
from acr_cli.records import CaseResult, SuiteReport
from acr_cli.toolchains import junit, lines
from acr_cli.toolchains.tables import injected, table

BY_EXIT_CODE = "command"
"""The runner of a command that leaves no report: its exit code decides."""

_LAST_WORDS = 5  # seconds from a command's end on, in which what it has printed is read
_NO_RUNS = b'{"count": 0, "runs": []}'
_MAX_MEMBERS = 20_000
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_TOLD = r"^((not )?ok|1[.][.]|X?(PASS|FAIL)|SKIP|ERROR|# [A-Z])"
"""How lines begin that tell of a test, for awk: see `lines`."""
_SMALLER = (
    "find $ACR_SCRATCH/reports -name '*.xml' -size +8192k | while read -r acr_xml; do",
    "awk -v mere='^[^<]*$' -f $ACR_SCRATCH/acr/acr_cut.awk \"$acr_xml\" > $ACR_SCRATCH/cut.xml",
    'cat $ACR_SCRATCH/cut.xml > "$acr_xml"; rm -f $ACR_SCRATCH/cut.xml; done',
)
"""Of a large JUnit file, all but the most of what the tests printed."""
_COMPLAINT = re.compile(r"[Ee]rror\b|Exception\b|[Aa]ssert|\bnot ok\b|\bFAIL|\b[Ff]ailed\b")
_SHELL = re.compile(r"[|&;<>()$`\n*?~#{}]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """How the tests of one project are run."""

    folder: str  # of the project; "" is the root
    runner: str  # who reads the report
    lines: tuple[str, ...]  # for sh, in `folder`; the exit code of the last one counts
    command: str  # as a person would type it
    reason: str
    build: tuple[str, ...] = ()  # for sh, before `lines`; a failure is a test that fails, named `build_name`
    build_name: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Left:
    """What a run has left behind."""

    run: str  # its number
    folder: str
    runner: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    code: int | None = None  # None: it did not come to an end
    output: str = ""  # what all runs together printed

    def text(self, name: str) -> str:
        return plain(self.files.get(name, b"").decode("utf-8", "replace"))

    def path(self, name: str) -> str:
        """A path below the project as one below the root of the repository."""
        return f"{self.folder}/{name}" if self.folder and not name.startswith("/") else name


def captured(command: str) -> tuple[str, ...]:
    """Lines for sh that run a command by whose output and exit code it is decided. Pure."""
    cut = f"awk -v mere='^' -v kept='{_TOLD}' -f $ACR_SCRATCH/acr/acr_cut.awk"
    return (
        *piped(f"{command} 2>&1", f"{cut} | tee $ACR_REPORT/output.txt"),
        'exit "$(cat $ACR_REPORT/code)"',
    )


def piped(command: str, through: str) -> tuple[str, ...]:
    """Lines for sh that send what a command prints through others, and leave its exit code in a file.

    A process that it has left behind and that holds its output is not waited for: that would last until the
    time of the tests is up. Pure."""
    run = f"( {command}; echo $? > $ACR_REPORT/code )"
    return (
        'acr_pipe="$ACR_SCRATCH/pipe-${ACR_REPORT##*/}"; rm -f "$acr_pipe"',
        'if mkfifo "$acr_pipe" 2>/dev/null; then',
        # What reads may hold back what it has read until its input ends, as mawk does: so this is ended.
        f'( cat "$acr_pipe" & echo $! > "$acr_pipe.cat"; wait ) | {{ {through}; }} & acr_reader=$!',
        f'{run} > "$acr_pipe"',
        f'( sleep {_LAST_WORDS} && kill "$(cat "$acr_pipe.cat")" ) > /dev/null 2>&1 & acr_watch=$!',
        "wait $acr_reader; kill $acr_watch 2>/dev/null",
        f"else {run} | {through}; fi",
    )


Reader = Callable[[Left], tuple[Sequence[CaseResult], str]]
"""The cases of a run, and why it could not start ("" if it did)."""


def plan(
    runs: Sequence[Run],
    scratch: str,
    *,
    environment: Mapping[str, str],
    prelude: Sequence[str] = (),
    files: Sequence[str] = (),
    shown: str = "",
    reason: str = "",
    count: int | None = None,
) -> TestPlan:
    """The script of the first `count` of some runs, and of no more than the table says; `only` makes that of
    others. `prelude` goes before them, at the root; `files` are ours, by name."""
    most = table("shared")["detect"]["projects"]
    kept = runs[: min(most, count or most)]
    made = _Script(runs=tuple(kept), prelude=tuple(prelude), names=tuple(files), environment=environment)
    written = _written(made, scratch, shown=shown, reason=reason)
    whole = _Script(runs=tuple(runs), prelude=made.prelude, names=made.names, environment=environment)
    return replace(written, files={**written.files, f"{scratch}/acr/runs.json": whole.index(len(kept))})


def folders(made: TestPlan) -> tuple[str, ...]:
    """The folders of the projects that a plan of `plan` could test, those beyond the table's number too."""
    return tuple(dict.fromkeys(entry["folder"] for entry in _index(made)["runs"]))


def runners(made: TestPlan) -> tuple[tuple[str, str], ...]:
    """The folder and the runner of each project that it tests."""
    index = _index(made)
    return tuple((entry["folder"], entry["runner"]) for entry in index["runs"][: index["count"]])


def planned(made: TestPlan) -> tuple[str, ...]:
    """Of these, the folders that it tests."""
    index = _index(made)
    return tuple(dict.fromkeys(entry["folder"] for entry in index["runs"][: index["count"]]))


def only(made: TestPlan, wanted: Collection[str]) -> TestPlan | None:
    """The same plan for the projects in these folders; None when there is none of them. Pure."""
    index = _index(made)
    runs = tuple(Run(**entry) for entry in index["runs"] if entry["folder"] in wanted)
    if not runs:
        return None
    shared = table("shared")["environment"]
    own = {k: v for k, v in made.environment.items() if k not in shared}
    script = _Script(runs=runs, prelude=tuple(index["prelude"]), names=tuple(index["names"]), environment=own)
    return _written(script, made.argv[2])


@dataclass(frozen=True, kw_only=True, slots=True)
class _Script:
    """What a plan is written from."""

    runs: tuple[Run, ...]
    prelude: tuple[str, ...]
    names: tuple[str, ...]
    environment: Mapping[str, str]

    def index(self, count: int) -> bytes:
        """What is needed to read the report of the first `count` runs, and to write the plan anew."""
        runs = [asdict(run) for run in self.runs]
        return json.dumps(
            {"count": count, "runs": runs, "prelude": self.prelude, "names": self.names}
        ).encode()


def _index(made: TestPlan) -> dict[str, Any]:
    data = next((data for path, data in made.files.items() if path.endswith("/acr/runs.json")), _NO_RUNS)
    index: dict[str, Any] = json.loads(data)
    return index


def _written(made: _Script, scratch: str, *, shown: str = "", reason: str = "") -> TestPlan:
    runs = made.runs
    script = ["ACR_SCRATCH=$1; export ACR_SCRATCH", *made.prelude, "acr_code=0"]
    for number, run in enumerate(runs):
        folder = f"$ACR_SCRATCH/reports/{number}"
        script += [f"mkdir -p {folder}", "(", f"ACR_REPORT={folder}", "export ACR_REPORT"]
        script += [f"cd {shlex.quote(run.folder)} || exit 126"] if run.folder else []
        if run.build:
            script += ["(", "set -e", *run.build, ") > $ACR_REPORT/build.txt 2>&1", "acr_built=$?"]
            script += ["cat $ACR_REPORT/build.txt", "echo $acr_built > $ACR_REPORT/built"]
            script += ["[ $acr_built -eq 0 ] || exit $acr_built"]
        script += [*run.lines, ")", f"acr_one=$?; echo $acr_one > {folder}/exit"]
        script += ["[ $acr_one -eq 0 ] || acr_code=$acr_one"]
    script += _SMALLER
    script += ["tar -C $ACR_SCRATCH/reports -cf $ACR_SCRATCH/report.tar .", "exit $acr_code", ""]
    return TestPlan(
        below_root=all(run.folder for run in runs),
        command=shown or together([typed(run.folder, run.command) for run in runs]),
        argv=("sh", f"{scratch}/acr/run", scratch),
        reason=reason or "; ".join(dict.fromkeys(run.reason for run in runs)),
        report=f"{scratch}/report.tar",
        environment={**table("shared")["environment"], **made.environment},
        files={
            f"{scratch}/acr/run": "\n".join(script).encode(),
            f"{scratch}/acr/runs.json": made.index(len(runs)),
            **{
                f"{scratch}/acr/{name}": injected(name)
                for name in dict.fromkeys(("acr_cut.awk", *made.names))
            },
        },
    )


def typed(folder: str, command: str) -> str:
    """A command of a project as a person would type it at the root. Pure."""
    return f"cd {shlex.quote(folder)} && {command}" if folder else command


def together(commands: Sequence[str]) -> str:
    """Several commands in one line, each in its own shell where it goes somewhere. Pure."""
    several = list(dict.fromkeys(commands))
    if len(several) == 1:
        return several[0]
    return "; ".join(f"({each})" if each.startswith("cd ") else each for each in several)


def read(
    made: TestPlan, report: bytes | None, result: CommandResult, readers: Mapping[str, Reader]
) -> SuiteReport:
    """The report of `plan` as records. Never raises on a hostile report."""
    whole = _index(made)
    index = whole["runs"][: whole["count"]]
    members, unreadable = _unpack(report)
    cases: list[CaseResult] = []
    faults: list[str] = []
    for number, entry in enumerate(index):
        start = f"{number}/"
        files = {name.removeprefix(start): data for name, data in members.items() if name.startswith(start)}
        left = Left(
            run=str(number),
            folder=entry["folder"],
            runner=entry["runner"],
            files=files,
            code=_number(files.get("exit")),
            output=plain(result.output),
        )
        found, fault = _one(left, entry, result, readers)
        cases += found
        faults += [fault] if fault else []
    # A project that cannot be tested does not hide the others, where there are others.
    fault = stopped(result) or ("" if cases and len(index) > 1 else next(iter(faults), ""))
    if not fault and report is None:
        fault = f"the test run left no report: {last_line(result.output) or f'exit code {result.exit_code}'}"
    return SuiteReport(
        cases=junit.worst_of_each(cases),
        exit_code=result.exit_code,
        timed_out=result.timed_out,
        output=plain(result.output),
        seconds=result.seconds,
        fault=fault or unreadable,
    )


def _one(
    left: Left, entry: Mapping[str, Any], result: CommandResult, readers: Mapping[str, Reader]
) -> tuple[list[CaseResult], str]:
    cases: list[CaseResult] = []
    built = _number(left.files.get("built"))
    if built is not None:
        log = left.text("build.txt")
        cases.append(build_case(left.path(entry["build_name"]), log, failed=built != 0))
        if built in (126, 127):
            return [], f"the build cannot be run: {last_line(log)}"
        if built:
            return cases, ""
    if left.runner == BY_EXIT_CODE:
        told = lines.cases(left.text("output.txt"))
        return [*cases, *told, *_by_exit_code(left, entry["command"], result)], _unrunnable(left)
    found, fault = readers[left.runner](left)
    fault = _unrunnable(left) if not found and _unrunnable(left) else fault
    if not found and not fault and left.code is not None:
        said = last_line(left.output)
        fault = f"{left.runner} found no tests" + (f": {said}" if left.code and said else "")
    return [*cases, *found], fault


def _by_exit_code(left: Left, command: str, result: CommandResult) -> list[CaseResult]:
    if left.code is None or left.code in (126, 127):
        return []
    passed = left.code == 0
    return [
        CaseResult(
            id=typed(left.folder, command),
            outcome="passed" if passed else "failed",
            message="" if passed else _complaint(left.output) or f"exit code {left.code}",
            detail="" if passed else junit.cut(left.output, junit.DETAIL_CHARS),
            seconds=result.seconds,
        )
    ]


def _complaint(output: str) -> str:
    """The last line that speaks of a failure, else the last one that says anything. Pure."""
    for line in reversed(plain(output).splitlines()):
        if _COMPLAINT.search(line):
            return line.strip()[: junit.MESSAGE_CHARS]
    return last_line(output)


def build_case(name: str, log: str, *, failed: bool) -> CaseResult:
    """The build as a test: its first line that speaks of an error is the message. Pure."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    wrong = next(
        (line for line in lines if re.search(r"\berror\b|undefined|cannot find", line, re.IGNORECASE)), ""
    )
    return CaseResult(
        id=name,
        outcome="error" if failed else "passed",
        message=(wrong or (lines[-1] if lines else ""))[: junit.MESSAGE_CHARS] if failed else "",
        exception="BuildFailed" if failed else "",
        detail=junit.cut(log, junit.DETAIL_CHARS) if failed else "",
        is_build=True,
    )


def _unrunnable(left: Left) -> str:
    if left.code not in (126, 127):
        return ""
    return f"the test command cannot be run: {last_line(left.output) or f'exit code {left.code}'}"


def stopped(result: CommandResult) -> str:
    """Which limit ended a run of the tests, as a fault of its report; "" where none did. Pure."""
    if result.out_of_memory:
        return "the tests ran out of memory"
    if result.out_of_disk:
        return "the tests wrote more to the disk than allowed"
    if result.out_of_processes:
        return "the tests ran more processes at once than allowed"
    return f"the tests did not end within {result.seconds:.0f} s" if result.timed_out else ""


def _unpack(report: bytes | None) -> tuple[dict[str, bytes], str]:
    members: dict[str, bytes] = {}
    if report is None:
        return members, ""
    try:
        with tarfile.open(fileobj=io.BytesIO(report), mode="r:") as archive:
            for member in archive:
                if len(members) >= _MAX_MEMBERS:
                    return members, f"the report of the tests holds more than {_MAX_MEMBERS} files"
                content = archive.extractfile(member) if member.isreg() else None
                if content is not None:
                    members[member.name.removeprefix("./")] = content.read()
    except (tarfile.TarError, OSError, EOFError, ValueError) as error:
        return members, f"the report of the tests cannot be read: {error}"
    return members, ""


def _number(data: bytes | None) -> int | None:
    text = (data or b"").decode("ascii", "replace").strip()
    return int(text) if re.fullmatch(r"\d{1,3}", text) else None


def plain(text: str) -> str:
    """A text without colours and carriage returns. Pure."""
    return _ANSI.sub("", text).replace("\r\n", "\n")


def last_line(text: str) -> str:
    lines = [line.strip() for line in plain(text).splitlines() if line.strip()]
    return lines[-1][: junit.MESSAGE_CHARS] if lines else ""


def words_of(command: str) -> tuple[dict[str, str], list[str]]:
    """Leading assignments and the words of a command; no words when only a shell can tell what it means."""
    if _SHELL.search(re.sub(r"'[^']*'", "", command)):
        return {}, []
    try:
        words = shlex.split(command)
    except ValueError:
        return {}, []
    assigned: dict[str, str] = {}
    while words and _ASSIGNMENT.match(words[0]):
        name, _, value = words.pop(0).partition("=")
        assigned[name] = value
    return assigned, words


def junit_cases(
    left: Left, names: Sequence[str], make: Callable[[junit.RawCase], CaseResult]
) -> tuple[list[CaseResult], str]:
    """The cases of the JUnit files of a run, and what is wrong with the first that cannot be read."""
    cases: list[CaseResult] = []
    for name in names:
        try:
            cases += map(make, junit.parse(left.files[name]))
        except junit.UnreadableReport as error:
            return cases, f"the report of the tests cannot be read: {error}"
    return cases, ""
