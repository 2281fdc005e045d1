"""Which runner tests a project of JavaScript or TypeScript, and with which arguments; nothing is run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from acr_cli.toolchains import suite, trees
from acr_cli.toolchains.python_detect import read_text
from acr_cli.toolchains.python_tables import matches
from acr_cli.toolchains.tables import table

_NODE_TEST = re.compile(r"""["']node:test["']""")
_CHAIN = re.compile(r"(?<!\s)\s*&&\s*")
_DEEP = 4  # scripts that name scripts


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """The tests of one project. `runner` is `suite.BY_EXIT_CODE` for a script that no reader knows."""

    folder: str
    runner: str
    reason: str
    words: tuple[str, ...]  # the program and its arguments, without what the table drops
    command: str  # as a person would type it
    before: tuple[str, ...] = ()  # steps of the script that come before the runner
    environment: dict[str, str] = field(default_factory=dict)


def detect(tree: Path) -> list[Found]:
    """The tests of all projects, the root's first."""
    known = table("javascript")["detect"]
    folders = trees.projects(tree, known["manifests"])
    found = [project for folder in folders if (project := _project(tree, folder, folders)) is not None]
    return found if folders else list(_bare(tree))


def _project(tree: Path, folder: str, folders: Sequence[str]) -> Found | None:
    manifest = trees.load_json(tree, folder, "package.json")
    shown = f"{folder}/package.json" if folder else "package.json"
    scripts = {k: v for k, v in _object(manifest, "scripts").items() if isinstance(v, str)}
    other: Found | None = None
    for name in table("javascript")["detect"]["scripts"]:
        if name not in scripts or table("javascript")["detect"]["no_tests"] in scripts[name]:
            continue
        made = of_script(folder, name, scripts, f"{shown} has a script {name!r}")
        if made.runner != suite.BY_EXIT_CODE:
            return made
        other = other or made
    return other or _configured(tree, folder, manifest, folders)


def _configured(tree: Path, folder: str, manifest: dict[str, Any], folders: Sequence[str]) -> Found | None:
    """The runner that a configuration or a dependency names, where there are tests for it."""
    known = table("javascript")["detect"]
    files = trees.files_of(tree, folder, others=folders)
    tests = [
        f for f in files if matches(f.rpartition("/")[2], known["test_files"]) or "/__tests__/" in f"/{f}"
    ]
    if not tests:
        return None
    for runner, pattern, key in known["configuration"]:
        file = next((f for f in files if matches(f, [pattern])), "")
        if file or (key and key in manifest):
            return _plain(folder, runner, f"{file or 'package.json'} configures {runner}")
    for test in tests:
        if _NODE_TEST.search(read_text(tree, folder, test)):
            return _plain(folder, "node", f"{test} uses node:test")
    dependencies = _object(manifest, "devDependencies") | _object(manifest, "dependencies")
    runner = next((name for name in ("vitest", "jest", "mocha") if name in dependencies), "")
    return _plain(folder, runner, f"package.json depends on {runner}") if runner else None


def _bare(tree: Path) -> Iterator[Found]:
    """Tests without any package.json."""
    names = table("javascript")["detect"]["test_files"]
    for path in trees.walk(tree):
        if matches(path.rpartition("/")[2], names) and _NODE_TEST.search(read_text(tree, path)):
            yield _plain("", "node", f"{path} uses node:test")
            return


def _plain(folder: str, runner: str, reason: str) -> Found:
    words = ("node", "--test") if runner == "node" else (runner,)
    return Found(folder=folder, runner=runner, reason=reason, words=words, command=_shown(runner))


def _shown(runner: str) -> str:
    return "node --test" if runner == "node" else f"npx {runner}"


def of_script(folder: str, name: str, scripts: dict[str, str], reason: str) -> Found:
    """What a script of package.json runs, followed through the scripts that it names."""
    shown = "npm test" if name == "test" else f"npm run {name}"
    before: list[str] = []
    left_out = f"post{name}" in scripts
    steps = [s for each in (f"pre{name}", name) if each in scripts for s in _CHAIN.split(scripts[each])]
    for _ in range(_DEEP):
        followed: list[str] = []
        for step in steps:
            target = _named_script(step)
            if _needless(step):
                left_out = True
                continue
            followed += _CHAIN.split(scripts[target]) if target in scripts else [step]
        if followed == steps:
            break
        steps = followed
    for step in steps:
        made = recognise(folder, step, reason=reason, shown=shown)
        if made is not None:
            return Found(
                folder=folder, runner=made.runner, reason=reason, words=made.words, command=shown,
                before=tuple(before), environment=made.environment,
            )  # fmt: skip
        before.append(step)
    reason = f"{reason}; its exit code decides"
    # Linters and audits beside the tests would fail without network, or decide in their place.
    words = _as_one(before) if left_out and before else tuple(shown.split())
    return Found(folder=folder, runner=suite.BY_EXIT_CODE, reason=reason, words=words, command=shown)


def _as_one(steps: Sequence[str]) -> tuple[str, ...]:
    """The steps of a script as one command for sh. Pure."""
    parts = [f"({step})" if re.search(r"[;|]", step) else step for step in steps]
    return (parts[0] if len(parts) == 1 else f"({' && '.join(parts)})",)


def _named_script(step: str) -> str:
    _, words = suite.words_of(step)
    if len(words) >= 2 and words[0] in ("npm", "pnpm", "yarn", "bun"):
        rest = [word for word in words[1:] if word not in ("run", "run-script", "-s", "--silent", "--")]
        return "test" if rest[:1] in (["t"], ["test"]) else rest[0] if len(rest) == 1 else ""
    return ""


def _needless(step: str) -> bool:
    known = table("javascript")["detect"]
    _, words = suite.words_of(_quote_globs(step))
    words = [w for w in words if w not in known["wrappers"]]
    if not words:
        return False
    if PurePosixPath(words[0]).name in known["not_needed"] or words[:2] == ["tsc", "--noEmit"]:
        return True
    return re.search(known["not_needed_scripts"], _named_script(step) or "-") is not None


def recognise(folder: str, command: str, *, reason: str, shown: str) -> Found | None:
    """A single command as a runner that leaves a report; None for anything else. Pure."""
    known = table("javascript")["detect"]
    environment, words = suite.words_of(_quote_globs(command))
    while words and words[0] in known["wrappers"]:
        words = words[1:]
        while words and words[0].startswith("-"):  # its own options
            words = words[1:]
        while words and re.match(r"[A-Za-z_]\w*=", words[0]):
            name, _, value = words.pop(0).partition("=")
            environment[name] = value
    if not words:
        return None
    at = next((n for n, word in enumerate(words) if _runner(word) not in (None, "node")), -1)
    if at < 0 and _runner(words[0]) == "node" and "--test" in words:
        return Found(
            folder=folder,
            runner="node",
            reason=reason,
            words=_kept("node", words),
            command=shown,
            environment=environment,
        )
    launched = at == 0 or (at > 0 and _runner(words[0]) == "node")
    runner = _runner(words[at]) if launched else None
    if not runner:
        return None
    kept = (*words[: at + 1], *_kept(runner, words[at + 1 :]))
    return Found(
        folder=folder, runner=runner, reason=reason, words=kept, command=shown, environment=environment
    )


def _quote_globs(command: str) -> str:
    """Words with wildcards in quotes, so that they pass as plain words. Pure."""
    return re.sub(
        r"(?<!\S)([^\s'\"|&;<>()$`]*[*?{}~][^\s'\"|&;<>()$`]*)(?!\S)", r"'\1'", command.replace('"', "'")
    )


def _runner(word: str) -> str | None:
    found: str | None = table("javascript")["detect"]["programs"].get(PurePosixPath(word).name)
    return found


def _kept(runner: str, words: Sequence[str]) -> tuple[str, ...]:
    """The user's arguments without those that watch, colour, measure coverage or report elsewhere. Pure."""
    dropped = table("javascript")["runners"][runner]["dropped"]
    kept, skip = [], 0
    for word in words:
        if skip:
            skip -= 1
            continue
        name, equals, _ = word.partition("=")
        if name in dropped:
            skip = 0 if equals else dropped[name]
        elif not name.startswith("--coverage"):
            kept.append(word)
    return tuple(kept)


def line(found: Found) -> str:
    """The command for sh that runs all tests of a project and leaves its report. Pure."""
    options = table("javascript")["runners"][found.runner]["options"]
    words = list(found.words)
    verb = ["run"] if found.runner == "vitest" else []
    quoted = [_spread(found.runner, word) for word in words]
    ours = [f'"{option}"' for option in options]
    if found.runner == "node":
        at = words.index("--test") + 1
        quoted = [*quoted[:at], *ours, *quoted[at:]]
        ours = []
    if (
        PurePosixPath(words[0]).name in ("react-scripts", "react-app-rewired", "craco")
        and "test" not in words
    ):
        verb = ["test"]
    at = next((n for n, word in enumerate(words) if _runner(word) == found.runner), 0) + 1
    given = [f"{name}={shlex.quote(value)}" for name, value in found.environment.items()]
    return " ".join([*given, *quoted[:at], *verb, *quoted[at:], *ours])


def _spread(runner: str, word: str) -> str:
    """A word for sh; node's own runner has left the spreading of `*` to the shell for long. Pure."""
    plain_glob = runner == "node" and "**" not in word and re.fullmatch(r"[\w./*?@-]+", word)
    return word if plain_glob else shlex.quote(word)


def _object(parent: dict[str, Any], key: str) -> dict[str, Any]:
    value = parent.get(key)
    return value if isinstance(value, dict) else {}
