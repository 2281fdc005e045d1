"""What a run of Python tests showed: the JUnit report as cases, and why the tests could not start.

The tests could not start ("fault") when something is missing or the tests themselves are wrong: no pytest, a
command line that pytest refuses, a module that is not installed, a test file that does not parse, or no test
at all. A test file that cannot be imported because of the code under test (a NameError or SyntaxError there,
a name that is not defined yet) is a case in error with the file as its id: a change of the code can help.
"""

from __future__ import annotations

import re

from acr_cli.protocols import CommandResult, TestPlan
from acr_cli.records import CaseResult, SuiteReport
from acr_cli.toolchains import junit, python_command, suite

_MISSING = re.compile(r"(?:ModuleNotFoundError|ImportError): (No module named '?([\w.]+)'?)")
_TOO_LONG = re.compile(r"^acr: (.+ went on after its time limit of .+)$", re.MULTILINE)
_CONFTEST = re.compile(r"ImportError while loading conftest '([^']+)'")
_USAGE = re.compile(r"^(?:ERROR|error): (.+)$|: error: (.+)$", re.MULTILINE)
_LAST_ERROR = re.compile(
    r"^(?:E\s+)?([A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Warning)\b.*)$", re.MULTILINE
)
_STOPPED = re.compile(r"^.*(?:Interrupted|Exit: |KeyboardInterrupt|mainloop caught).*$", re.MULTILINE)
_STARTED = (0, 1)  # exit codes of a run whose tests were run: all passed, some failed


def read(plan: TestPlan, report: bytes | None, result: CommandResult) -> SuiteReport:
    """The report as records; `fault` says why there is nothing to go by. Never raises on a hostile report."""
    raw, unreadable = _parse(report)
    dotted = python_command.runner_of(plan) == "unittest"
    cases = junit.worst_of_each(_case(entry, dotted=dotted) for entry in raw)
    fault = _stopped(result)
    if not fault and python_command.is_foreign(plan):
        cases, fault = _foreign(plan, cases, result)
    elif not fault and (report is None or unreadable):
        fault = _without_report(plan, result, unreadable)
    elif not fault:
        fault = _import_fault(cases) or _exit_fault(plan, cases, result)
    return SuiteReport(
        cases=cases,
        exit_code=result.exit_code,
        timed_out=result.timed_out,
        output=result.output,
        seconds=result.seconds,
        fault=fault,
    )


def _parse(report: bytes | None) -> tuple[tuple[junit.RawCase, ...], str]:
    try:
        return (junit.parse(report), "") if report is not None else ((), "")
    except junit.UnreadableReport as error:
        return (), str(error)


def _case(raw: junit.RawCase, *, dotted: bool) -> CaseResult:
    exception, message = junit.exception_and_message(raw)
    file = raw.file
    if raw.properties.get("acr_nodeid"):
        case_id = raw.properties["acr_nodeid"]
        file = case_id.split("::", 1)[0]
    elif not raw.classname:  # a file that could not be collected
        case_id = file = _path(raw.name)
        exception, message = _collection_error(raw)
    elif dotted or not raw.file:
        case_id = f"{raw.classname}.{raw.name}"
    else:
        case_id = _node_id(raw)
    return CaseResult(
        id=case_id,
        outcome=raw.outcome,
        message=message,
        exception=exception,
        detail=raw.detail,
        file=file,
        seconds=raw.seconds,
    )


def _node_id(raw: junit.RawCase) -> str:
    """pytest's node id from xunit1's attributes, where our plugin was not there to record it."""
    module = raw.file.removesuffix(".py").replace("/", ".")
    classes = raw.classname.removeprefix(module).strip(".")
    return "::".join(part for part in (raw.file, *classes.split("."), raw.name) if part)


def _path(name: str) -> str:
    return name if "/" in name or name.endswith(".py") else name.replace(".", "/") + ".py"


def _collection_error(raw: junit.RawCase) -> tuple[str, str]:
    if raw.kind:
        return junit.exception_and_message(raw)
    errors = _LAST_ERROR.findall(raw.detail)
    kind, _, text = (errors[-1] if errors else raw.message).partition(":")
    return kind.rpartition(".")[2].strip(), text.strip()[: junit.MESSAGE_CHARS]


def _stopped(result: CommandResult) -> str:
    if reached := suite.stopped(result):
        return reached
    too_long = _TOO_LONG.search(result.output)
    return too_long.group(1) if too_long else ""


def _foreign(
    plan: TestPlan, cases: tuple[CaseResult, ...], result: CommandResult
) -> tuple[tuple[CaseResult, ...], str]:
    """A command of the user's: its own exit code is a case too, where no test explains it."""
    if result.exit_code in (126, 127):
        return cases, f"the test command cannot be run: {_last_line(result.output) or plan.command}"
    fault = _import_fault(cases)
    if fault or (cases and (result.exit_code == 0 or any(case.failed for case in cases))):
        return cases, fault
    passed = result.exit_code == 0
    pseudo = CaseResult(
        id=plan.command,
        outcome="passed" if passed else "failed",
        message="" if passed else _last_line(result.output) or f"exit code {result.exit_code}",
        detail="" if passed else junit.cut(result.output, junit.DETAIL_CHARS),
        seconds=result.seconds,
    )
    return (*cases, pseudo), ""


def _without_report(plan: TestPlan, result: CommandResult, unreadable: str) -> str:
    output = result.output
    runner = python_command.runner_of(plan)
    if re.search(r"No module named '?pytest'?\b", output):
        return "pytest is not installed in the sandbox"
    if result.exit_code in (126, 127):
        return f"Python cannot be run in the sandbox: {_last_line(output)}"
    conftest = _CONFTEST.search(output)
    if conftest:
        missing = _MISSING.search(output)
        errors = _LAST_ERROR.findall(output)
        what = missing.group(1) if missing else errors[-1] if errors else "it cannot be imported"
        return f"{what}, imported by {conftest.group(1).rpartition('/')[2]}"
    usage = [a or b for a, b in _USAGE.findall(output)]
    if result.exit_code == 4 and usage:
        return f"{runner} refused its command line: {usage[-1]}"
    if unreadable:
        return f"the report of the tests cannot be read: {unreadable}"
    return f"the test run left no report: {_last_line(output) or f'exit code {result.exit_code}'}"


def _import_fault(cases: tuple[CaseResult, ...]) -> str:
    """What keeps a test file from being imported, where no change of the code under test would help."""
    for case in cases:
        if case.outcome != "error" or case.id != case.file:
            continue
        missing = _MISSING.search(case.detail) or _MISSING.search(f"{case.exception}: {case.message}")
        if missing:
            return f"{missing.group(1)}, imported by {case.file}"
        if case.exception.endswith(("SyntaxError", "IndentationError", "TabError")):
            places = re.findall(r'File "([^"]+)", line (\d+)', case.detail)
            if places and places[-1][0].replace("\\", "/").endswith(case.file):
                return f"{case.file} cannot be parsed: {case.exception} in line {places[-1][1]}"
    return ""


def _exit_fault(plan: TestPlan, cases: tuple[CaseResult, ...], result: CommandResult) -> str:
    runner = python_command.runner_of(plan)
    if not cases:
        return f"{runner} found no tests"
    if result.exit_code in _STARTED:
        return ""
    stopped = _STOPPED.search(result.output)
    why = stopped.group(0).strip(" !") if stopped else _last_line(result.output)
    return f"{runner} stopped with exit code {result.exit_code}: {why}"


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1][: junit.MESSAGE_CHARS] if lines else ""
