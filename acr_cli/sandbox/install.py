"""Installing a repository's dependencies: the script, the settings it may see, the key of its result.

This is the one moment when a sandbox has a way to the network: through `gate`, to public addresses and to the
user's own indexes. The commands may run code of the repository (a `setup.py`) and of the packages that they
install; they get the user's own index settings, which are never stored in an image.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shlex
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from acr_cli.errors import SandboxUnavailable
from acr_cli.events import Emit, Notice
from acr_cli.protocols import CommandResult, Limits, Recipe
from acr_cli.redaction import redact
from acr_cli.sandbox import dependencies
from acr_cli.sandbox.files import entries
from acr_cli.sandbox.gate import Gate
from acr_cli.sandbox.reach import reach

_FORMAT = 2  # part of every key: raise it when the script below changes its result
_TAIL = 2000  # characters of the log that an error shows
_SECONDS = 1800.0
_SAID = 5  # refused connections that are told
_MEMORY = 4 * 1024**3  # building a wheel needs more than running tests
_DISK = 32 * 1024**3
_FILES = 4_000_000

_SETTINGS = (
    *("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_NO_INDEX", "PIP_TRUSTED_HOST", "PIP_DEFAULT_TIMEOUT"),
    *("UV_INDEX", "UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL"),
    *("NPM_CONFIG_REGISTRY", "npm_config_registry", "GOPROXY", "GONOSUMDB"),
)
_PROXIES = (
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"),
    *("http_proxy", "https_proxy", "no_proxy", "all_proxy"),
)
_CERTIFICATES = ("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")

PACKAGES = "ACR_PACKAGES"
_PACKAGES = {
    "PIP_CACHE_DIR": "pip",
    "UV_CACHE_DIR": "uv",
    "npm_config_cache": "npm",
    "npm_config_store_dir": "pnpm",
    "YARN_CACHE_FOLDER": "yarn",
    "COMPOSER_CACHE_DIR": "composer",
    "BUNDLE_USER_CACHE": "bundle",
}
"""Variables by which package managers are told where they may keep downloads."""
# The others download into what the tests use: that is copied from the last time's, and back.
_TAKE = """if [ -d "${{ACR_PACKAGES:-/nonexistent}}"/{d} ]; then
  mkdir -p "$(dirname "$ACR_DEPENDENCIES"/{d})"; cp -R "$ACR_PACKAGES"/{d} "$ACR_DEPENDENCIES"/{d} || true
fi"""
_KEEP = """if [ -n "${{ACR_PACKAGES:-}}" ] && [ -d "$ACR_DEPENDENCIES"/{d} ]; then
  rm -rf "$ACR_PACKAGES"/{d}; mkdir -p "$(dirname "$ACR_PACKAGES"/{d})"
  cp -R "$ACR_DEPENDENCIES"/{d} "$ACR_PACKAGES"/{d} || true
