"""What installing reaches: public addresses and the user's own indexes; nothing beside the machine."""

from __future__ import annotations

import contextlib
import http.server
import ipaddress
import os
import shutil
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from acr_cli.errors import SandboxUnavailable
from acr_cli.events import Notice
from acr_cli.protocols import Recipe
from acr_cli.sandbox.attached import Attached
from acr_cli.sandbox.gate import Gate
from acr_cli.sandbox.reach import Reach, Refused, reach
from acr_cli.sandbox.sidecar import _Carrier
from tests.sandbox.conftest import IMAGE, Opened, Opener

# Everything that an install step could try to speak to what listens on this machine, at its every address:
# as it is, through the proxy that it was told of, and by other names of the same place.
ATTACK = """\
import os, socket, sys
port, others = sys.argv[1], sys.argv[2:]
proxy = os.environ.get("http_proxy", "").rpartition("/")[2].split(":")
names = ["127.0.0.1", "localhost", "0.0.0.0", "2130706433", "0x7f.1", "127.1", "[::ffff:127.0.0.1]", *others]
tries = [(name.strip("[]"), int(port), b"") for name in names]
get = f"GET http://127.0.0.1:{port}/ HTTP/1.1\\r\\n\\r\\n"
tries = [(host, where, get.encode()) for host, where, _ in tries]
if len(proxy) == 2:
    for name in names:
        tries += [
            (proxy[0], int(proxy[1]), f"CONNECT {name}:{port} HTTP/1.1\\r\\n\\r\\n".encode()),
            (proxy[0], int(proxy[1]), get.replace("127.0.0.1", name).encode()),
        ]
for host, where, ask in tries:
    try:
        with socket.create_connection((host, where), timeout=5) as there:
            there.settimeout(5)
            there.sendall(ask)
            there.recv(100)
    except OSError:
        pass
"""
FETCH = """\
import os, urllib.request
print("fetched", urllib.request.urlopen(os.environ["PIP_INDEX_URL"], timeout=20).read().decode())
"""


class _Server(http.server.ThreadingHTTPServer):
    """Listens at every address of this machine, and counts who comes."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("", 0), _Handler)
        self.came: list[str] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def verify_request(self, request: object, client_address: object) -> bool:
        self.came.append(str(client_address))
        return True


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = f"of {self.headers.get('Proxy-Authorization', 'nobody')} at {self.path}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[_Server]:
    one = _Server()
    yield one
    one.shutdown()
    one.server_close()


def own_addresses() -> list[str]:
    """This machine's addresses as its neighbours see them."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
        probe.connect(("192.0.2.1", 9))  # nothing is sent
        return [probe.getsockname()[0]]
    return []


def setup(opened: Opened, tree: Path, program: str, *arguments: str) -> None:
    """Install with a program of the repository's."""
    (tree / "attack.py").write_text(program)
    command = " ".join(["python attack.py", *arguments, "# in", opened.run_id])
    recipe = Recipe(
        language="python", setup=(command,), manifests=("attack.py",), repository=f"{tree} {opened.run_id}"
    )
    opened.sandbox.prepare(recipe, tree)


@pytest.fixture(autouse=True)
def _no_images_left(tree: Path) -> Iterator[None]:
    yield
    import docker

    with contextlib.suppress(docker.errors.DockerException):
        client = docker.from_env()
        for image in client.images.list(filters={"label": "acr.repository"}):
            if image.labels.get("acr.repository", "").startswith(f"{tree} "):
                client.images.remove(str(image.id), force=True)
        for volume in client.volumes.list(filters={"label": "acr.repository"}):
            if volume.attrs["Labels"]["acr.repository"].startswith(f"{tree} "):
                volume.remove()
        client.close()


def test_installing_reaches_nothing_on_or_beside_this_machine(
    walled: Opened, tree: Path, server: _Server
) -> None:
    setup(walled, tree, ATTACK, str(server.server_port), *own_addresses())
    assert server.came == []
    said = [event.text for event in walled.events if isinstance(event, Notice)]
    assert any("refused a connection" in text for text in said), said


DOCKERFILE = """\
FROM {image}
COPY attack.py /attack.py
RUN python /attack.py {port} {others}; echo {port} > /built
"""


