"""What is never sent to a model: keys, binary and generated files, and what `.acrignore` names.

`.acrignore` lies at the root of the repository and is written like a `.gitignore`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

IGNORE_FILE = ".acrignore"

_SECRET = re.compile(
    r"(^|/)(\.env(\.(?!example|sample|template)[^/]*)?|\.netrc|\.pypirc|\.npmrc|\.pgpass|\.htpasswd|"
    r"id_(rsa|dsa|ecdsa|ed25519)|credentials(\.json)?|[^/]*\.(pem|p12|pfx|key|keystore|jks|kdbx))$|"
    r"(^|/)\.(aws|ssh|gnupg)/",
    re.IGNORECASE,
)
_GENERATED_NAME = re.compile(
    r"(^|/)(package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|poetry\.lock|uv\.lock|pdm\.lock|"
    r"Pipfile\.lock|Cargo\.lock|composer\.lock|Gemfile\.lock|go\.sum|flake\.lock|"
    r"[^/]*(\.min\.(js|css)|\.(js|css)\.map|_pb2(_grpc)?\.pyi?|\.pb\.(go|cc|h)|\.g\.dart|\.designer\.cs))$",
    re.IGNORECASE,
)
_GENERATED_TEXT = re.compile(
    rb"@generated\b|\bcode generated\b[^\n]{0,120}\bdo not edit\b|\bauto-?generated (by|from|file)\b|"
    rb"\bgenerated (by the protocol buffer compiler|file[.,:;]? do not (edit|modify))",
    re.IGNORECASE,
)
_LONGEST = 4_096  # characters of a path, and so of a pattern
_BEGINNING = 2_000  # bytes that say what a file is
_LONG_LINE = 20_000  # bytes; nobody writes one by hand

HEAD = _LONG_LINE + 1
"""Bytes of a file that tell whether it is generated."""

_IMAGES = frozenset(
    ["avif", "bmp", "gif", "heic", "ico", "jpeg", "jpg", "png", "svgz", "tif", "tiff", "webp"]
)
_BINARY = _IMAGES | frozenset(
    {
        *("7z", "a", "bin", "bz2", "class", "dat", "db", "dll", "dylib", "exe"),
        *("eot", "flac", "gz", "jar", "lib", "mo", "mov", "mp3"),
        *("mp4", "npy", "npz", "o", "obj", "ods", "odt", "ogg", "otf", "parquet", "pdf", "pkl"),
        *("pyc", "pyd", "pyo", "rar", "so", "sqlite", "sqlite3", "tar", "tgz"),
        *("ttf", "war", "wasm", "wav", "webm", "whl", "woff", "woff2", "xls", "xlsx", "xz"),
        *("zip", "zst"),
    }
)


def is_secret(path: str) -> bool:
    """Whether a file by its name holds keys, which are never shown to a model. Pure."""
    return _SECRET.search(path) is not None


def is_generated(path: str) -> bool:
    """Whether a file by its name is written by a program. Pure."""
    return _GENERATED_NAME.search(path) is not None


def is_generated_text(source: bytes) -> bool:
    """Whether a file's text says that a program has written it, or looks like it. Pure."""
    head = source[:_BEGINNING]
    if b"generated" in head.lower() and _GENERATED_TEXT.search(head):
        return True
    return len(source) > _LONG_LINE and (b"\n" not in source[:_LONG_LINE])


def images_named(text: str) -> tuple[str, ...]:
    """The pictures that a text embeds or names, at most five. Pure."""
    words = re.split(r"[\s<>\"'`()\[\]]+", text)
    named = (word.rstrip(".,;:!?") for word in words)
    return tuple(dict.fromkeys(word for word in named if "." in word and is_image(word.partition("?")[0])))[
        :5
    ]


def is_image(path: str) -> bool:
    """Whether a file by its name is a picture. Pure."""
    return path.rpartition(".")[2].lower() in _IMAGES


def is_binary(path: str) -> bool:
    """Whether a file by its name is no text. Pure."""
    return path.rpartition(".")[2].lower() in _BINARY


