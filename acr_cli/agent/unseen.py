"""What is never sent to a model: keys, binary and generated files, and what `.acrignore` names."""

from __future__ import annotations

import re
from collections.abc import Sequence

from acr_cli.agent.ignoring import Ignored

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


def visible(paths: Sequence[str], ignored: Ignored) -> tuple[str, ...]:
    """Those of the paths that a model may see: no secrets, nothing ignored, binary or generated. Pure."""
    return tuple(
        path
        for path in paths
        if not (is_secret(path) or is_generated(path) or is_binary(path) or path in ignored)
    )
