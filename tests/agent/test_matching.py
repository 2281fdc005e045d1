"""Where a search text is found although it is not there to the letter, and where it is not."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from acr_cli.agent.matching import replaced, rewritten
from acr_cli.agent.text import Text
from acr_cli.errors import BadReply

TABS = b"func f() {\n\tif x {\n\t\tr()\n\t}\n}\n"
CODE = b"""\
def total(lines, discount):
    result = sum(line.price for line in lines)
    if discount > 10:
        result -= result * discount // 100
    return result
"""


def test_an_exact_place_forgives_nothing() -> None:
    done = replaced(CODE, "    if discount > 10:\n", "    if discount >= 10:\n")
    assert (done.line, done.forgiven) == (3, "")


@pytest.mark.parametrize(
    ("source", "search", "new", "expected", "forgiven"),
    [
        (b"a = 1 \nb\n", "a = 1\n", "a = 2\n", b"a = 2\nb\n", "white space"),
        (b"a\nb\nc\n", "\n\nb\n\n", "\n\nx\n\n", b"a\nx\nc\n", "blank lines"),
        (b"a\nb\nc\n", "2: b\n3: c", "2: b\n3: x", b"a\nb\nx\n", "line numbers"),
        (b"  a\n    b\n", "a\n  b\n", "a\n  c\n", b"  a\n    c\n", "indentation"),
        (TABS, "    if x {\n        r()\n", "    if y {\n        r()\n", TABS.replace(b"x", b"y"), "ind"),
        (b"    a\n        b\n", "\ta\n\t\tb\n", "\ta\n\t\tc\n", b"    a\n        c\n", "indentation"),
    ],
)  # fmt: skip
def test_what_is_forgiven_is_said(source, search, new, expected, forgiven) -> None:
    done = replaced(source, search, new)
    assert done.content == expected
    assert forgiven in done.forgiven


def test_the_one_place_that_is_nearly_the_same_is_taken_and_keeps_its_other_lines() -> None:
    # A word of a line that stays was copied wrongly; the line that changes is meant.
    search = "    result = sum(line.prize for line in lines)\n    if discount > 10:\n"
    done = replaced(CODE, search, search.replace("> 10", ">= 10"))
    assert done.content == CODE.replace(b"> 10", b">= 10")
    assert "slightly" in done.forgiven


def test_two_places_that_are_nearly_the_same_are_refused_with_both() -> None:
    source = b"".join(b"def f%d(values):\n    return sum(values) // len(values)\n\n" % n for n in range(2))
    with pytest.raises(BadReply, match="2 places, from lines 1, 4") as caught:
        replaced(source, "def f9(values):\n    return sum(values) // len(values)\n", "x\n")
    assert "1: def f0(values):" in caught.value.message


@pytest.mark.parametrize(
    "search",
    ["x = 1\n", "    if discount > 10:\n        return discount.apply_to_the_whole(result)\n"],
)
def test_what_is_too_short_or_too_different_is_refused(search) -> None:
    with pytest.raises(BadReply, match="does not stand in the file"):
        replaced(CODE, search, "y\n")


def test_a_line_number_decides_between_equal_places_only() -> None:
    source = b"a\nx\nb\nx\n"
    assert replaced(source, "x\n", "y\n", near=4).content == b"a\nx\nb\ny\n"
    assert replaced(source, "a\n", "y\n", near=3).content == b"y\nx\nb\nx\n"
    with pytest.raises(BadReply, match="2 places"):
        replaced(source, "x\n", "y\n", near=3)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_with_its_mark_is_edited_in_its_encoding(encoding) -> None:
    source = "\ufeffa\r\n\u20ac\r\n".encode(encoding)
    expected = "\ufeffa\r\n\U0001f600\r\n".encode(encoding)
    assert replaced(source, "\u20ac\n", "\U0001f600\n").content == expected
    with pytest.raises(BadReply, match="not"):
        rewritten(source[:-1], "b\n")


# --- properties -------------------------------------------------------------------------------------------

LINE = st.text(st.characters(codec="utf-8", exclude_characters="\n\r\0\ufeff"), max_size=8)
LINES = st.lists(LINE, min_size=1, max_size=5)
ENCODINGS = st.sampled_from(["utf-8", "utf-8-sig", "latin-1", "utf-16"])


def joined(lines: list[str], end: str) -> str:
    return "".join(line + end for line in lines)


FILES = st.tuples(ENCODINGS, st.sampled_from(["\n", "\r\n"]), st.booleans())


@given(st.tuples(LINES, LINES, LINES), LINES, FILES, st.booleans())
def test_an_edit_and_its_reverse_change_nothing(parts, new, file, inline) -> None:
    encoding, end, is_open = file
    text = "".join(joined(part, end) for part in parts)
    text = text.removesuffix(end) if is_open else text
    try:
        source = text.encode(encoding)
    except UnicodeEncodeError:
        assume(False)
    hunk = joined(parts[1], "\n")
    try:
        there = replaced(source, hunk, joined(new, "\n"), inline=inline)
        back = replaced(there.content, joined(new, "\n"), hunk, inline=inline)
    except BadReply:
        return  # empty, in two places, or no character of the encoding
    if not there.forgiven and not back.forgiven and there.line == back.line:
        assert back.content == source


@given(st.binary(max_size=80), st.sampled_from([b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"]))
def test_any_text_is_written_back_byte_for_byte(source, mark) -> None:
    try:
        text = Text.of(mark + source)
    except BadReply:
        return
    assert text.bytes_of(text.lines, "it") == mark + source


@given(LINES, LINES, LINES, st.data())
def test_a_place_found_by_similarity_leaves_the_rest_alone(before, hunk, after, data) -> None:
    long = [f"{line} is a line that is long enough" for line in hunk]
    number = data.draw(st.integers(0, len(long) - 1))
    wrong = [*long[:number], long[number].replace("long", "lang"), *long[number + 1 :]]
    head, tail = joined(before, "\n").encode(), joined(after, "\n").encode()
    source = head + joined(long, "\n").encode() + tail
    try:
        done = replaced(source, joined(wrong, "\n"), joined([*wrong, "new"], "\n"))
    except BadReply:
        return
    assert done.content == head + joined([*long, "new"], "\n").encode() + tail