@dataclass(frozen=True, kw_only=True, slots=True)
class Ignored:
    """The patterns of an ignore file, in their order: the last one that matches decides."""

    patterns: tuple[tuple[re.Pattern[str], bool, bool], ...] = ()  # regular expression, negated, folders only

    def __contains__(self, path: str) -> bool:
        """Whether a file is ignored, or lies in a folder that is. Pure."""
        if not self.patterns:
            return False
        parts = path.split("/")
        inside = ("/".join(parts[:depth]) for depth in range(1, len(parts)))
        return any(self._says(folder, folder=True) for folder in inside) or self._says(path, folder=False)

    def _says(self, path: str, *, folder: bool) -> bool:
        ignored = False
        for pattern, negated, folders_only in self.patterns:
            if (folder or not folders_only) and pattern.fullmatch(path):
                ignored = not negated
        return ignored


def read_ignored(root: Path) -> Ignored:
    """What the ignore file at the root of a tree names; nothing where there is none or it cannot be read."""
    file = root / IGNORE_FILE
    try:
        text = "" if file.is_symlink() else file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    return ignored_by(text.splitlines())


def ignored_by(lines: Iterable[str]) -> Ignored:
    """The lines of an ignore file, read as git reads its own. Pure."""
    return Ignored(patterns=tuple(found for line in lines if (found := _pattern(line)) is not None))


def visible(paths: Sequence[str], ignored: Ignored) -> tuple[str, ...]:
    """Those of the paths that a model may see: no secrets, nothing ignored, binary or generated. Pure."""
    return tuple(
        path
        for path in paths
        if not (is_secret(path) or is_generated(path) or is_binary(path) or path in ignored)
    )


@cache
def _pattern(line: str) -> tuple[re.Pattern[str], bool, bool] | None:
    if len(line) > _LONGEST:
        return None
    text = re.sub(r"(?<!\\)((?:\\\\)*)[ \t]+$", r"\1", line.rstrip("\r\n"))
    if not text or text.startswith("#"):
        return None
    negated = text.startswith("!")
    text = text.removeprefix("!")
    folders_only = text.endswith("/")
    text = text.rstrip("/") if folders_only else text
    anchored = "/" in text
    text = text.removeprefix("/")
    if not text:
        return None
    try:
        return re.compile(("" if anchored else "(?:.*/)?") + _regex(text), re.DOTALL), negated, folders_only
    except re.error:
        return None


def _regex(glob: str) -> str:
    """A git pattern as a regular expression over a whole path. Pure.

    What lies between two stars is looked for once: the first place that it is found at is as good as any, so
    that no number of stars takes long."""
    whole: list[str] = []
    parts: list[str] = []  # since the last `**/`
    star = 0  # where in `parts` the last star stands, from 1; 0 for none
    at = 0
    while at < len(glob):
        rest = glob[at:]
        if (at == 0 or glob[at - 1] == "/") and (rest.startswith("**/") or rest == "**"):
            if rest == "**":
                parts.append(".+")
                break
            whole += ["".join(parts)] if not whole else [f"(?>(?:[^/]+/)*?{''.join(parts)})"]
            parts, star = [], 0
            at += 3
        elif match := re.match(r"\*+", rest):
            if star:
                parts[star - 1 :] = [f"(?>[^/]*?{''.join(parts[star:])})"]
            parts.append("[^/]*")
            star = len(parts)
            at += match.end()
        elif match := re.match(r"\[([!^]?)(\]?(?:\\.|\[:\w+:\]|[^\]\\])*)\]", rest):
            parts.append(_characters(*match.groups()))
            at += match.end()
        elif rest[0] == "\\" and len(rest) > 1:
            parts.append(re.escape(rest[1]))
            at += 2
        else:
            parts.append("[^/]" if rest[0] == "?" else re.escape(rest[0]))
            at += 1
    return "".join(whole) + ("(?:[^/]+/)*" if whole else "") + "".join(parts)


def _characters(negated: str, body: str) -> str:
    classes = {"[:alpha:]": "a-zA-Z", "[:digit:]": "0-9", "[:alnum:]": "a-zA-Z0-9", "[:space:]": r"\s"}
    for name, characters in classes.items():
        body = body.replace(name, characters)
    # Two of these in a row are to mean something else one day.
    body = re.sub(r"([\[&~|]|(?<=-)-)", r"\\\1", body)
    body = r"\]" + body[1:] if body.startswith("]") else body
    return f"(?!/)[{'^' if negated else ''}{body}]"
