"""How the messages of a chat are read: with history and completion on a terminal, else line by line.

The only file that wraps prompt_toolkit. A message ends at Enter; behind a backslash, or with Alt-Enter, it
goes on in the next line. Tab completes commands, and names of files.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acr_cli.redaction import redact

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer
    from prompt_toolkit.key_binding import KeyBindings

_MOST = 50  # completions that are shown

Read = Callable[[], str]
"""The next message. Raises: EOFError at the end, KeyboardInterrupt for a message that is given up."""


def plain(lines: Iterable[str]) -> Read:
    """Messages from lines of text, as when standard input is no terminal."""
    left = iter(lines)

    def read() -> str:
        parts: list[str] = []
        for line in left:
            text = line.rstrip("\r\n")
            if not text.endswith("\\"):
                return "\n".join((*parts, text))
            parts.append(text[:-1])
        if parts:
            return "\n".join(parts)
        raise EOFError

    return read


def terminal(
    history: Path,
    *,
    commands: Sequence[str],
    values: Callable[[str], Sequence[str]],
    files: Callable[[], Sequence[str]],
    status: Callable[[], str],
) -> Read:
    """Messages from a person. `values`: what may stand behind a command; `status`: the line at the bottom."""
    from prompt_toolkit import PromptSession

    session: PromptSession[str] = PromptSession(
        "acr> ",
        history=_history(history),
        completer=_completer(partial(completions, commands=commands, values=values, files=files)),
        complete_while_typing=False,
        enable_history_search=True,
        key_bindings=_keys(),
        multiline=True,
        prompt_continuation="...  ",
        bottom_toolbar=status,
    )
    return session.prompt


def is_terminal() -> bool:
    """Whether somebody sits at both ends."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def completions(
    text: str,
    *,
    commands: Sequence[str],
    values: Callable[[str], Sequence[str]],
    files: Callable[[], Sequence[str]],
) -> Iterator[tuple[str, int]]:
    """What may stand in the place of the last word of a message, and how many characters that word has."""
    name, space, _ = text.partition(" ")
    word = "" if not text or text[-1].isspace() else text.rsplit(maxsplit=1)[-1]
    if text.startswith("/") and not space:
        yield from ((each, len(text)) for each in commands if each.startswith(text))
    elif name in commands and (known := values(name)):
        yield from ((each, len(word)) for each in known if each.startswith(word))
    elif bare := word.lstrip("@`'\"("):
        near = [path for path in files() if f"/{path}".rpartition("/")[2].startswith(bare)]
        near += [path for path in files() if path.startswith(bare) and path not in near]
        yield from ((path, len(bare)) for path in near[:_MOST])


def _completer(found: Callable[[str], Iterator[tuple[str, int]]]) -> Completer:
    from prompt_toolkit.completion import Completer, Completion

    class Words(Completer):
        def get_completions(self, document: Any, complete_event: Any) -> Iterator[Completion]:
            for value, length in found(document.text_before_cursor):
                yield Completion(value, start_position=-length)

    return Words()


def _history(path: Path) -> Any:
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    class WithoutSecrets(FileHistory):
        def store_string(self, string: str) -> None:
            with suppress(OSError):  # a full disk ends no chat
                super().store_string(redact(string))

    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
    except OSError:
        return InMemoryHistory()
    return WithoutSecrets(str(path))


def _keys() -> KeyBindings:
    from prompt_toolkit.key_binding import KeyBindings

    keys = KeyBindings()

    @keys.add("enter")
    def _end(event: Any) -> None:
        buffer = event.current_buffer
        if buffer.document.text_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def _go_on(event: Any) -> None:
        event.current_buffer.insert_text("\n")

    return keys