fi"""

_PIP = '#!/bin/sh\\nexec "%s/bin/python" -m pip "$@"\\n'

# Images of Python come without the bytecode of the standard library, and on a read-only root it cannot be
# written later: pytest would compile itself anew at every start.
_COMPILE = """\
import compileall, os, pathlib, re, sysconfig
from importlib.util import cache_from_source
left_out = re.compile(r"/(test|tests|idlelib|lib2to3)/")
for folder in {sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")}:
    sources = (str(path) for path in pathlib.Path(folder).rglob("*.py"))
    if any(not left_out.search(s) and not os.path.exists(cache_from_source(s)) for s in sources):
        compileall.compile_dir(folder, quiet=2, workers=0, rx=left_out)
"""


def settings(environ: Mapping[str, str]) -> dict[str, str]:
    """The user's settings of pip, uv, npm and Go that name no path of this machine. Pure."""
    return {name: environ[name] for name in _SETTINGS if environ.get(name)}


def proxies(environ: Mapping[str, str]) -> dict[str, str]:
    """The user's proxies, for an install step that has the network as it is (`--network on`). Pure."""
    return {name: environ[name] for name in _PROXIES if environ.get(name)}


@contextlib.contextmanager
def gate(environ: Mapping[str, str], emit: Emit) -> Iterator[Gate]:
    """The way out of one install step; afterwards it is said what was asked for and refused.

    Raises: SandboxUnavailable for a proxy of the user's that cannot be used."""
    with Gate(reach(environ)) as opened:
        try:
            yield opened
        finally:
            for why in opened.refused[:_SAID]:
                text = f"The install step was refused a connection: {redact(why)}."
                emit(Notice(level="warning", text=text))


def tell(recipe: Recipe, emit: Emit, how: str) -> None:
    """Says that dependencies are installed, unless none are named: then little or nothing is."""
    if recipe.setup and not recipe.unnamed:
        emit(Notice(level="info", text=f"Installing the repository's dependencies {how}."))


def wheel_folders(environ: Mapping[str, str]) -> tuple[list[str], list[Path]]:
    """PIP_FIND_LINKS, split into addresses and folders that exist here."""
    links = environ.get("PIP_FIND_LINKS", "").split()
    folders = [Path(link) for link in links if Path(link).is_absolute() and Path(link).is_dir()]
    return [link for link in links if "://" in link], folders


def certificates(environ: Mapping[str, str]) -> tuple[tuple[str, ...], Path | None]:
    """The variables that name the user's certificates, node's always among them, and the first one's file."""
    named = [(name, Path(environ[name])) for name in _CERTIFICATES if environ.get(name)]
    named = [(name, path) for name, path in named if path.is_file()]
    if not named:
        return (), None
    return tuple(dict.fromkeys((*(name for name, _ in named), "NODE_EXTRA_CA_CERTS"))), named[0][1]


def key(recipe: Recipe, tree: Path, *more: str) -> str:
    """Names the result of installing: the repository, what is installed from, and how. 64 hex digits."""
    digest = hashlib.sha256()
    parts = [_FORMAT, recipe.repository, recipe.language, recipe.setup, more]
    digest.update(json.dumps(parts).encode())
    for path, relative, status in entries(tree, only=recipe.manifests):
        if stat.S_ISREG(status.st_mode):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            digest.update(f"\n{relative}\0{content}".encode())
        elif stat.S_ISLNK(status.st_mode):
            digest.update(f"\n{relative}\0->{path.readlink()}".encode())
    return digest.hexdigest()


def packages(folder: str) -> dict[str, str]:
    """What makes package managers keep their downloads in a folder, one of each repository. Pure."""
    kept = {name: f"{folder}/{place}" for name, place in _PACKAGES.items()}
    return {PACKAGES: folder, **kept}


def keep_log(home: Path, run: str, recipe: Recipe, output: str) -> Path | None:
    """The file of the run that holds what installing has printed, without secrets; None on a full disk."""
    log = home / "runs" / run / f"install-{recipe.language or 'command'}.log"
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(redact(output), encoding="utf-8")
    except OSError:
        return None
    return log


def limits(usual: Limits) -> Limits:
    """What binds while dependencies are installed."""
    return Limits(
        memory_bytes=max(usual.memory_bytes, _MEMORY),
        pids=max(usual.pids, 512),
        cpus=usual.cpus,
        disk_bytes=max(usual.disk_bytes, _DISK),
        files=max(usual.files, _FILES),
        seconds=_SECONDS,
        output_bytes=usual.output_bytes,
    )


def script(recipe: Recipe, *, venv: str, python: str = "", compile_all: bool = False) -> str:
    """A script for `sh` that makes the environment `venv` (Python only) and runs the setup commands. Pure.

    `python` is the base interpreter; "" takes the one on PATH."""
    lines = ["set -eu"]
    if recipe.language == "python":
        lines += [
            f"base={shlex.quote(python)}" if python else 'base="$(command -v python3 || command -v python)"',
            f"venv={shlex.quote(venv)}",
            *_make_venv(with_pip=bool(recipe.setup)),
            'export VIRTUAL_ENV="$venv" PATH="$venv/bin:$PATH"',
        ]
    else:
        lines.append(f'mkdir -p "${dependencies.VARIABLE}"')
    lines += [_TAKE.format(d=shlex.quote(d)) for d in recipe.downloads]
    for command in recipe.setup:
        lines += [f"printf '+ %s\\n' {shlex.quote(command)}", f"sh -ec {shlex.quote(command)}"]
    lines += [_KEEP.format(d=shlex.quote(d)) for d in recipe.downloads]
    if recipe.language == "python" and compile_all:
        lines += [f"python -c {shlex.quote(_COMPILE)} || true", f'"$base" -c {shlex.quote(_COMPILE)} || true']
    return "\n".join([*lines, ""])


def _make_venv(*, with_pip: bool) -> list[str]:
    make = '"$base" -m venv --system-site-packages'
    if not with_pip:
        return [f'{make} --without-pip "$venv"']
    # The base's own pip installs into the environment that runs it, and is there at once: ensurepip takes
    # seconds, and Debian's Python and small images have none.
    return [
        'if "$base" -c "import pip" >/dev/null 2>&1; then',
        f'  {make} --without-pip "$venv"',
        "  for name in pip pip3; do",
        f'    printf {shlex.quote(_PIP)} "$venv" > "$venv/bin/$name"; chmod 755 "$venv/bin/$name"',
        "  done",
        "else",
        f'  {make} "$venv" >/dev/null 2>&1 || {{ rm -rf "$venv"/*; {make} --without-pip "$venv"; }}',
        "fi",
    ]


def check(result: CommandResult, log: Path | None) -> None:
    """Raises: SandboxUnavailable with the end of the log, and where all of it is, when installing failed."""
    if result.exit_code == 0 and not result.timed_out:
        return
    how = (
        f"took longer than {_SECONDS:.0f} seconds"
        if result.timed_out
        else "ran out of memory"
        if result.out_of_memory
        else "wrote more to the disk than allowed"
        if result.out_of_disk
        else "ran more processes at once than allowed"
        if result.out_of_processes
        else f"failed with exit code {result.exit_code}"
    )
    tail = redact(result.output).strip()[-_TAIL:]
    where = f" All of the log: {log}" if log else ""
    raise SandboxUnavailable(
        f"Installing the repository's dependencies {how}:\n{tail}" if tail else f"Installing {how}.",
        hint=f"Give the install command with --setup, or an image that has them with --image.{where}",
    )
