"""Rust: `cargo test`, whose text is read, for its machine-readable report is not stable."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from acr_cli.protocols import CommandResult, Recipe, TestPlan
from acr_cli.records import CaseResult, SuiteReport
from acr_cli.toolchains import arguments, junit, rust_inline, suite, trees
from acr_cli.toolchains.python_detect import read_text, toml
from acr_cli.toolchains.suite import Left
from acr_cli.toolchains.tabled import Tabled
from acr_cli.toolchains.tables import table

_HAS_TESTS = re.compile(r"#\[(?:\w+::)*(?:test|rstest|test_case|quickcheck|wasm_bindgen_test)\b|proptest!")
_TARGET = re.compile(r"^\s*Running (?:unittests )?(\S+?\.rs )?\(?(\S+?)\)?$")
_DOCUMENTS = re.compile(r"^\s*Doc-tests (\S+)$")
_TEST = re.compile(r"^test (.+?) \.\.\. ?(ok|FAILED|ignored)?\b.*$")
_OUTCOME = re.compile(r"^(ok|FAILED|ignored)\b")
_SECTION = re.compile(r"^---- (.+?) stdout ----$")
_PANIC = re.compile(r"panicked at (?:'(?P<old>.*?)', )?(?P<file>[^\s:']+\.rs):\d+(?::\d+)?:?$", re.MULTILINE)
_LINE = re.compile(r" \(line \d+\)(.*)$")
_OUTCOMES = {"ok": "passed", "FAILED": "failed", "ignored": "skipped"}
_STOPPED = re.compile(
    r"^.*process didn't exit successfully.*\(signal: .*$|^error: (?!test failed|\d+ target).*$", re.MULTILINE
)
_PRELUDE = (
    "CARGO_HOME=$ACR_SCRATCH/cargo",
    'if [ -d "${ACR_DEPENDENCIES:-}/cargo" ]; then CARGO_HOME=$ACR_DEPENDENCIES/cargo; fi',
    "export CARGO_HOME",
)


class Rust(Tabled):
    """The toolchain of Rust; implements `protocols.Toolchain`. Stateless."""

    name = "rust"
    language = "rust"
    extensions = (".rs",)

    def recipe(self, tree: Path, *, setup: str | None) -> Recipe | None:
        """Fetches the crates that the manifests ask for; their targets stand there as empty files then."""
        manifests = [path for path in trees.walk(tree) if path.rpartition("/")[2] == "Cargo.toml"]
        if not manifests:
            return None
        files = [*manifests, *(path for path in trees.walk(tree) if path.rpartition("/")[2] == "Cargo.lock")]
        more = (".cargo/config.toml", ".cargo/config", "rust-toolchain", "rust-toolchain.toml", "vendor")
        files += [name for name in more if (tree / name).exists()]
        commands = [setup] if setup else list(_fetch(tree, manifests))
        home = 'export CARGO_HOME="$ACR_DEPENDENCIES/cargo"; '
        return Recipe(
            language=self.language,
            setup=tuple(home + c for c in commands),
            manifests=tuple(files),
            downloads=("cargo/registry", "cargo/git"),
        )

    def plan(self, tree: Path, *, command: str | None, tests: Sequence[str], scratch: str) -> TestPlan | None:
        """The user's command if there is one, else `cargo test` where the sources have tests."""
        if command:
            environment, words = suite.words_of(command)
            if environment or words[:2] not in (["cargo", "test"], ["cargo", "t"]):
                return self.foreign(command, scratch, prelude=_PRELUDE)
            runs = [_run("", _split(words[2:]), tests, command, "given by --test")]
        else:
            runs = list(_detected(tree, tests))
            task = None if runs else self.by_task(tree)
            runs += [task] if task else []
        if not runs:
            return None
        return suite.plan(runs, scratch, environment=self.environment(scratch), prelude=_PRELUDE)

    def with_tests_of(self, path: str, before: bytes, after: bytes, *, new_tests: bool) -> bytes:
        """See `protocols.KeepsInlineTests`; most tests of Rust stand beside what they test."""
        return rust_inline.restored(before, after, new_tests=new_tests) if path.endswith(".rs") else after

    def read(self, plan: TestPlan, report: bytes | None, result: CommandResult) -> SuiteReport:
        return suite.read(plan, report, result, {"cargo": read})


