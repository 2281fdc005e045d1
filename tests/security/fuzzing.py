"""How hostile input is made, and how a parser is shown it: valid samples, broken in the ways that files,
models and tools break them, and long and deep ones besides.

A parser is fed text. It returns, or raises one of the errors that it names; it never hangs (time is that of
the processor, so that a busy machine changes nothing), and never runs out of stack.
"""

from __future__ import annotations

import copy
import json
import re
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from hypothesis import strategies as st

from acr_cli.errors import AcrError

LONG = 20_000
"""Characters of an input that is all repetition."""
DEEP = 20_000
"""Brackets, tags or tables in one another; Python's stack takes a thousand."""
PATIENCE = 2.0
"""Seconds of the processor for one input; one that is read in linear time takes a hundredth."""
NOISE = (
    *(
        "\0",
        "\ufeff",
        "\r\n",
        "\r",
        "\x1b[31m",
        "\x85",
        "\u2028",
        "\ud800",
        "\udcff",
        "\u202e",
        "\u200b",
        "e\u0301",
    ),
    *(
        "\xe9",
        "\U0001f600",
        "'",
        '"',
        "`",
        "\\",
        "\n",
        "\t",
        " ",
        "-",
        "..",
        "../..",
        "/etc/passwd",
        "~",
        "%s",
        "{}",
    ),
    *(
        "n" * 4096,
        "-1",
        "1e999",
        "9" * 400,
        "nan",
        "null",
        "true",
        "[",
        "]",
        "{",
        "}",
        "<",
        ">",
        "&a;",
        "#",
        "=",
        ":",
    ),
)
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 10**400, 2**63, 1e308, float("nan"), float("inf"), "", "x", "\0", "\ud800"),
    *(
        "../../etc/passwd",
        "/etc/passwd",
        "n" * 4096,
        [],
        {},
        [[]],
        [None],
        {"": ""},
        [{}],
        ["x", 1],
        {"x": {"x": []}},
    ),
)
_TOKENS = re.compile(r"\w+|\s|[^\w\s]")


