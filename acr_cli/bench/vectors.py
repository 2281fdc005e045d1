"""Vectors of texts, each embedded once and kept by content: a replay needs the same ones again and again."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from acr_cli.errors import UsageError
from acr_cli.protocols import Embedder


def embedded(texts: Sequence[str], embedder: Embedder, cache: Path) -> dict[str, tuple[float, ...]]:
    """Unit vectors by text. Below `cache` a file for each embedder holds those that were made before.

    Raises: UsageError where the cache cannot be written, ConfigurationError of the embedder."""
    key = hashlib.sha256(embedder.key.encode()).hexdigest()[:16]
    path = cache / f"bench-vectors-{key}.npz"
    known = _read(path, embedder.size)
    names = {text: hashlib.sha256(text.encode("utf-8", "replace")).hexdigest() for text in texts}
    if missing := [text for text in texts if names[text] not in known]:
        for text in missing:
            known[names[text]] = np.asarray(embedder.embed([text])[0], np.float32)
        _write(path, known)
    return {text: tuple(known[name].tolist()) for text, name in names.items()}


def _read(path: Path, size: int) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    try:
        # Opened here: numpy leaves a file open that it cannot read.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
            names, vectors = kept["names"], kept["vectors"]
    except Exception:  # noqa: BLE001  of a damaged archive numpy, zipfile and zlib say in many ways
        return {}  # none yet, or damaged: made anew
    if vectors.ndim != 2 or vectors.shape != (len(names), size):
        return {}
    return dict(zip(names.tolist(), vectors, strict=True))


def _write(path: Path, known: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.stem}.part.npz")
        np.savez(part, names=np.array(list(known)), vectors=np.array(list(known.values())))
        part.replace(path)
    except OSError as error:
        raise UsageError(f"The vectors cannot be kept in {path}: {error.strerror or error}.") from error
