"""Connections to the loopback of a container, as frames on stdin and stdout: number, length, bytes.

A frame without bytes ends a direction. Given as text to whatever Python 3 an image has, old ones too.
"""

import os
import select
import socket
import struct
import sys

_MOST = 64 << 20  # bytes on their way in, until no more are taken


class Forwarder:
    """All connections, in one loop that waits for none of them."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._ends: dict[int, socket.socket] = {}
        self._waiting: dict[int, bytes] = {}
        self._reading: set[int] = set()
        self._writing: set[int] = set()
        self._received = b""
        self._number = 0

    def run(self) -> None:
        """Until standard input ends."""
        _say(0, b"ready")
        while True:
            full = sum(len(data) for data in self._waiting.values()) > _MOST
            sources = [self._listener.fileno(), *(self._ends[n].fileno() for n in self._reading)]
            targets = [end.fileno() for n, end in self._ends.items() if self._waiting[n]]
            ready, _, _ = select.select(sources if full else [0, *sources], targets, [])
            if 0 in ready:
                data = os.read(0, 1 << 16)
                if not data:
                    return
                self._received += data
                self._take()
            if self._listener.fileno() in ready:
                self._accept()
            for number in list(self._ends):
                self._serve(number, ready=self._ends[number].fileno() in ready)

    def _accept(self) -> None:
        self._number += 1
        end = self._listener.accept()[0]
        end.setblocking(False)
        self._ends[self._number] = end
        self._waiting[self._number] = b""
        self._reading.add(self._number)
        self._writing.add(self._number)

    def _take(self) -> None:
        """Give whole frames to their connections."""
        while len(self._received) >= 8:
            number, length = struct.unpack(">II", self._received[:8])
            if len(self._received) < 8 + length:
                return
            if number in self._writing:
                self._waiting[number] += self._received[8 : 8 + length]
                if not length:
                    self._writing.discard(number)
            self._received = self._received[8 + length :]

    def _serve(self, number: int, *, ready: bool) -> None:
        """Read from a connection, and write what waits for it; close it when both have ended."""
        end = self._ends[number]
        try:
            if ready and number in self._reading:
                data = end.recv(1 << 16)
                _say(number, data)
                if not data:
                    self._reading.discard(number)
            if self._waiting[number]:
                self._waiting[number] = self._waiting[number][end.send(self._waiting[number]) :]
            if number not in self._writing and not self._waiting[number]:
                end.shutdown(socket.SHUT_WR)
        except BlockingIOError:
            return
        except OSError:
            if number in self._reading:
                _say(number, b"")
            self._reading.discard(number)
            self._writing.discard(number)
            self._waiting[number] = b""
        if number not in self._reading and number not in self._writing and not self._waiting[number]:
            self._ends.pop(number).close()
            del self._waiting[number]


def _say(number: int, data: bytes) -> None:
    data = struct.pack(">II", number, len(data)) + data
    while data:
        data = data[os.write(1, data) :]


if __name__ == "__main__":
    listening = socket.socket()
    listening.bind(("127.0.0.1", int(sys.argv[1])))
    listening.listen(128)
    Forwarder(listening).run()
