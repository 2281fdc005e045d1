"""Long outputs of commands: a model is shown head and tail, and opens the rest by name."""

from __future__ import annotations

import re
from collections import OrderedDict

_KEPT = 20  # outputs of one attempt, the latest
_NAME = re.compile(r"output-\d+")


class Outputs:
    """The outputs of one attempt that were too long to be shown whole."""

    def __init__(self) -> None:
        self._texts: OrderedDict[str, str] = OrderedDict()
        self._count = 0

    def shown(self, text: str, limit: int) -> str:
        """The text, or its first and last lines of together about `limit` characters and how to see the
        others."""
        if len(text) <= limit:
            return text
        self._count += 1
        name = f"output-{self._count}"
        self._texts[name] = text
        while len(self._texts) > _KEPT:
            self._texts.popitem(last=False)
        lines = text.splitlines()
        head, tail = text[: limit // 3], text[-(limit - limit // 3) :]
        if (first := head.rfind("\n")) > 0:
            head = head[:first]
        if 0 <= (last := tail.find("\n")) < len(tail) - 1:
            tail = tail[last + 1 :]
        after, before = len(head.splitlines()), len(lines) - len(tail.splitlines())
        left_out = f"lines {after + 1}-{before}" if before > after else "a part of the line"
        return f"{head}\n[... {left_out} of {len(lines)} left out; they are in {name}, for open ...]\n{tail}"

    def named(self, path: str) -> str | None:
        """The output of this name, None where there is none."""
        return self._texts.get(path) if _NAME.fullmatch(path) else None
