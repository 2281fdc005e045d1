"""Writes to stdout, as a tar, a root file system that holds this Python, its pytest and a few programs.

No registry is asked: everything is taken from the machine. The tests' containers start from it, with a user
of uid 1000 and a read-only root, so bytecode is compiled here: there it could not be written, and pytest
would compile itself anew at every start.
"""

from __future__ import annotations

import compileall
import contextlib
import hashlib
import importlib.metadata
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from py_compile import PycInvalidationMode

DISTRIBUTIONS = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")
PROGRAMS = (
    *("sh", "bash", "env", "id", "true", "false", "echo", "timeout", "sleep", "kill"),
    *(
        "cat",
        "ls",
        "cp",
        "mv",
        "rm",
        "ln",
        "mkdir",
        "mktemp",
        "touch",
        "chmod",
        "stat",
        "dirname",
        "basename",
    ),
    *("head", "tail", "grep", "find", "du", "sed", "sort", "wc", "dd", "tar", "uname"),
)
NOT_IN_A_TEST = shutil.ignore_patterns(
    *(
        "__pycache__",
        "site-packages",
        "dist-packages",
        "test",
        "idlelib",
        "tkinter",
        "_tkinter*",
        "turtledemo",
    ),
    *("ensurepip", "lib2to3", "config-*"),
)
OWNED_BY_RUNNER = ("src", "home/runner")
RUNNER = 1000
PASSWD = """\
root:x:0:0::/root:/bin/sh
runner:x:1000:1000::/home/runner:/bin/sh
nobody:x:65534:65534::/:/bin/false
"""
GROUP = "root:x:0:\nrunner:x:1000:\nnogroup:x:65534:\n"


def image_key() -> str:
    """Changes whenever the image would: with this file, the Python, or one of the distributions."""
    versions = [f"{name} {importlib.metadata.version(name)}" for name in DISTRIBUTIONS]
    digest = hashlib.sha256(Path(__file__).read_bytes())
    digest.update("\n".join([sys.version, *versions]).encode())
    return digest.hexdigest()[:16]


def add_skeleton(root: Path) -> None:
    for folder in (
        "usr/bin",
        "usr/lib",
        "usr/lib64",
        "etc",
        "root",
        "proc",
        "dev",
        "sys",
        "tmp",
        *OWNED_BY_RUNNER,
    ):
        (root / folder).mkdir(parents=True)
    for name in ("bin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    (root / "tmp").chmod(0o1777)
    (root / "etc/passwd").write_text(PASSWD)
    (root / "etc/group").write_text(GROUP)


def add_python(root: Path) -> None:
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    library = root / "opt/python/lib" / version
    shutil.copytree(
        sysconfig.get_path("stdlib"), library, ignore=NOT_IN_A_TEST, ignore_dangling_symlinks=True
    )
    programs = root / "opt/python/bin"
    programs.mkdir()
    shutil.copy(Path(sys.executable).resolve(), programs / version)
    for name in ("python3", "python"):
        (programs / name).symlink_to(version)
        (root / "usr/bin" / name).symlink_to(f"/opt/python/bin/{version}")
    for name in DISTRIBUTIONS:
        add_distribution(name, library / "site-packages")
    compileall.compile_dir(
        library,
        quiet=2,
        stripdir=os.fspath(root),
        workers=0,
        invalidation_mode=PycInvalidationMode.UNCHECKED_HASH,
    )


def add_distribution(name: str, site: Path) -> None:
    """Copies the modules and the metadata of an installed distribution; scripts outside of them are left."""
    for file in importlib.metadata.files(name) or ():
        if ".." not in file.parts and file.suffix != ".pyc":
            target = site / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file.locate(), target)


def add_programs(root: Path) -> None:
    for name in PROGRAMS:
        if found := shutil.which(name, path="/usr/bin:/bin"):
            shutil.copy(Path(found).resolve(), root / "usr/bin" / name)


def add_shared_libraries(root: Path) -> None:
    """Copies what the executables and extension modules in `root` are linked with."""
    binaries = [
        path
        for path in root.rglob("*")
        if path.is_file() and not path.is_symlink() and (os.access(path, os.X_OK) or ".so" in path.suffixes)
    ]
    said = subprocess.run(["ldd", *map(str, binaries)], capture_output=True, text=True, check=False).stdout
    for library in sorted(
        {word for line in said.splitlines() for word in line.split() if word.startswith("/")}
    ):
        source = Path(library)
        if not source.is_file() or source.is_relative_to(root):
            continue
        # A loader is found by its full path; all else lies where the loader looks first.
        loader = source.name.startswith("ld-")
        folder = root / (source.parent.relative_to("/") if loader else "usr/lib")
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(source.resolve(), folder / source.name)


def owned(member: tarfile.TarInfo) -> tarfile.TarInfo:
    name = member.name.removeprefix("./")
    member.uid = member.gid = RUNNER if name.startswith(OWNED_BY_RUNNER) else 0
    member.uname = member.gname = ""
    return member


@contextlib.contextmanager
def root_file_system() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="acr-image-") as folder:
        root = Path(folder).resolve()
        root.chmod(0o755)
        add_skeleton(root)
        add_python(root)
        add_programs(root)
        add_shared_libraries(root)
        yield root


def main() -> None:
    if "--key" in sys.argv[1:]:
        print(image_key())
        return
    with root_file_system() as root, tarfile.open(fileobj=sys.stdout.buffer, mode="w|") as tar:
        tar.add(root, arcname=".", filter=owned)


if __name__ == "__main__":
    main()
