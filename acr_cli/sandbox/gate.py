"""The one way out of an install step: a proxy in acr's own process, before a sandbox that has no network.

It speaks what every package manager can: CONNECT for https, and plain http. It sees which hosts are asked
for, and nothing of what is said to them by https. Where the user has a proxy, it goes through that one, whose
password the sandbox then never sees; what that proxy makes of a name is its own affair.
"""

from __future__ import annotations

import base64
import contextlib
import re
import select
import socket
import threading
import time
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass

from acr_cli.sandbox.reach import Place, Reach, Refused, Upstream

PORT = 3128
"""Where the sandbox finds the proxy, on its own loopback, on which nothing else listens."""

_HERE = f"http://127.0.0.1:{PORT}"
_JAVA = " ".join(
    [
        *(f"-D{scheme}.proxyHost=127.0.0.1 -D{scheme}.proxyPort={PORT}" for scheme in ("http", "https")),
        "-Dhttp.nonProxyHosts=localhost|127.0.0.1",
        "-Daether.connector.http.useSystemProperties=true",  # Maven from 3.9 on
    ]
)
VARIABLES = {
    **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), _HERE),
    **dict.fromkeys(("npm_config_proxy", "npm_config_https_proxy"), _HERE),
    **dict.fromkeys(("YARN_HTTP_PROXY", "YARN_HTTPS_PROXY"), _HERE),
    "NODE_USE_ENV_PROXY": "1",
    "JAVA_TOOL_OPTIONS": _JAVA,
}
"""What tells package managers of it: pip, uv, npm, pnpm, yarn, cargo, go, git, bundler, composer, JVMs."""

_ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"
_LARGEST_HEAD = 1 << 16
_CHUNK = 1 << 16
_CONNECT_SECONDS = 15.0
_LAST_WORDS = 2.0  # seconds for threads to end in
_HEAD_SECONDS = 60.0
_MOST = 256  # connections at once, and reasons that are kept


@dataclass(frozen=True, kw_only=True, slots=True)
class _Request:
    method: str
    host: str
    port: int
    secure: bool  # CONNECT, to whatever
    head: bytes  # for a server, when it is no CONNECT
    absolute: bytes  # the same for a proxy
    rest: bytes  # what came after the head


class Gate:
    """Lets connections through, or not. All of them end with `close`."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._refused: dict[str, None] = {}
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._closed = False

    @property
    def refused(self) -> tuple[str, ...]:
        """Why connections were refused, each reason once."""
        return tuple(self._refused)

    def __enter__(self) -> Gate:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def listen(self, listener: socket.socket) -> None:
        """Serve whoever connects to a listening socket, which is closed with the gate."""
        if self._keep(listener):
            self._start(lambda: self._accept(listener))

    def serve(self, caller: socket.socket) -> None:
        """Serve one connection, in a thread of its own."""
        if self._keep(caller):
            self._start(lambda: self._serve(caller))

    def close(self) -> None:
        with self._lock:
            self._closed = True
            ends, self._open = self._open, set()
        for end in ends:
            # Only a shutdown wakes a thread that waits in a call.
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        until = time.monotonic() + _LAST_WORDS
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
        for end in ends:
            end.close()

    def _keep(self, end: socket.socket) -> bool:
        with self._lock:
            kept = not self._closed and len(self._open) < _MOST
            if kept:
                self._open.add(end)
        if not kept:
            end.close()
        return kept

    def _drop(self, end: socket.socket) -> None:
        with self._lock:
            self._open.discard(end)
        end.close()

    def _start(self, life: Callable[[], None]) -> None:
        thread = threading.Thread(target=life, name="acr-gate", daemon=True)
        with self._lock:
            self._threads = [each for each in self._threads if each.is_alive()]
            self._threads.append(thread)
            thread.start()

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                self.serve(listener.accept()[0])

    def _serve(self, caller: socket.socket) -> None:
        """One connection's whole life; whatever ends it ends this connection alone."""
        try:
            caller.settimeout(_HEAD_SECONDS)
            request = _read_request(caller)
            if request is None:
                _answer(caller, 400, "this is a proxy for http and https")
                return
            try:
                server, said = self._connect(request)
            except Refused as refused:
                if len(self._refused) < _MOST:  # a program may try as many hosts as it likes
                    self._refused[str(refused)] = None
                _answer(caller, 403, f"{refused}, which is not reached while dependencies are installed")
                return
            except OSError as error:
                _answer(caller, 502, f"{request.host} cannot be reached: {error.strerror or error}")
                return
            if self._keep(server):
                try:
                    caller.sendall(said)
                    _relay(caller, server)
                finally:
                    self._drop(server)
        except (OSError, ValueError):
            pass  # the other side went away, or the gate was closed
        finally:
            self._drop(caller)

    def _connect(self, request: _Request) -> tuple[socket.socket, bytes]:
        """A connection on which the caller's next bytes are for the server, and what the caller is to read.

        Raises: Refused, OSError."""
        upstream = self._reach.upstream(request.host, secure=request.secure)
        try:
            places = self._reach.addresses(request.host, request.port)
        except socket.gaierror:
            # Behind some proxies no name is known, and the proxy knows them.
            if upstream is None:
                raise
            places = []
        if upstream is None:
            server, said = _first(places), b""
            opening = request.head
        else:
            server = socket.create_connection((upstream.host, upstream.port), timeout=_CONNECT_SECONDS)
            opening, said = b"", b""
        try:
            if upstream is not None:
                opening, said = _ask(server, request, upstream)
            server.sendall(opening + request.rest)
        except BaseException:
            server.close()
            raise
        return server, (_ESTABLISHED + said if request.secure else said)


