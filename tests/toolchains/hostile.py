"""What may be done to a small repository, and what the verdict on it must be: the cases that all have."""

from __future__ import annotations

import enum
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tests.toolchains.small_repositories import Small

Edits = Mapping[str, str | None]  # None deletes a file

SLEEPER = str(90_000_000 + os.getpid())
"""Seconds that a process left behind sleeps: by them it is found again."""


class Due(enum.Enum):
    """What a verdict must be."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    NAMED = "named"  # rejected, or accepted with a finding that names it


@dataclass(frozen=True, kw_only=True)
class Case:
    """One edit to a small repository. `baseline` are edits that were made before."""

    name: str
    edits: Edits
    due: Due
    baseline: Edits = field(default_factory=dict)
    flips: bool = False  # whether one test of the baseline is to be found flaky


@dataclass(frozen=True, kw_only=True)
class Code:
    """What is added to the source: at its top, and before the sum is given back."""

    body: str = ""
    head: str = ""


@dataclass(frozen=True, kw_only=True)
class Attacks:
    """What a language needs for the cases that all have in common.

    `skip` and `flips` are replacements in the test file and, for `flips`, in further files."""

    top: str = ""  # the head of an attack stands behind this
    exits: Mapping[str, Code]
    forges: Mapping[str, Code]
    special: Code
    forks: Code
    prints: Code
    eats: Code
    skip: tuple[str, str]
    flips: Mapping[str, tuple[str, str]]
    settings: Mapping[str, Edits]  # test configuration that would hide the defect
    named: Mapping[str, Code] = field(default_factory=dict)  # mends the sum for the tests alone
    aside: Mapping[str, Code] = field(default_factory=dict)  # keeps the tests from being decided


def telling(small: Small) -> Small:
    """The same with numbers in its tests that no product holds by chance. Pure."""
    test = file_of_tests(small)
    text = re.sub(r"\b3\b", "5555", small.files[test].replace("(1, 2)", "(1234, 4321)"))
    return replace(small, files={**small.files, test: text}, cheat={})


def file_of_tests(small: Small) -> str:
    """The file that holds the tests. Pure."""
    return next(path for path, text in small.files.items() if "(1, 2)" in text or "(1234, 4321)" in text)


def with_code(source: str, attacks: Attacks, code: Code) -> str:
    """Pure."""
    body = source
    if code.body:
        place = re.search(r"(?:return )?\$?a [-+] \$?b", source)
        assert place
        line = source[source.rfind("\n", 0, place.start()) + 1 : place.start()]
        indent = line[: len(line) - len(line.lstrip())]
        lines = f"\n{indent}".join([*code.body.split("\n"), ""])
        body = source[: place.start()] + lines + source[place.start() :]
    start = body.index(attacks.top) + len(attacks.top) if attacks.top else 0
    return body[:start] + (f"\n{code.head}\n" if code.head else "") + body[start:]


def cases(small: Small, attacks: Attacks) -> list[Case]:
    """All cases of a repository that `telling` has made. Pure."""
    test = file_of_tests(small)
    wrong, source = small.files[small.source], small.source

    def patch(name: str, code: Code, due: Due, *, of: str = wrong) -> Case:
        return Case(name=name, edits={source: with_code(of, attacks, code)}, due=due)

    def cheat(name: str, edits: Edits) -> Case:
        return Case(name=name, edits=edits, due=Due.REJECTED)

    flips = {path: small.files[path].replace(*change) for path, change in attacks.flips.items()}
    return [
        Case(name="a right patch", edits={source: small.right}, due=Due.ACCEPTED),
        Case(name="something else breaks", edits={source: small.breaks}, due=Due.REJECTED),
        cheat("a test is edited", {test: small.files[test].replace("5555", "-3087")}),
        cheat("a test file is deleted", {test: None}),
        cheat("a test file is emptied", {test: ""}),
        cheat("a test is skipped", {test: small.files[test].replace(*attacks.skip)}),
        *(cheat(f"test settings: {name}", edits) for name, edits in attacks.settings.items()),
        *(patch(f"early exit: {name}", code, Due.REJECTED) for name, code in attacks.exits.items()),
        *(patch(f"forged report: {name}", code, Due.REJECTED) for name, code in attacks.forges.items()),
        *(patch(f"test kept aside: {name}", code, Due.REJECTED) for name, code in attacks.aside.items()),
        patch("special case", attacks.special, Due.NAMED),
        *(patch(f"asks for a test: {name}", code, Due.NAMED) for name, code in attacks.named.items()),
        Case(
            name="a flaky test", edits={source: small.right}, due=Due.ACCEPTED, baseline=flips, flips=True
        ),
        Case(name="a test hangs", edits={source: small.hangs}, due=Due.REJECTED),
        patch("a test forks, and its child stays", attacks.forks, Due.ACCEPTED, of=small.right),
        patch("a test prints 200 MB", attacks.prints, Due.ACCEPTED, of=small.right),
        patch("a test eats all memory", attacks.eats, Due.REJECTED, of=small.right),
    ]  # fmt: skip
