"""A patch taken back out of a file: exactly, also after edits elsewhere, or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acr_cli.worktree.reversal import Hunk, reverse

TEXTS = st.binary(max_size=60) | st.lists(
    st.sampled_from([b"a\n", b"b\n", b"\n", b"a", b"c\r\n"]), max_size=12
).map(b"".join)


@settings(deadline=None)
@given(before=TEXTS, after=TEXTS)
def test_apply_then_undo_is_identity(before: bytes, after: bytes) -> None:
    back = reverse(before, after, after)
    assert (back.content, back.refused) == (before, ())


@st.composite
def edited_twice(draw):
    """(before, after, now, wanted): our hunks and the user's, at least one untouched line between any two."""
    parts: list[list[bytes]] = [[], [], [], []]

    def line() -> bytes:
        numbers.append(len(numbers))
        return b"line %d\n" % len(numbers)

    numbers: list[int] = []

    def keep(count: int) -> None:
        for _ in range(count):
            same = line()
            for part in parts:
                part.append(same)

    keep(draw(st.integers(1, 3)))
    for who in draw(st.lists(st.sampled_from(["ours", "theirs"]), max_size=6)):
        old = [line() for _ in range(draw(st.integers(0, 3)))]
        new = [line() for _ in range(draw(st.integers(0, 3)))]
        for part, is_new in zip(parts, ((0, 1, 1, 0) if who == "ours" else (0, 0, 1, 1)), strict=True):
            part.extend(new if is_new else old)
        keep(draw(st.integers(1, 3)))
    return tuple(b"".join(part) for part in parts)


@settings(deadline=None)
@given(edited_twice())
def test_edits_elsewhere_stay_and_all_of_the_patch_goes(texts) -> None:
    before, after, now, wanted = texts
    back = reverse(before, after, now)
    assert back.refused == ()
    assert back.content == wanted


def lines(content: bytes) -> list[bytes]:
    return [line for line in content.replace(b"\n", b"\n\0").split(b"\0") if line]


TEXTS_OF_LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"\n", b"a", b"c\r\n"]), max_size=12).map(b"".join)


@settings(deadline=None)
@given(before=TEXTS_OF_LINES, after=TEXTS_OF_LINES, now=TEXTS_OF_LINES)
def test_bytes_outside_the_hunks_never_change(before: bytes, after: bytes, now: bytes) -> None:
    back = reverse(before, after, now)
    if back.refused:
        return
    made, present, out, at = lines(after), lines(now), [], 0
    for start, hunk in back.places:
        assert at <= start
        assert present[start : start + hunk.end - hunk.start] == made[hunk.start : hunk.end]
        assert b"".join(hunk.old) in before
        out += [*present[at:start], *hunk.old]
        at = start + hunk.end - hunk.start
    assert back.content == b"".join([*out, *present[at:]])
    assert lines(back.content) == [*out, *present[at:]]  # no two lines have run into one


@pytest.mark.parametrize(
    ("before", "after", "now", "refused"),
    [
        (b"a\nb\nc\n", b"a\nB\nc\n", b"a\nmine\nc\n", "line 2"),
        (b"a\nb\nc\nd\n", b"a\nB\nC\nd\n", b"a\nB\nmine\nd\n", "lines 2-3"),
        (b"a\nb\nc\n", b"a\nc\n", b"a\nmine\nc\n", "after line 1"),
        (b"b\nc\n", b"c\n", b"mine\nc\n", "at the beginning"),
        # Which of two equal lines was the patch's cannot be told once its neighbour is another one.
        (b"x\ny\n", b"x\nz\nq\ny\nz\n", b"x\nz\nmine\ny\nz\n", "lines 2-3"),
        # A last line without an end would run into the next.
        (b"a\nb", b"a\nc\n", b"a\nc\nmine\n", "line 2"),
    ],
)
def test_a_hunk_that_is_not_clear_is_refused_with_its_place(before, after, now, refused) -> None:
    back = reverse(before, after, now)
    assert refused in [hunk.place for hunk in back.refused]


@pytest.mark.parametrize(
    ("before", "after", "now", "wanted"),
    [
        (b"a\nb\nc\n", b"a\nB\nc\n", b"a\nB\nmine\nc\n", b"a\nb\nmine\nc\n"),
        (b"a\nb\n", b"a\nB\n", b"mine\na\nB\nmine too\n", b"mine\na\nb\nmine too\n"),
        (b"a\r\nb\r\n", b"a\r\nB\r\n", b"a\r\nB\r\nmine\r\n", b"a\r\nb\r\nmine\r\n"),
        (b"a\nb", b"a\nB", b"mine\na\nB", b"mine\na\nb"),
        (b"", b"a\n", b"a\nmine\n", b"mine\n"),
    ],
)
def test_edits_right_beside_a_hunk_stay(before, after, now, wanted) -> None:
    back = reverse(before, after, now)
    assert (back.content, back.refused) == (wanted, ())


def test_many_lines_take_little_time() -> None:
    before = b"".join(b"line %d\n\n" % n for n in range(20_000))
    after = before.replace(b"line 10000\n", b"changed\n")
    back = reverse(before, after, b"mine\n" + after + b"mine too\n")
    assert back.content == b"mine\n" + before + b"mine too\n"


def test_places_are_said_for_people() -> None:
    assert Hunk(start=0, end=0, old=()).place == "at the beginning"
    assert Hunk(start=4, end=5, old=()).place == "line 5"
