"""Every package manager goes through the one way out of an install step, by what it is told there."""

from __future__ import annotations

import http.server
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from acr_cli.sandbox.gate import PORT, VARIABLES


@dataclass(frozen=True, kw_only=True)
class Asking:
    """A program that wants something from the registry that it takes by default."""

    command: tuple[str, ...]
    files: Mapping[str, str] = field(default_factory=dict)


_POM = """\
<project><modelVersion>4.0.0</modelVersion><groupId>a</groupId><artifactId>b</artifactId><version>1</version>
<dependencies><dependency><groupId>a</groupId><artifactId>none</artifactId><version>1</version></dependency>
</dependencies></project>
"""
_GRADLE = (
    "plugins { id 'java' }\nrepositories { mavenCentral() }\ndependencies { implementation 'a:none:1' }\n"
)
_CARGO = '[package]\nname = "x"\nversion = "0.1.0"\n[dependencies]\nnone = "1"\n'
PROGRAMS = {
    "pip": Asking(
        command=(sys.executable, "-m", "pip", "download", "--no-deps", "--retries=0", "none"),
    ),
    "cargo": Asking(
        command=("cargo", "fetch"),
        files={"Cargo.toml": _CARGO, "src/lib.rs": ""},
    ),
    "go": Asking(
        command=("go", "mod", "download"),
        files={"go.mod": "module x\n\ngo 1.19\n\nrequire example.org/none v1.0.0\n"},
    ),
    "maven": Asking(
        command=("mvn", "-q", "-B", "dependency:resolve"),
        files={"pom.xml": _POM},
    ),
    "gradle": Asking(
        command=("gradle", "--no-daemon", "-q", "dependencies", "--configuration", "compileClasspath"),
        files={"build.gradle": _GRADLE, "settings.gradle": ""},
    ),
}


class _Refusing(http.server.BaseHTTPRequestHandler):
    asked: list[str]

    def do_CONNECT(self) -> None:
        self.asked.append(self.path)
        self.send_error(403)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def asked() -> Iterator[tuple[int, list[str]]]:
    """The port of a proxy, and where it was asked to connect to."""
    handler = type("_Here", (_Refusing,), {"asked": []})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port, handler.asked
        server.shutdown()


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_registry_is_asked_for_through_the_proxy(
    name: str, asked: tuple[int, list[str]], tmp_path: Path
) -> None:
    asking, (port, hosts) = PROGRAMS[name], asked
    if shutil.which(asking.command[0]) is None:
        pytest.skip(f"needs {asking.command[0]}")
    for path, text in asking.files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    told = {variable: value.replace(str(PORT), str(port)) for variable, value in VARIABLES.items()}
    kept = {n: os.environ[n] for n in ("PATH", "RUSTUP_HOME", "LD_LIBRARY_PATH") if n in os.environ}
    own = {"HOME": str(tmp_path), "RUSTUP_HOME": _rustup(), **kept, "CARGO_NET_RETRY": "0"}
    subprocess.run(
        asking.command, cwd=tmp_path, env={**own, **told}, capture_output=True, timeout=120, check=False
    )
    assert [host for host in hosts if host.endswith(":443")]


def _rustup() -> str:
    """Where the toolchains are that cargo starts, beside the program itself."""
    cargo = shutil.which("cargo")
    return str(Path(cargo).parent.parent.parent / ".rustup") if cargo else ""