def _read_request(caller: socket.socket) -> _Request | None:
    """The first request of a connection; None when it is none for a proxy. Raises: OSError, ValueError."""
    head, rest = _read_head(caller)
    if re.search(rb"\r(?!\n)|(?<!\r)\n", head):
        return None  # the user's proxy may take it for the end of a line, and so of a request
    line, _, fields = head.partition(b"\r\n")
    try:
        method, target, version = line.decode("ascii").split(" ")
    except ValueError:
        return None
    secure = method == "CONNECT"
    if not secure and not target.startswith("http://"):
        return None
    parts = urllib.parse.urlsplit(f"//{target}" if secure else target)
    if not parts.hostname or (secure and parts.port is None):
        return None
    # A later request of the connection could name another host: each gets a connection of its own.
    kept = b"".join(
        field + b"\r\n"
        for field in fields.split(b"\r\n")
        if field and not field.lower().startswith((b"connection:", b"proxy-", b"keep-alive:"))
    )
    tail = f" {version}\r\n".encode() + kept + b"Connection: close\r\n\r\n"
    path = urllib.parse.urlunsplit(("", "", parts.path or "/", parts.query, ""))
    return _Request(
        method=method,
        host=parts.hostname.rstrip(".").lower(),
        port=parts.port or 80,
        secure=secure,
        head=b"" if secure else f"{method} {path}".encode() + tail,
        absolute=b"" if secure else f"{method} {target}".encode() + tail,
        rest=rest,
    )


def _read_head(end: socket.socket) -> tuple[bytes, bytes]:
    """What comes before the first empty line, and what has come after it. Raises: OSError, ValueError."""
    read = b""
    while b"\r\n\r\n" not in read:
        piece = end.recv(_CHUNK)
        read += piece
        if not piece or len(read) > _LARGEST_HEAD:
            raise ValueError("no head of a request")
    head, _, rest = read.partition(b"\r\n\r\n")
    return head, rest


def _first(places: list[Place]) -> socket.socket:
    """A connection to the first place that answers. Raises: OSError of the last one that does not."""
    last: OSError = OSError("it has no address")
    for family, place in places:
        server = socket.socket(family, socket.SOCK_STREAM)
        server.settimeout(_CONNECT_SECONDS)
        try:
            server.connect(place)
        except OSError as error:
            server.close()
            last = error
        else:
            return server
    raise last


def _ask(server: socket.socket, request: _Request, upstream: Upstream) -> tuple[bytes, bytes]:
    """Ask the user's proxy: what it is still to be told, and what it has said.

    Raises: OSError when it refuses."""
    credentials = base64.b64encode(upstream.credentials.encode()).decode()
    field = f"Proxy-Authorization: Basic {credentials}\r\n" if upstream.credentials else ""
    if not request.secure:
        line, _, fields = request.absolute.partition(b"\r\n")
        return line + b"\r\n" + field.encode() + fields, b""
    shown = f"[{request.host}]" if ":" in request.host else request.host
    there = f"{shown}:{request.port}"
    server.sendall(f"CONNECT {there} HTTP/1.1\r\nHost: {there}\r\n{field}\r\n".encode())
    try:
        head, said = _read_head(server)
    except ValueError as error:
        raise OSError("the proxy hung up") from error
    if head.split(b" ", 2)[1:2] != [b"200"]:
        raise OSError(f"the proxy said {head.splitlines()[0].decode(errors='replace')}")
    return b"", said


def _relay(one: socket.socket, other: socket.socket) -> None:
    """Bytes both ways until both sides have ended. Raises: OSError."""
    for end in (one, other):
        end.settimeout(None)
    ways = {one: other, other: one}
    while ways:
        for ready in select.select(list(ways), [], [])[0]:
            data = ready.recv(_CHUNK)
            if data:
                ways[ready].sendall(data)
            else:
                ways.pop(ready).shutdown(socket.SHUT_WR)


def _answer(caller: socket.socket, status: int, why: str) -> None:
    words = {400: "Bad Request", 403: "Forbidden", 502: "Bad Gateway"}
    body = f"acr: {why}.\n".encode()
    head = f"HTTP/1.1 {status} {words[status]}\r\nContent-Type: text/plain; charset=utf-8\r\n"
    caller.sendall(
        head.encode() + f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body
    )
