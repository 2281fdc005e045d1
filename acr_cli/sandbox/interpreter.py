"""Which Python the tests run with where there is no image: the user's environment, else a cached one.

An interpreter of the repository itself (`.venv`) is never run outside a sandbox: its `pyvenv.cfg` is read as
text, and the base interpreter that it names is believed only where a standard library really lies. Of a
prefix that holds more than a Python (`/`, a home directory, what lies around the repository) only its Python
is shown to the sandbox.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from acr_cli.errors import SandboxUnavailable
from acr_cli.sandbox.caches import owner_of
from acr_cli.sandbox.files import remove_tree

_KEPT = 3  # cached environments of one repository
_ASK = (
    "import json, sys;"
    " print(json.dumps([sys._base_executable or sys.executable, sys.base_prefix, sys.version]))"
)
_INSTALL_PYTHON = "Install Python 3 with its venv module (Debian: python3-venv), or use --sandbox docker."


@dataclass(frozen=True, kw_only=True, slots=True)
class Interpreter:
    """A Python of this machine, and the folders that it needs to see."""

    program: Path
    prefixes: tuple[Path, ...]
    version: str = ""
    environment: Path | None = None  # the user's virtual environment, complete with its dependencies


def users_environment(environ: Mapping[str, str], repository: Path | None) -> Interpreter | None:
    """The active virtual environment, else the repository's `.venv` or `venv`; None when there is none."""
    places = [Path(environ["VIRTUAL_ENV"])] if environ.get("VIRTUAL_ENV") else []
    if repository is not None:
        places += [repository / ".venv", repository / "venv"]
    for place in places:
        program = place / "bin" / "python"
        if _holds_more(place.resolve(), environ, repository):
            continue  # a link that leads to the repository itself, or to a home
        bases = tuple(part for base in _bases(place) for part in _shown(base, environ, repository))
        if bases and os.path.lexists(program):
            return Interpreter(program=program, prefixes=(place.absolute(), *bases), environment=place)
    return None


def _bases(environment: Path) -> tuple[Path, ...]:
    """Where the base interpreter of an environment lies, by its pyvenv.cfg; () when it is not one."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        for line in (environment / "pyvenv.cfg").read_text().splitlines():
            name, _, value = line.partition("=")
            if name.strip() == "home" and value.strip():
                home = Path(value.strip())
                return tuple(p for p in _prefixes(home / "python3") if _is_prefix(p))
    return ()


def _prefixes(program: Path) -> tuple[Path, ...]:
    """The prefix of an interpreter as named and with links followed, so that both ways to it work."""
    named, real = program.parent.parent, program.resolve().parent.parent
    return tuple(dict.fromkeys((named, named.resolve(), real)))


def _is_prefix(folder: Path) -> bool:
    return folder.is_absolute() and any(folder.glob("lib*/python3*/os.py"))


def _shown(prefix: Path, environ: Mapping[str, str], repository: Path | None) -> tuple[Path, ...]:
    """What the sandbox may see of a prefix: all, or of one that holds more than a Python its parts alone."""
    if not _holds_more(prefix.resolve(), environ, repository):
        return (prefix,)
    libraries = [file.parent for file in prefix.glob("lib*/python3*/os.py")]
    parts = [*libraries, *prefix.glob("bin/python3*"), *prefix.glob("lib*/libpython3*")]
    # Below /usr all is seen anyway, also where a link of the root leads there.
    return tuple(sorted(part for part in parts if not part.parent.resolve().is_relative_to("/usr")))


def _holds_more(folder: Path, environ: Mapping[str, str], repository: Path | None) -> bool:
    """Whether a folder is the root, or the repository, a home or the files of acr lie in it. Pure."""
    inside = [Path(environ[name]) for name in ("HOME", "ACR_HOME") if environ.get(name)]
    inside += [Path.home(), *([repository] if repository is not None else [])]
    return any(each.resolve().is_relative_to(folder) for each in inside)


def base_interpreter(environ: Mapping[str, str], repository: Path | None) -> Interpreter:
    """The first python3 on PATH that runs and is not the repository's own, else the one that runs acr.

    Raises: SandboxUnavailable when there is none."""
    for folder in environ.get("PATH", os.defpath).split(os.pathsep):
        program = Path(folder) / "python3"
        inside = repository is not None and program.absolute().is_relative_to(repository.absolute())
        if Path(folder).is_absolute() and not inside and os.access(program, os.X_OK):
            found = _ask(program, environ, repository)
            if found is not None:
                return found
    own = _ask(Path(sys.executable), environ, repository)
    if own is None:
        raise SandboxUnavailable("No Python 3 can be run on this machine.", hint=_INSTALL_PYTHON)
    return own


def _ask(program: Path, environ: Mapping[str, str], repository: Path | None) -> Interpreter | None:
    # -I and -S: neither the folder it stands in nor any .pth file of an environment runs code here.
    kept = {k: v for k, v in environ.items() if k in {"PATH", "HOME", "PYENV_ROOT", "LD_LIBRARY_PATH"}}
    try:
        asked = subprocess.run(
            [program, "-I", "-S", "-c", _ASK], cwd="/", env=kept, capture_output=True, timeout=20, check=True
        )
        executable, prefix, version = json.loads(asked.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    prefixes = tuple(dict.fromkeys((Path(prefix), *_prefixes(Path(executable)))))
    return Interpreter(
        program=Path(executable),
        prefixes=tuple(part for p in prefixes if _is_prefix(p) for part in _shown(p, environ, repository)),
        version=version,
    )


def cached_environment(home: Path, repository: str, key: str, build: Callable[[Path], None]) -> Path:
    """The environment of this key; `build` makes it at the path that it gets, once for all who ask.

    The few newest of a repository are kept."""
    from filelock import FileLock

    cache = home / "cache" / "envs"
    owner = owner_of(repository)
    folder = cache / f"{owner}-{key[:20]}"
    cache.mkdir(parents=True, exist_ok=True)
    with FileLock(cache / f"{folder.name}.lock"):
        complete = folder / "complete"
        if not complete.exists():
            remove_tree(folder)
            folder.mkdir()
            try:
                build(folder / "venv")
                complete.touch()
            finally:
                if not complete.exists():
                    remove_tree(folder)
        os.utime(folder)
    old = sorted((p for p in cache.glob(f"{owner}-*") if p.is_dir()), key=lambda p: -p.stat().st_mtime)
    for unused in old[_KEPT:]:
        remove_tree(unused)
    return folder / "venv"
