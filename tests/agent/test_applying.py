"""Edits in files: matching, refusals, and bytes that must not change."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acr_cli.agent import matching
from acr_cli.agent.applying import apply_edits
from acr_cli.agent.matching import rewritten
from acr_cli.errors import BadReply, PathRefused
from acr_cli.protocols import Edit

SOURCE = b"def f(x):\n    if x > 0:\n        return 1\n    return 0\n\n\ndef g(x):\n    return 0\n"


def replaced(source: bytes, search: str, new: str, **how: object) -> bytes:
    return matching.replaced(source, search, new, **how).content


def anything(path: str) -> None:
    """No path is refused."""


def test_whole_lines_are_matched_exactly() -> None:
    assert replaced(SOURCE, "    if x > 0:\n", "    if x >= 0:\n") == SOURCE.replace(b"x > 0", b"x >= 0")


def test_a_part_of_a_line_is_no_whole_line() -> None:
    with pytest.raises(BadReply, match="does not stand"):
        replaced(b"max = 1\n", "x = 1", "x = 2")


def test_inline_replaces_within_a_line() -> None:
    assert replaced(SOURCE, "x > 0", "x >= 0", inline=True) == SOURCE.replace(b"x > 0", b"x >= 0")


@pytest.mark.parametrize("inline", [True, False])
def test_two_places_are_refused_with_their_lines(inline) -> None:
    with pytest.raises(BadReply, match="2 places, from lines 4, 8"):
        replaced(SOURCE, "    return 0\n", "    return 2\n", inline=inline)


def test_two_places_within_lines_are_refused() -> None:
    with pytest.raises(BadReply, match="2 places, from lines 1, 2"):
        replaced(b"a = b\nb = a\n", "b", "c", inline=True)


def test_a_miss_shows_what_stands_there() -> None:
    with pytest.raises(BadReply, match="2:     if x > 0:"):
        replaced(SOURCE, "    if x < 0:\n", "    if x <= 0:\n")


def test_a_miss_in_a_long_file_shows_the_likely_place() -> None:
    source = "".join(f"line {n}\n" for n in range(1000)).encode()
    with pytest.raises(BadReply) as caught:
        replaced(source, "line 700\nline 7O1\nline 702\n", "x\n")
    assert "702: line 701" in caught.value.message
    assert len(caught.value.message.splitlines()) < 70


def test_trailing_white_space_is_forgiven_and_kept_on_lines_that_stay() -> None:
    source = b"a = 1  \nb = 2\t\nc = 3\n"
    assert replaced(source, "a = 1\nb = 2\n", "a = 1\nb = 5\n") == b"a = 1  \nb = 5\nc = 3\n"


@pytest.mark.parametrize(
    ("search", "replace"),
    [
        ("if x > 0:\n    return 1\n", "if x >= 0:\n    return 1\n"),
        ("        if x > 0:\n            return 1\n", "        if x >= 0:\n            return 1\n"),
    ],
)
def test_a_uniform_shift_of_the_indentation_is_forgiven(search, replace) -> None:
    assert replaced(SOURCE, search, replace) == SOURCE.replace(b"x > 0", b"x >= 0")


def test_an_uneven_shift_is_refused() -> None:
    with pytest.raises(BadReply):
        replaced(SOURCE, "if x > 0:\n        return 1\n", "if x >= 0:\n        return 1\n")


def test_an_empty_search_is_refused() -> None:
    with pytest.raises(BadReply, match="search text is empty"):
        replaced(SOURCE, " \n", "x\n")


def test_line_ends_stay_as_they_are() -> None:
    assert replaced(b"a\r\nb\r\nc\r\n", "b\n", "b\nB\n") == b"a\r\nb\r\nB\r\nc\r\n"
    assert replaced(b"a\r\nb\nc\r\n", "a\nb\nc\n", "a\nb\nx\n") == b"a\r\nb\nx\r\n"
    assert replaced(b"a\r\nb\r\n", "a\nb", "x\ny", inline=True) == b"x\r\ny\r\n"


def test_a_missing_last_newline_stays_missing() -> None:
    assert replaced(b"a\nb", "b\n", "c\n") == b"a\nc"
    assert replaced(b"a\nb", "b\n", "b\nc\n") == b"a\nb\nc"


def test_byte_order_mark_and_latin_1_are_kept() -> None:
    assert replaced(b"\xef\xbb\xbfa\nb\n", "a\n", "x\n") == b"\xef\xbb\xbfx\nb\n"
    assert replaced(b"# caf\xe9\na\n", "a\n", "\xfc\n") == b"# caf\xe9\n\xfc\n"
    with pytest.raises(BadReply, match="Latin-1"):
        replaced(b"# caf\xe9\na\n", "a\n", "\u20ac\n")


@pytest.mark.parametrize("source", [b"\x7fELF\0\0a\n", "a\n".encode("utf-32")])
def test_a_binary_file_is_refused(source) -> None:
    with pytest.raises(BadReply, match="binary"):
        replaced(source, "a\n", "b\n")


def test_a_whole_file_keeps_its_ways() -> None:
    assert rewritten(b"\xef\xbb\xbfa\r\nb\r\n", "a\nc\n") == b"\xef\xbb\xbfa\r\nc\r\n"
    assert rewritten(b"a\nb", "a\nc\n") == b"a\nc"


LINES = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n\r\0"), max_size=8), max_size=6)
ENDS = st.sampled_from(["\n", "\r\n"])


@given(parts=st.tuples(LINES, LINES, LINES), new=LINES, end=ENDS, bom=st.booleans(), inline=st.booleans())
def test_bytes_outside_the_hunk_never_change(parts, new, end, bom, inline) -> None:
    before, hunk, after = parts
    head, tail = ("".join(line + end for line in part).encode() for part in (before, after))
    head = b"\xef\xbb\xbf" * bom + head
    source = head + "".join(line + end for line in hunk).encode() + tail
    try:
        result = replaced(source, "\n".join(hunk) + "\n", "\n".join(new) + "\n", inline=inline)
    except BadReply:
        return  # empty, or in two places
    assert result.startswith(head)
    assert result.endswith(tail)
    middle = result[len(head) : len(result) - len(tail)]
    assert middle == "".join(line + end for line in (new or [""])).encode()


@given(source=st.binary(max_size=60), search=st.text(max_size=10), replace=st.text(max_size=10))
def test_any_bytes_are_edited_or_refused(source, search, replace) -> None:
    with suppress(BadReply):
        assert isinstance(replaced(source, search, replace, inline=True), bytes)


# --- in a tree --------------------------------------------------------------------------------------------


def test_edits_are_written_all_or_none(tree) -> None:
    good = Edit(path="a.py", search="x = 1\n", replace="x = 2\n")
    with pytest.raises(BadReply):
        apply_edits(tree, [good, Edit(path="b.py", search="nothing\n", replace="x\n")], check=anything)
    assert (tree.root / "a.py").read_bytes() == b"x = 1\n"
    assert apply_edits(tree, [good], check=anything).paths == ("a.py",)
    assert (tree.root / "a.py").read_bytes() == b"x = 2\n"


def test_two_edits_of_one_file_follow_each_other(tree) -> None:
    first = Edit(path="a.py", search="x = 1\n", replace="x = 2\ny = 3\n")
    apply_edits(tree, [first, Edit(path="./a.py", search="y = 3\n", replace="y = 4\n")], check=anything)
    assert (tree.root / "a.py").read_bytes() == b"x = 2\ny = 4\n"


def test_files_are_made_and_deleted(tree) -> None:
    apply_edits(
        tree,
        [Edit(path="new/c.py", search="", replace="z = 1\n"), Edit(path="a.py", replace=None)],
        check=anything,
    )
    assert (tree.root / "new/c.py").read_bytes() == b"z = 1\n"
    assert not (tree.root / "a.py").exists()


def test_a_move_to_below_a_file_is_refused_and_undone(tree) -> None:
    with pytest.raises(PathRefused, match="cannot be written"):
        apply_edits(tree, [Edit(path="b.py", target="a.py/p", replace=None)], check=anything)
    assert (tree.root / "a.py").read_bytes() == b"x = 1\n"
    assert (tree.root / "b.py").exists()


@pytest.mark.parametrize("path", ["../out.py", "/etc/passwd", ".git/config"])
def test_a_path_that_leaves_the_tree_is_refused(tree, path) -> None:
    with pytest.raises(PathRefused):
        apply_edits(
            tree, [Edit(path="a.py", replace="x = 3\n"), Edit(path=path, replace="x\n")], check=anything
        )
    assert (tree.root / "a.py").read_bytes() == b"x = 1\n"
