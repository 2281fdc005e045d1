"""A language's programs on this machine that lie where a walled sandbox would not look.

Programs below /usr are seen anyway. A version that the user put elsewhere (nvm, rustup, an archive of Go or
of a JDK) is looked for on the user's PATH, and its own folder, and nothing beside it, is shown read-only.
Nothing is run to find it. A program of the repository's own is never taken, and neither are the small scripts
that version managers put on PATH (`shims`): they need their manager and its settings.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acr_cli.sandbox.files import is_inside

PROGRAMS: Mapping[str, tuple[str, ...]] = {
    "javascript": ("node",),
    "typescript": ("node",),
    "go": ("go",),
    "rust": ("cargo",),
    "java": ("java", "mvn", "gradle"),
    "c": ("cmake", "meson", "ninja"),
    "cpp": ("cmake", "meson", "ninja"),
    "ruby": ("ruby",),
    "php": ("php", "phpunit"),
}
"""What is looked for, by language."""

_NEEDED = {"c": ("cc",), "cpp": ("c++",)}  # the same without which nothing can be tested
_SEEN = (Path("/usr"), Path("/bin"), Path("/sbin"), Path("/lib"), Path("/nix/store"), Path("/gnu/store"))
_USUAL = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin")
_ALSO = {"go": ("/usr/local/go/bin",)}  # where an archive is unpacked by its own instructions
_CHANNEL = re.compile(r"[\w.-]+\Z")


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """Folders that must be visible, and what goes on PATH before the system's own folders."""

    visible: tuple[Path, ...] = ()
    path: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()  # of the programs' files: others after another version was installed


def find(language: str, environ: Mapping[str, str], repository: Path | None, tree: Path) -> Found:
    """The programs of a language as the user's shell would find them; nothing where the system's will do."""
    visible: dict[Path, None] = {}
    path: dict[str, None] = {}
    marks: list[str] = []
    for name in PROGRAMS.get(language, ()):
        program = _on_path(name, environ, repository, _ALSO.get(language, ()))
        if program is None:
            continue
        real = program.resolve()
        status = real.stat()
        marks.append(f"{real} {status.st_size} {status.st_mtime_ns}")
        if str(program.parent) in _USUAL:
            continue
        if real.name == "rustup":
            folder = _rust(environ, tree)
            if folder is None:
                continue
            visible[folder], path[str(folder / "bin")] = None, None
            continue
        shown = _home_of(real, environ)
        if not any(shown.is_relative_to(seen) for seen in _SEEN):
            visible[shown] = None
        path[str(real.parent)] = None
    return Found(visible=tuple(visible), path=tuple(path), marks=tuple(marks))


def there(language: str, environ: Mapping[str, str], repository: Path | None) -> bool:
    """Whether the first program that a language needs is on this machine; Python always is."""
    names = _NEEDED.get(language) or PROGRAMS.get(language, ())
    return not names or _on_path(names[0], environ, repository, _ALSO.get(language, ())) is not None


def _on_path(
    name: str, environ: Mapping[str, str], repository: Path | None, also: tuple[str, ...]
) -> Path | None:
    for folder in (*environ.get("PATH", os.defpath).split(os.pathsep), *also):
        program = Path(folder) / name
        if not program.is_absolute() or "shims" in program.parts or not os.access(program, os.X_OK):
            continue
        inside = repository is not None and program.is_relative_to(repository.absolute())
        if program.is_file() and not inside:
            return program
    return None


def _home_of(program: Path, environ: Mapping[str, str]) -> Path:
    """The folder of `bin/PROGRAM` where it is the program's own; else the program alone."""
    folder = program.parent.parent
    home = Path(environ.get("HOME", "/root"))
    shared = home.is_relative_to(folder) or folder in (home / ".local", Path("/"), Path("/opt"))
    return program if shared or program.parent.name != "bin" else folder


def _rust(environ: Mapping[str, str], tree: Path) -> Path | None:
    """The folder of the toolchain that rustup would take: the tree's own choice, else the default."""
    home = Path(environ.get("RUSTUP_HOME") or Path(environ.get("HOME", "/root"), ".rustup"))
    for wanted in _channels(home, tree):
        if not _CHANNEL.match(wanted):
            continue
        installed = sorted(home.glob(f"toolchains/{wanted}*"))
        exact = [folder for folder in installed if folder.name == wanted]
        for folder in (*exact, *installed):
            if (folder / "bin" / "cargo").is_file():
                return folder.resolve()
    return None


def _channels(home: Path, tree: Path) -> Iterator[str]:
    names = ("rust-toolchain.toml", "rust-toolchain")
    inside = [tree / name for name in names if (tree / name).is_file() and is_inside(tree, name)]
    named = next((found for file in inside if (found := _toml(file))), {})
    chosen = named.get("toolchain")
    if isinstance(chosen, dict) and isinstance(chosen.get("channel"), str):
        yield chosen["channel"]
    elif tree / "rust-toolchain" in inside:
        yield (tree / "rust-toolchain").read_text(errors="replace").strip()
    default = _toml(home / "settings.toml").get("default_toolchain")
    yield default if isinstance(default, str) else "stable"
    yield "stable"


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
