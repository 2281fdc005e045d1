"""The help: every command says what it takes, and ends with examples that are right."""

from __future__ import annotations

import shlex

import pytest

from acr_cli.cli.app import COMMANDS, SECTIONS, root
from acr_cli.cli.completion import Node, tree
from acr_cli.cli.examples import EXAMPLES

LEAVES = [node for node in tree().walk() if not node.children]


def named(node: Node) -> str:
    return " ".join(node.path[1:])


@pytest.mark.parametrize("node", LEAVES, ids=named)
def test_the_help_of_a_command_ends_with_examples(acr, node: Node) -> None:
    text = acr(*node.path[1:], "-h").stdout
    (_, _, end) = text.rpartition("\nExample")
    assert [line.strip() for line in end.splitlines()[1:]] == list(EXAMPLES[named(node)])
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("node", LEAVES, ids=named)
def test_an_example_is_a_call_of_its_command(node: Node) -> None:
    for line in EXAMPLES[named(node)]:
        program, *words = shlex.split(line.partition(" > ")[0])
        assert program == "acr"
        assert words[: len(node.path) - 1] == list(node.path[1:])
        command = root()
        for name in node.path[1:]:
            command = command.commands[name]
        command.make_context(named(node), words[len(node.path) - 1 :])  # raises where it does not parse


def test_there_are_no_examples_of_other_commands() -> None:
    assert set(EXAMPLES) == {named(node) for node in LEAVES}


def test_every_command_stands_in_one_section() -> None:
    names = [name for section in SECTIONS.values() for name in section]
    assert sorted(names) == sorted(COMMANDS)


def test_the_first_help_fits_on_a_screen(acr) -> None:
    lines = acr("-h").stdout.splitlines()
    assert len(lines) <= 23
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("name", ["memory", "models", "runs", "config"])
def test_no_line_of_a_list_is_cut_off(acr, name: str) -> None:
    text = " ".join(acr(name, "-h").stdout.split())
    assert "..." not in text.partition("Commands:")[2]
    for node in tree().walk():
        if node.path[1:2] == (name,) and not node.children:
            assert " ".join(node.help.split()) in text


def test_help_is_a_word_too(acr) -> None:
    assert acr("help").stdout == acr("-h").stdout
    assert acr("help", "memory", "list").stdout == acr("memory", "list", "-h").stdout


def test_fix_explains_its_policies_and_exit_codes(acr) -> None:
    text = " ".join(acr("fix", "-h").stdout.split())
    for words in ("a weighted vote", "the cheapest first", "Exit codes: 0 fixed", "130 interrupted"):
        assert words in text
