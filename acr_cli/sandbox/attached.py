"""A line to the standard input and output of a container, through the engine's own connection.

It makes no difference where the engine is.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterator

from acr_cli.sandbox.engine import Engine

_PARAMETERS = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1, "detachKeys": ""}
_STDOUT = 1


class Attached:
    """Both ends of the line; made before the container is started. Raises the client's own errors."""

    def __init__(self, engine: Engine, container: str, *, patience: float | None) -> None:
        """`patience`: seconds that the container may be silent, or None for ever."""
        self._line = engine.client.api.attach_socket(container, params=_PARAMETERS)
        # A plain connection comes wrapped in a file that can only be read.
        self._raw = getattr(self._line, "_sock", self._line)
        self._raw.settimeout(patience)

    def send(self, data: bytes) -> None:
        """Raises: OSError."""
        self._raw.sendall(data)

    def output(self) -> Iterator[bytes]:
        """Standard output in pieces, until the line ends; errors are left out."""
        while header := self._exactly(8):  # the engine's own frames
            kind, length = struct.unpack(">B3xI", header)
            data = self._exactly(length)
            if kind == _STDOUT:
                yield data

    def _exactly(self, length: int) -> bytes:
        """Bytes of the line; none where it has ended."""
        data = b""
        while len(data) < length:
            try:
                piece = self._raw.recv(length - len(data))
            except OSError:
                return b""
            if not piece:
                return b""
            data += piece
        return data

    def hang_up(self) -> None:
        """End the line under whoever reads it."""
        with contextlib.suppress(OSError):
            self._raw.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            # Where the line keeps the answer that it belongs to, that holds the connection.
            response = getattr(self._line, "_response", None)
            (response or self._line).close()
            self._raw.close()
