"""Slots: the session's folder and private copies of it, in each of which one candidate runs at a time."""

from __future__ import annotations

import os
import shutil

COPY_BYTES = 300 << 20  # a larger tree is not copied: its candidates run one after the other
COPY_FILES = 30_000
LONG_AGO = 946_684_800  # 2000-01-01: no source file of the tree was modified then


class Slot:
    """A folder whose files can be changed and brought back."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._saved: dict[str, tuple[bytes, int, int]] = {}
        self._clock = LONG_AGO

    def write(self, edits: list[dict[str, object]]) -> None:
        """Apply edits (path, start, end in bytes, text in Latin-1), each file's from its end to its start."""
        self.restore()
        for edit in sorted(edits, key=lambda e: -int(str(e["start"]))):
            path = os.path.join(self.folder, str(edit["path"]))
            if path not in self._saved:
                state = os.stat(path)
                with open(path, "rb") as source:
                    self._saved[path] = (source.read(), state.st_atime_ns, state.st_mtime_ns)
            with open(path, "rb") as source:
                text = source.read()
            start, end = int(str(edit["start"])), int(str(edit["end"]))
            with open(path, "wb") as target:
                target.write(text[:start] + str(edit["text"]).encode("latin-1") + text[end:])
            # Compiled modules are recognised by whole seconds and size: each version gets its own second.
            self._clock += 1
            os.utime(path, (self._clock, self._clock))

    def restore(self) -> None:
        for path, (text, accessed, modified) in self._saved.items():
            with open(path, "wb") as target:
                target.write(text)
            os.utime(path, ns=(accessed, modified))
        self._saved.clear()


def copies(workdir: str, scratch: str, wanted: int) -> list[str]:
    """Up to `wanted` folders to run in: the session's own and copies of it (made once)."""
    folders = [workdir]
    if _too_large(workdir):
        return folders
    for number in range(1, wanted):
        folder = os.path.join(scratch, "slot%d" % number)
        if not os.path.isdir(folder):
            try:
                shutil.copytree(workdir, folder, symlinks=True)
            except (OSError, shutil.Error):
                shutil.rmtree(folder, ignore_errors=True)
                break
        folders.append(folder)
    return folders


def _too_large(folder: str) -> bool:
    files = size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            files += 1
            try:
                size += os.lstat(os.path.join(place, name)).st_size
            except OSError:
                continue
        if files > COPY_FILES or size > COPY_BYTES:
            return True
    return False
