"""What the documents point to is there, and what they say of the code is so."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

from acr_cli.cli.app import root
from acr_cli.settings.sources import load
from tests.docs.pages import DOCS, ROOT, Block, blocks, every, without_code

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
TAGS = {
    "sh",
    "sh make",
    "sh install",
    "sh model",
    "sh bench",
    "toml config",
    "toml pyproject",
    "python",
    "text",
}


def anchors(page: Path) -> set[str]:
    """The names that a heading has as a link's target."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    lost = []
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if target.startswith(("http://", "https://")):
            continue
        file, _, anchor = target.partition("#")
        there = (page.parent / file).resolve() if file else page
        if not there.is_relative_to(ROOT) or not there.exists() or (anchor and anchor not in anchors(there)):
            lost.append(target)
    assert lost == []


def test_every_page_is_reached_from_the_readme() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    linked = {(ROOT / target.partition("#")[0]).resolve() for target in LINK.findall(text)}
    assert {page for page in DOCS if page.name not in ("README.md", "settings.md")} <= linked


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_every_block_says_what_it_is(page: Path) -> None:
    assert [str(block) for block in blocks(page) if block.tag not in TAGS] == []


def test_every_target_of_make_that_is_named_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    named = {
        target
        for page in DOCS
        for line in re.findall(
            r"(?:`|^)make ((?:[a-z][a-z-]*\b ?)+)", page.read_text(encoding="utf-8"), re.MULTILINE
        )
        for target in line.split()
    }
    assert named
    assert named - targets == set()


def parsed(words: list[str]) -> None:
    """Reads a command line as the program would, and runs nothing. Raises: the parser's own errors."""
    command: Any = root()
    context = command.make_context("acr", words, resilient_parsing=False)
    while getattr(command, "commands", None):
        name, command, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        context = command.make_context(name, rest, parent=context, resilient_parsing=False)


COMMANDS = [
    pytest.param(line, id=f"{block}-{number}")
    for block in every("sh", "sh model", "sh bench")
    for number, line in enumerate(block.text.splitlines())
    if re.search(r"(^|\| )acr ", line)
]


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_line_is_one_that_acr_understands(line: str) -> None:
    words = shlex.split(line, comments=True)
    words = words[words.index("acr") + 1 :]
    parsed(words[: words.index(">")] if ">" in words else words)


def test_every_command_in_the_text_exists() -> None:
    commands = root().commands
    unknown = []
    for page in DOCS:
        for words in re.findall(r"`acr ([a-z]+(?: [a-z]+)?)", without_code(page.read_text(encoding="utf-8"))):
            first, _, second = words.partition(" ")
            below = getattr(commands.get(first), "commands", None)
            if first not in (*commands, "help") or (second and below is not None and second not in below):
                unknown.append(f"{page.name}: acr {words}")
    assert unknown == []


@pytest.mark.parametrize("block", every("toml config"), ids=str)
def test_every_configuration_is_read_without_a_warning(block: Block, tmp_path: Path) -> None:
    if block.page == "extending.md":
        return  # its parts are installed in test_extending
    (tmp_path / "config.toml").write_text(block.text)
    loaded = load(where=tmp_path, config=tmp_path / "config.toml", flags={})
    assert list(loaded.warnings) == []
    assert {key: origin for key, origin in loaded.settings.origins.items() if "config.toml" in str(origin)}


def test_the_architecture_page_has_the_import_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(one["layers"] for one in contracts if one["type"] == "layers")
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert "".join(f"    {re.sub(r'[()]', '', layer)}\n" for layer in layers) in page
    table = page[page.index("| where |") : page.index("## Imports")]
    for module in re.findall(r"\w+", " ".join(layers)):
        assert f"`{module}`" in table, f"{module} is not explained"


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_every_file_of_the_code_that_is_named_exists(page: Path) -> None:
    named = re.findall(r"`((?:tests|acr_cli|docs)/[\w/.-]+)`", page.read_text(encoding="utf-8"))
    assert [name for name in named if not (ROOT / name).exists()] == []