@pytest.mark.docker
def test_what_a_dockerfile_runs_reaches_nothing_either(opener: Opener, tree: Path, server: _Server) -> None:
    (tree / "attack.py").write_text(ATTACK)
    others = " ".join(own_addresses())
    text = DOCKERFILE.format(image=IMAGE, port=server.server_port, others=others)
    (tree / "Dockerfile").write_text(text)
    recipe = Recipe(language="python", dockerfile="Dockerfile", repository=f"{tree} built")
    opened = opener("docker", image=None)
    opened.sandbox.prepare(recipe, tree)
    with opened.sandbox.open(tree) as session:
        assert session.run("cat /built").output == f"{server.server_port}\n"
    assert server.came == []
    for added in (f"ADD http://127.0.0.1:{server.server_port}/ /x", "ADD \\\n  --chown=1 $WHERE /x"):
        (tree / "Dockerfile").write_text(f"FROM {IMAGE}\n{added}\n")
        with pytest.raises(SandboxUnavailable, match="may have the engine fetch an address itself"):
            opened.sandbox.prepare(recipe, tree)
    assert server.came == []


@pytest.mark.parametrize("name", ["bubblewrap"])
def test_with_the_network_as_it_is_the_same_program_reaches_it(
    opener: Opener, name: str, tree: Path, server: _Server
) -> None:
    setup(opener(name, network=True), tree, ATTACK, str(server.server_port))
    assert len(server.came) >= 3


def test_an_index_of_the_users_own_is_reached_wherever_it_is(
    opener: Opener, walled: Opened, tree: Path, server: _Server
) -> None:
    index = f"http://127.0.0.1:{server.server_port}/simple"
    opened = opener(walled.sandbox.name, environ={**os.environ, "PIP_INDEX_URL": index})
    setup(opened, tree, FETCH)
    assert len(server.came) == 1


def test_the_password_of_the_users_proxy_stays_outside(
    opener: Opener, walled: Opened, tree: Path, server: _Server
) -> None:
    """The server stands for a proxy too: it is asked for the whole address."""
    proxy = f"http://ada:s3cret@127.0.0.1:{server.server_port}"
    environ = {**os.environ, "http_proxy": proxy, "PIP_INDEX_URL": "http://192.88.99.1/x"}
    opened = opener(walled.sandbox.name, environ=environ)
    look = 'import os\nassert "s3cret" not in str(os.environ)\n'
    setup(opened, tree, look + FETCH)
    log = (opened.home / "runs" / opened.run_id / "install-python.log").read_text()
    assert "at http://192.88.99.1/x" in log
    assert "fetched of Basic" in log


def test_a_proxy_that_cannot_be_used_is_one_sentence(opener: Opener, tree: Path) -> None:
    opened = opener("bubblewrap", environ={**os.environ, "ALL_PROXY": "socks5://127.0.0.1:1080"})
    with pytest.raises(SandboxUnavailable, match="ALL_PROXY names no proxy that can be used") as caught:
        setup(opened, tree, FETCH)
    assert "--network on" in caught.value.hint


# --- the rules --------------------------------------------------------------------------------------------

