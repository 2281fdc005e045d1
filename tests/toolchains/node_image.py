"""An image with node and npm: the tests' base image, and on it what this machine has of them."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path
from typing import Any

NAME = "acr-test-node:ci"
PROGRAMS = ("node", "awk", "tee", "tr")
NPM = Path("/usr/lib/node_modules/npm")


def make(client: Any, base: str) -> str:
    """The name of the image, made unless it is there already and of the same base and node."""
    import docker

    node = Path("/usr/bin/node").resolve()
    key = f"{client.images.get(base).id} {node.stat().st_size} {node.stat().st_mtime_ns}"
    try:
        if client.images.get(NAME).labels.get("acr-test.node") == key:
            return NAME
    except docker.errors.ImageNotFound:
        pass
    container = client.containers.create(base, ["true"])
    try:
        container.put_archive("/", _archive())
        repository, _, tag = NAME.partition(":")
        container.commit(repository, tag, conf={"Labels": {"acr-test.node": key}})
    finally:
        container.remove(force=True)
    return NAME


def _archive() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in PROGRAMS:
            program = Path("/usr/bin", name).resolve()
            archive.add(program, f"usr/bin/{name}")
            for library in _libraries(program):
                archive.add(library.resolve(), f"usr/lib/{library.name}")
        archive.add(NPM, str(NPM)[1:])
        for name in ("npm", "npx"):
            link = tarfile.TarInfo(f"usr/bin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, f"../lib/node_modules/npm/bin/{name}-cli.js"
            archive.addfile(link)
    return buffer.getvalue()


def _libraries(program: Path) -> list[Path]:
    said = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    words = [word for line in said.splitlines() for word in line.split() if word.startswith("/")]
    return [Path(word) for word in words if "ld-" not in word]