def _detected(tree: Path, tests: Sequence[str]) -> Iterator[suite.Run]:
    folders = trees.projects(tree, ["Cargo.toml"])
    folders = [""] if "" in folders else folders
    options, where = arguments.of_ci(tree, ("cargo", "test"), table("rust")["arguments"]["from_ci"])
    for folder in folders:
        files = [f for f in trees.files_of(tree, folder) if f.endswith(".rs")]
        test = next((f for f in files if _HAS_TESTS.search(read_text(tree, folder, f))), "")
        if not test:
            continue
        shown = f"{folder}/Cargo.toml" if folder else "Cargo.toml"
        is_workspace = "workspace" in toml(tree, folder, "Cargo.toml")
        words = options or (["--workspace"] if is_workspace else [])
        reason = f"{shown} is there, and tests as in {test}" + (f"; options as in {where}" if options else "")
        yield _run(folder, (words, []), tests, " ".join(["cargo test", *words]), reason)


def _split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The user's arguments for cargo and, after `--`, for the tests. Pure."""
    at = list(words).index("--") if "--" in words else len(words)
    dropped = table("rust")["arguments"]["dropped"]
    return arguments.kept(words[:at], dropped), arguments.kept(words[at + 1 :], dropped)


def _run(
    folder: str, words: tuple[list[str], list[str]], tests: Sequence[str], command: str, reason: str
) -> suite.Run:
    given, own = words
    # `--exact` takes the names of several tests, which cargo itself does not.
    names = [test.partition("::")[2] for test in tests if "::" in test and " - " not in test]
    own = [*own, "--exact", *names] if names else own
    base = f"cargo test --offline {shlex.join(given)}".rstrip()
    line = f"{base} --no-fail-fast" + (f" -- {shlex.join(own)}" if own else "")
    keep = "awk -v mere='^[^t ]' -f $ACR_SCRATCH/acr/acr_cut.awk > $ACR_REPORT/cargo.txt"
    return suite.Run(
        folder=folder,
        runner="cargo",
        build=(f"{base} --no-run",),
        build_name="cargo test --no-run",
        lines=(
            *suite.piped(f"{line} 2>&1", keep),
            "tail -c 20000 $ACR_REPORT/cargo.txt",
            'exit "$(cat $ACR_REPORT/code)"',
        ),
        command=command,
        reason=reason,
    )


# --- installing -------------------------------------------------------------------------------------------


def _fetch(tree: Path, manifests: Sequence[str]) -> Iterator[str]:
    documents = {path: toml(tree, path) for path in manifests}
    if not any(map(_asks, documents.values())):
        return
    for path, document in documents.items():
        folder = path.rpartition("/")[0] or "."
        targets = sorted({f"{folder}/{target}" for target in _targets(document)})
        for target in targets:
            place, inside = shlex.quote(target), shlex.quote(target.rpartition("/")[0])
            yield f"mkdir -p {inside}; [ -e {place} ] || echo 'fn main() {{}}' > {place}"
    roots = [""] if (tree / "Cargo.toml").is_file() else trees.projects(tree, ["Cargo.toml"])
    for root in roots:
        locked = " --locked" if (tree / root / "Cargo.lock").is_file() else ""
        yield f"cd ./{shlex.quote(root)} && cargo fetch{locked}" if root else f"cargo fetch{locked}"


def _asks(document: dict[str, Any]) -> bool:
    """Whether anything but paths is depended on."""
    tables = [document, *(v for v in _table(document, "target").values() if isinstance(v, dict))]
    tables.append(_table(document, "workspace"))
    kinds = ("dependencies", "dev-dependencies", "build-dependencies")
    entries = [entry for each in tables for kind in kinds for entry in _table(each, kind).values()]
    return any(
        not (isinstance(entry, dict) and ("path" in entry or "workspace" in entry)) for entry in entries
    )