class TooLong(BaseException):
    """A parser took more of the processor than any input may."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Parser:
    """One reader of text that nobody vouches for.

    `samples` are valid inputs; `shape` says how they are taken apart besides as text: "json", "toml" or "";
    "bytes" means that each character is one. `repeats` are pieces that long inputs are made of. `errors` may
    be raised beside acr's own."""

    name: str
    feed: Callable[[str], object]
    samples: tuple[str, ...]
    shape: str = ""
    repeats: tuple[str, ...] = ()
    errors: tuple[type[Exception], ...] = ()
    ready: Callable[[], object] = field(default=lambda: None)  # what takes time once in a process
    dear: bool = False  # each input starts programs, or talks over a socket: fewer are shown
    sound: Callable[[Any], bool] = field(default=lambda _: True)  # whether what it returns may be returned

    def try_out(self, given: str) -> bool:
        """Show it one input; whether it was taken. Raises: AssertionError, or what the parser should not."""
        self.ready()
        with at_most(PATIENCE):
            try:
                found = self.feed(given)
            except (AcrError, *self.errors) as error:
                if not str(error).strip():
                    raise AssertionError(f"{type(error).__name__} says nothing") from error
                return False
        assert self.sound(found), found
        return True


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raises: TooLong once this process has used so much of the processor."""

    def end(_: int, __: FrameType | None) -> None:
        raise TooLong(f"more than {seconds} s of the processor")

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def encoded(text: str) -> bytes:
    """Text as bytes; what is no character stays what it is, and so is no UTF-8. Pure."""
    return text.encode("utf-8", "surrogatepass")


# --- inputs near valid ones -------------------------------------------------------------------------------

_AT = st.integers(0, 10_000)
_PIECE = st.sampled_from(NOISE) | st.text(max_size=4)
_EDIT = st.tuples(st.sampled_from(("delete", "repeat", "swap", "cut", "insert", "replace")), _AT, _AT, _PIECE)
_DAMAGE = st.tuples(_AT, st.integers(0, 255))
_CHANGE = st.tuples(st.sampled_from(("replace", "drop", "twice", "wrap")), _AT, st.sampled_from(ODD))


def inputs(parser: Parser) -> st.SearchStrategy[str]:
    """Inputs of a parser: its samples broken as text, and as what they hold; sometimes anything."""
    samples = st.sampled_from(parser.samples)
    if parser.shape == "bytes":
        return st.one_of(
            st.builds(damaged, samples, st.lists(_DAMAGE, min_size=1, max_size=6)),
            st.builds(lambda text, at: text[: len(text) * at // 10_000], samples, _AT),
        )
    edits = st.lists(_EDIT, min_size=1, max_size=4)
    broken = st.builds(edited, samples, edits)
    ways = [broken, broken]
    if parser.shape:
        changes = st.lists(_CHANGE, min_size=1, max_size=3)
        ways += [st.builds(lambda text, how: reshaped(text, parser.shape, how), samples, changes)] * 3
    return st.one_of(*ways, st.text(max_size=200))


def edited(text: str, edits: Sequence[tuple[str, int, int, str]]) -> str:
    """A text with some of its words and signs deleted, repeated, swapped, cut off, or others put in. Pure."""
    parts = _TOKENS.findall(text) or [""]
    for how, one, other, piece in edits:
        at, size = one % (len(parts) + 1), other % 6 + 1
        match how:
            case "delete":
                del parts[at : at + size]
            case "repeat":
                parts[at:at] = parts[at : at + size] * (other % 40 + 1)
            case "swap":
                to = other % (len(parts) + 1)
                parts[at : at + 1], parts[to : to + 1] = parts[to : to + 1], parts[at : at + 1]
            case "cut":
                del parts[at:]
            case "insert":
                parts.insert(at, piece)
            case _:
                parts[at : at + 1] = [piece]
    return "".join(parts)


def damaged(text: str, damages: Sequence[tuple[int, int]]) -> str:
    """Bytes of which some, at these ten-thousandths of all, are others. Pure."""
    data = list(text)
    for at, byte in damages:
        if data:
            data[min(len(data) * at // 10_000, len(data) - 1)] = chr(byte)
    return "".join(data)


def reshaped(text: str, shape: str, changes: Sequence[tuple[str, int, Any]]) -> str:
    """The same document with values of it replaced by odd ones, dropped, doubled or wrapped. Pure."""
    if shape == "toml":
        import tomllib

        import tomlkit

        value = _changed(tomllib.loads(text), changes)
        try:
            return tomlkit.dumps(value) if isinstance(value, dict) else text
        except (TypeError, ValueError, AttributeError, UnicodeError):  # TOML has no nothing
            return text
    return json.dumps(_changed(json.loads(text), changes))


def _changed(document: Any, changes: Sequence[tuple[str, int, Any]]) -> Any:
    root = [copy.deepcopy(document)]
    for how, number, odd in changes:
        places = list(_places(root))
        holder, key = places[number % len(places)]
        match how:
            case "drop" if holder is not root:
                del holder[key]
            case "twice":
                holder[key] = [holder[key], holder[key]]
            case "wrap":
                holder[key] = {"x": holder[key]}
            case _:
                holder[key] = copy.deepcopy(odd)
    return root[0]


def _places(holder: Any) -> Iterator[tuple[Any, Any]]:
    keys = list(holder) if isinstance(holder, dict) else range(len(holder))
    for key in keys:
        yield holder, key
        if isinstance(holder[key], dict | list):
            yield from _places(holder[key])


# --- inputs that are long, or deep ------------------------------------------------------------------------


def heavy(parser: Parser) -> Iterator[str]:
    """Long repetitions behind beginnings of the samples, and deep ones; none ends as it should."""
    if parser.shape == "bytes":
        yield from (whole[:n] for whole in parser.samples for n in (0, 1, 8, len(whole) // 2, len(whole) - 1))
        return
    usual = () if parser.dear else (" ", "\n", "\t \n", "a", "a.", "(", '"', "\\", "[", "{", "=", "-")
    whole = parser.samples[0]
    for piece in dict.fromkeys((*parser.repeats, *usual)):
        body = piece * (LONG // len(piece))
        yield f"{body}\0!"
        yield f"{whole[: len(whole) // 2]}{body}\0!"
    for line in dict.fromkeys(
        line for sample in parser.samples for line in sample.splitlines()[: 2 if parser.dear else 8]
    ):
        yield f"{line.rstrip()}{' ' * LONG}\0!"
    for opening, inside, end in (
        () if parser.dear else (("[", "", "]"), ('{"x":', "1", "}"), ("a=[", "", "]"), ("(", "", ")"))
    ):
        yield opening * DEEP + inside + end * DEEP
        yield f"{whole.rstrip()}\n{opening * DEEP}"
    if parser.shape == "json":
        first = json.loads(whole)
        for key in first if isinstance(first, dict) else ():
            yield json.dumps({**first, key: "@"}).replace('"@"', "[" * DEEP + "]" * DEEP)
            yield json.dumps({**first, key: "@"}).replace('"@"', "9" * 5000)