NEAR = (
    *("127.0.0.1", "127.255.0.9", "0.0.0.1", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1"),
    *("169.254.169.254", "169.254.170.2", "100.64.0.1", "168.63.129.16", "224.0.0.1", "255.255.255.255"),
    *("::1", "::", "fe80::1", "fd00:ec2::254", "fc00::1", "ff02::1", "::ffff:10.0.0.1", "::10.0.0.1"),
    *("64:ff9b::10.0.0.1", "2002:0a00:0001::1", "198.51.100.9", "2001:db8:7::9"),
)
FAR = ("1.1.1.1", "151.101.0.223", "172.32.0.1", "2606:4700::1", "64:ff9b::1.1.1.1", "198.51.101.9")
ROUTES = """\
Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT
eth0 00000000 016433C6 0003 0 0 0 00000000 0 0 0
eth0 006433C6 00000000 0001 0 0 0 00FFFFFF 0 0 0
tun0 00000000 00000000 0001 0 0 0 00000000 0 0 0
"""
ROUTES_6 = (
    "20010db8000700000000000000000000 40 00000000000000000000000000000000 00 "
    "00000000000000000000000000000000 00000100 00000001 00000000 00000001 eth0\n"
)


@pytest.fixture
def rules(tmp_path: Path) -> Reach:
    """In 198.51.100.0/24 and 2001:db8:7::/64, with a default route into a tunnel."""
    (tmp_path / "route").write_text(ROUTES)
    (tmp_path / "ipv6_route").write_text(ROUTES_6)
    environ = {
        "PIP_INDEX_URL": "https://ada:pw@10.0.0.5/simple",
        "UV_INDEX": "own=http://[fd00::7]:3141/x https://example.org/simple",
        "GOPROXY": "https://Go.example.net:8443,direct",
        "no_proxy": "localhost,.inside",
        "HTTPS_PROXY": "http://10.9.9.9:8080",
    }
    return reach(environ, routes=tmp_path)


@pytest.mark.parametrize("address", NEAR)
def test_what_is_near_is_refused(rules: Reach, address: str) -> None:
    assert rules.near(ipaddress.ip_address(address))
    with pytest.raises(Refused, match="an address of this machine"):
        rules.addresses(address, 80)


def test_what_is_far_is_not(rules: Reach) -> None:
    assert [one for one in FAR if rules.near(ipaddress.ip_address(one))] == []


def test_the_users_settings_name_hosts_and_ports_and_no_more(rules: Reach) -> None:
    assert rules.named == {
        ("10.0.0.5", 443),
        ("fd00::7", 3141),
        ("example.org", 443),
        ("go.example.net", 8443),
    }
    assert rules.addresses("10.0.0.5", 443)
    with pytest.raises(Refused):
        rules.addresses("10.0.0.5", 80)
    assert rules.upstream("pypi.org", secure=True) is not None
    assert rules.upstream("host.inside", secure=True) is None
    assert rules.upstream("pypi.org", secure=False) is None


NO_REQUESTS = (
    *(b"\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"CONNECT x HTTP/1.1\r\n\r\n", b"\xff \xff \xff\r\n\r\n"),
    *(b"GET http://x/ HTTP/1.1\r\nA: b\n\nGET http://y/ HTTP/1.1\r\n\r\n", b"GET\rhttp://x/ H\r\n\r\n"),
    *(b"GET ftp://x/ HTTP/1.1\r\n\r\n", b"CONNECT [::1:1 HTTP/1.1\r\n\r\n", b"x" * 70_000, b""),
)


@pytest.mark.parametrize("said", NO_REQUESTS)
def test_what_is_no_request_gets_nowhere_and_ends(said: bytes) -> None:
    with Gate(Reach()) as gate:
        near, far = socket.socketpair()
        gate.serve(far)
        with near, contextlib.suppress(OSError):
            near.settimeout(20)
            near.sendall(said)
            near.shutdown(socket.SHUT_WR)
            answer = near.recv(1000)
            assert answer == b"" or answer.startswith(b"HTTP/1.1 400")


def test_an_image_that_opens_connections_without_end_is_hung_up_on() -> None:
    near, far = socket.socketpair()
    far.settimeout(20)
    api = SimpleNamespace(attach_socket=lambda *_, **__: near)
    engine: Any = SimpleNamespace(client=SimpleNamespace(api=api))
    said = [struct.pack(">II", number, 5) + b"ready" for number in range(2_000)]
    with far, Gate(Reach()) as gate:
        carrier = _Carrier(Attached(engine, "", patience=None), gate)
        far.sendall(b"".join(struct.pack(">B3xI", 1, len(each)) + each for each in said))
        carrier.begin()
        while far.recv(1 << 16):
            pass
        carrier.close()


# --- the programs in the image ----------------------------------------------------------------------------


def frame(stream: int) -> tuple[int, bytes]:
    def exactly(length: int) -> bytes:
        data = b""
        while len(data) < length:
            data += os.read(stream, length - len(data))
        return data

    number, length = struct.unpack(">II", exactly(8))
    return number, exactly(length)


def _send_all(client: socket.socket, data: bytes) -> None:
    client.sendall(data)
    client.shutdown(socket.SHUT_WR)


@pytest.mark.parametrize(("program", "file"), [(sys.executable, "forward.py"), ("perl", "forward.pl")])
def test_a_connection_is_carried_whole_in_both_directions(program: str, file: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"needs {program}")
    source = str(files("acr_cli.sandbox.forwarding") / file)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [program, source, str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    )
    assert process.stdin is not None
    assert process.stdout is not None
    out = process.stdout.fileno()
    data = os.urandom(3 << 20)
    try:
        assert frame(out) == (0, b"ready")
        with (
            socket.create_connection(("127.0.0.1", port)) as silent,
            socket.create_connection(("127.0.0.1", port)) as client,
        ):
            writer = threading.Thread(target=_send_all, args=(client, data))
            writer.start()
            carried, last = b"", b"."
            while last:
                number, last = frame(out)
                assert number == 2, "the other connection says nothing"
                carried += last
            assert carried == data
            writer.join()
            for at in range(0, len(data), 50_000):
                piece = data[at : at + 50_000]
                process.stdin.write(struct.pack(">II", 2, len(piece)) + piece)
            process.stdin.write(struct.pack(">II", 2, 0))
            back = b""
            while piece := client.recv(1 << 16):
                back += piece
            assert back == data
            silent.close()
            assert frame(out) == (1, b"")
    finally:
        process.stdin.close()
        assert process.wait(timeout=30) == 0
        process.stdout.close()