def _targets(document: dict[str, Any]) -> Iterator[str]:
    if "package" in document:
        yield "src/lib.rs"
    build = _table(document, "package").get("build")
    if isinstance(build, str):
        yield build
    named = [
        _table(document, "lib"),
        *(t for k in ("bin", "test", "bench", "example") for t in _list(document, k)),
    ]
    for target in named:
        path = target.get("path")
        if isinstance(path, str) and ".." not in path and not path.startswith("/"):
            yield path


def _table(parent: dict[str, Any], key: str) -> dict[str, Any]:
    value = parent.get(key)
    return value if isinstance(value, dict) else {}


def _list(parent: dict[str, Any], key: str) -> list[dict[str, Any]]:
    value = parent.get(key)
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


# --- the report -------------------------------------------------------------------------------------------


def read(left: Left) -> tuple[list[CaseResult], str]:
    """cargo's text: a line a test, and a section for each that failed."""
    text = left.text("cargo.txt")
    outcomes, sections = _scan(text)
    cases = [_case(left, key, outcome, sections.get(key, "")) for key, outcome in outcomes.items()]
    if left.code and not any(case.failed for case in cases):
        wrong = _STOPPED.search(text) or _STOPPED.search(left.output)
        said = wrong.group(0).strip() if wrong else suite.last_line(text or left.output)
        return cases, f"cargo test stopped: {said}"[: junit.MESSAGE_CHARS]
    return cases, ""


_Key = tuple[str, str, str]  # target, file, test


def _scan(text: str) -> tuple[dict[_Key, str], dict[_Key, str]]:
    outcomes: dict[_Key, str] = {}
    sections: dict[_Key, str] = {}
    target, file, pending = "", "", ""
    numbers: dict[tuple[str, str], int] = {}
    renamed: dict[str, str] = {}  # of documents, whose line numbers move with every change
    lines = text.splitlines()
    for at, line in enumerate(lines):
        running, documents, test = _TARGET.match(line), _DOCUMENTS.match(line), _TEST.match(line)
        section, outcome = _SECTION.match(line), _OUTCOME.match(line)
        if running:
            target = re.sub(r"-[0-9a-f]{16}$", "", running.group(2).rpartition("/")[2])
            file, pending, renamed = (running.group(1) or "").strip(), "", {}
        elif documents:
            target, file, pending, renamed = f"{documents.group(1)} (documentation)", "", "", {}
        elif test:
            name = _stable(test.group(1), target, numbers)
            renamed[test.group(1)] = pending = name
            outcomes[target, file, name] = _OUTCOMES.get(test.group(2) or "", "failed")
            pending = "" if test.group(2) else name
        elif outcome and pending:
            outcomes[target, file, pending], pending = _OUTCOMES[outcome.group(1)], ""
        elif section:
            sections[target, file, renamed.get(section.group(1), section.group(1))] = _body(lines, at + 1)
    return outcomes, sections


def _stable(name: str, target: str, numbers: dict[tuple[str, str], int]) -> str:
    """A name without what another test above it would change: the line of a document, "should panic"."""
    found = _LINE.search(name)
    if not found:
        return name.removesuffix(" - should panic")
    bare = name[: found.start()]
    numbers[target, bare] = numbers.get((target, bare), 0) + 1
    return f"{bare} #{numbers[target, bare]}"


def _body(lines: Sequence[str], start: int) -> str:
    body: list[str] = []
    for line in lines[start:]:
        if _SECTION.match(line) or line in ("failures:", "successes:"):
            break
        body.append(line)
    return "\n".join(body).strip("\n")


def _case(left: Left, key: _Key, outcome: str, detail: str) -> CaseResult:
    target, file, name = key
    case_id = f"{target}::{name}"
    if outcome != "failed":
        return CaseResult(id=case_id, outcome=outcome, file=left.path(file) if file else "")
    panic = _PANIC.search(detail)
    after = detail[panic.end() :].strip().splitlines() if panic else detail.strip().splitlines()
    said = (panic.group("old") if panic else "") or (after[0] if after else "")
    return CaseResult(
        id=case_id,
        outcome=outcome,
        message=said.strip()[: junit.MESSAGE_CHARS] or "it failed",
        exception="panic" if panic else "",
        detail=junit.cut(detail, junit.DETAIL_CHARS) or "it printed nothing",
        file=left.path(panic.group("file") if panic and not file else file) if file or panic else "",
    )
