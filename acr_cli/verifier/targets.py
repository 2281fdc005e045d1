"""Which failing tests a run is to fix: those that the task or its log names, else all of them.

But for those that no change of the code can help, since the sandbox lacks something: the network, a locale.
Taken as targets, they would keep a run from ever being done.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from acr_cli.records import CaseResult, Task

_LOG_LINE = re.compile(
    r"^(?:E\s+)?(?:FAILED|ERROR|FAIL|XPASS)\b:?\s+(\S.*?)(?:(?<!\s)\s+-\s.*)?$", re.MULTILINE
)
_LOG_HEADER = re.compile(r"^_{3,} (?:ERROR (?:at \w+ of|collecting) )?(\S+) _{3,}$", re.MULTILINE)
_UNITTEST = re.compile(r"^(\w+) \(([\w.]+)\)")
_NODE_ID = re.compile(r"(?<![\w./\\-])[\w./\\-]+\.py(?:::[\w.-]+(?:\[[^\]\n]*\])?)+")
_WORD = re.compile(r"[A-Za-z_][\w.]*")
_FILE = re.compile(r"(?<![\w./\\-])[\w./\\-]+\.py\b")

_LACKING = {
    "the network": re.compile(
        r"\bgaierror\b|Temporary failure in name resolution|Name or service not known|Network is unreachable"
        r"|nodename nor servname|\bNameResolutionError\b|Could not resolve host"
    ),
    "a locale that is not installed": re.compile(r"\bunsupported locale setting\b"),
}
"""What a sandbox may lack, and what a test that needs it says."""
_LAST_WORDS = 1500  # characters of a traceback that say how it ended


@dataclass(frozen=True, kw_only=True, slots=True)
class Targets:
    """The ids to fix, and a sentence for the user where his words did not decide."""

    ids: tuple[str, ...]
    note: str = ""


def choose(task: Task, cases: Sequence[CaseResult]) -> Targets:
    """Targets among the cases of the baseline, in their order. Pure."""
    failing = [case.id for case in cases if case.failed]
    wanted = named(task, cases)
    chosen = tuple(i for i in failing if i in wanted)
    if chosen:
        return Targets(ids=chosen)
    if not wanted:
        return _possible([case for case in cases if case.failed])
    shown = ", ".join(sorted(wanted)[:3])
    verb = "passes" if len(wanted) == 1 else "pass"
    return Targets(ids=tuple(failing), note=f"{shown}, named by the task, {verb} before any change.")


def _possible(failing: Sequence[CaseResult]) -> Targets:
    """All of them but those that lack something, if any is left."""
    needs = {case.id: need for case in failing if (need := lacking(case))}
    left = tuple(case.id for case in failing if case.id not in needs)
    if not needs or not left:
        return Targets(ids=left or tuple(needs))
    what = " or ".join(sorted(set(needs.values())))
    many = f"{len(needs)} failing tests need" if len(needs) > 1 else f"{next(iter(needs))} needs"
    return Targets(ids=left, note=f"{many} {what}, which the sandbox has not: no target of this run.")


def lacking(case: CaseResult) -> str:
    """What the sandbox lacks for this test, as far as its failure says so; "" for any other failure. Pure."""
    said = "\n".join([f"{case.exception}: {case.message}", case.detail[-_LAST_WORDS:]])
    return next((need for need, words in _LACKING.items() if words.search(said)), "")


def named(task: Task, cases: Sequence[CaseResult]) -> frozenset[str]:
    """Ids of the tests that the text or the log names; of a log, its lines of failures first. Pure."""
    in_log = _log_names(task.log)
    found = {c.id for c in cases if any(_same(c, name) for name in in_log)}
    texts = [task.text] + ([task.log] if not found else [])
    for text in texts:
        found |= _by_name(text, cases)
    if not found:
        for text in texts:
            found |= _by_file(text, cases)
    return frozenset(found)


def _log_names(log: str) -> list[str]:
    names = []
    for raw in [*_LOG_LINE.findall(log), *_LOG_HEADER.findall(log)]:
        unittest = _UNITTEST.match(raw)
        if unittest:  # "test_b (m.TestA)" before Python 3.11, "test_b (m.TestA.test_b)" since
            method, place = unittest.groups()
            names.append(place if place.endswith("." + method) else f"{place}.{method}")
        else:
            names.append(raw.strip())
    return names


def _by_name(text: str, cases: Iterable[CaseResult]) -> set[str]:
    """Node ids, dotted ids, and bare names of test functions that stand in the text as whole words."""
    node_ids = [name.replace("\\", "/") for name in _NODE_ID.findall(text)]
    # A name inside a node id names that test only, not its namesakes in other files.
    rest = _NODE_ID.sub(" ", text)
    words = {word.strip(".") for word in _WORD.findall(rest)}
    tails = {word.rpartition(".")[2] for word in words if "." not in word}
    found = set()
    for case in cases:
        bare = _function(case.id)
        is_test = bare.lower().startswith("test") and len(bare) > len("test")
        if (
            any(_same(case, name) for name in node_ids)
            or case.id in text
            or (is_test and (bare in tails or any("." in word and _same(case, word) for word in words)))
        ):
            found.add(case.id)
    return found


def _by_file(text: str, cases: Iterable[CaseResult]) -> set[str]:
    files = [name.replace("\\", "/").lstrip("./") for name in _FILE.findall(text)]
    return {c.id for c in cases if c.file and any(_tail(c.file, f, "/") for f in files)}


def _same(case: CaseResult, name: str) -> bool:
    """Whether a name as it was written stands for this case: whole, a tail, no parameters, or its class."""
    bare = _dotted(without_parameters(case.id))
    if "[" in name:
        return name == case.id or _tail(_dotted(case.id), _dotted(name), ".")
    return _tail(bare, _dotted(name), ".") or bare.startswith(_dotted(name) + ".")


def without_parameters(case_id: str) -> str:
    """The id of a test as it is for all its parameters. Pure."""
    return case_id.partition("[")[0] if case_id.endswith("]") else case_id


def _dotted(name: str) -> str:
    """Node ids and dotted ids in one spelling."""
    return (
        re.sub(r"\.py(?=::|$)", "", name.replace("\\", "/")).replace("::", ".").replace("/", ".").strip(".")
    )


def _tail(one: str, other: str, separator: str) -> bool:
    """Equal, or one is the end of the other, cut at a separator."""
    return one == other or one.endswith(separator + other) or other.endswith(separator + one)


def _function(case_id: str) -> str:
    bare = without_parameters(case_id)
    return re.split(r"::|\.", bare)[-1] if not bare.endswith(".py") else ""
