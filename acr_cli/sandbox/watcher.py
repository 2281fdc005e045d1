"""What lies in a volume, told by a small program in a container that has the volume.

For engines whose files this user cannot see: far away, in a machine of their own, or root's. The program sees
with the rights of the commands, so what these have closed to themselves is hidden from it, too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from acr_cli.errors import SandboxBroken
from acr_cli.sandbox.attached import Attached
from acr_cli.sandbox.disk import Size
from acr_cli.sandbox.engine import FULL, Engine, broken

if TYPE_CHECKING:
    from collections.abc import Iterator

_END = b"\n.\n"
# With programs that GNU and BusyBox have. What is removed while it is measured is not hidden.
_SCRIPT = """\
export LC_ALL=C
while read -r what; do
  if [ "$what" = free ]; then
    stat -f -c '%a %S %d' .
  else
    du -sk . 2>&1 | grep -v 'No such file or directory' | tail -n 2
    find . 2>/dev/null | wc -l
  fi
  printf '\\n.\\n'
done
"""
PROGRAM: dict[str, Any] = {
    "entrypoint": "/bin/sh",
    "command": ["-c", _SCRIPT],
    "working_dir": "/acr",
    "stdin_open": True,
}
"""What a container is created with, so that a `Watcher` can be had of it."""

_PATIENCE = 120.0  # seconds for an answer
_LARGEST = 1 << 16


class Blind(Exception):
    """The image has not the programs."""


class Watcher:
    """Starts such a container. Implements `disk.Place`.

    Raises: SandboxBroken; from `measure` and `free` also Blind."""

    name = "the engine's files"
    hint = FULL

    def __init__(self, engine: Engine, container: str) -> None:
        self._line: Attached | None = None
        with broken("look at a volume"):
            self._line = Attached(engine, container, patience=_PATIENCE)
            self._output: Iterator[bytes] = self._line.output()
            engine.client.api.start(container)

    def close(self) -> None:
        if self._line is not None:
            self._line.hang_up()
            self._line.close()

    def free(self) -> Size:
        found = re.fullmatch(r"(\d+) (\d+) (\d+)", self._ask(b"free"))
        if found is None:
            raise Blind
        blocks, size, files = map(int, found.groups())
        return Size(bytes=blocks * size, files=files)

    def measure(self, most: Size | None = None) -> Size:
        """All of it, whatever is the most: the programs end by themselves only."""
        found = re.fullmatch(r"(?:(.*)\n)?(\d+)\s+\.\n\s*(\d+)", self._ask(b"used"))
        if found is None:
            raise Blind
        hidden, kilobytes, files = found.groups()
        return Size(bytes=int(kilobytes) * 1024, files=int(files), whole=hidden is None)

    def _ask(self, what: bytes) -> str:
        assert self._line is not None  # noqa: S101  it is made
        said = b""
        with broken("look at a volume"):
            self._line.send(what + b"\n")
            while not said.endswith(_END):
                piece = next(self._output, b"")
                said += piece
                if not piece or len(said) > _LARGEST:
                    raise SandboxBroken(
                        "The container that says how full a volume is has ended.",
                        hint="Leave containers whose names begin with acr- alone while acr runs.",
                    )
        return said.removesuffix(_END).decode(errors="replace").strip()
