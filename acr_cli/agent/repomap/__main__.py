"""`python -m acr_cli.agent.repomap`: reads the files named on standard input, a JSON list a line.

Each line is answered by one line: a list with, for each file, its row as `reading.Row` takes it, or null
where it cannot be read. A process of its own, since a grammar is foreign machine code.
"""

from __future__ import annotations

import base64
import json
import signal
import sys
from array import array
from pathlib import Path

from acr_cli.agent.repomap.reading import MOST, digest_of
from acr_cli.agent.repomap.tags import number, read_tags
from acr_cli.agent.unseen import is_generated_text


def row(root: Path, path: str) -> list[object] | None:
    """Digest, generated or not, definitions, and the numbers of names defined and used."""
    try:
        source = (root / path).read_bytes()
    except OSError:
        return None
    digest = digest_of(path, source)
    if is_generated_text(source):
        return [digest, True, "[]", "", "", ""]
    tags = read_tags(path, source)
    defined = array("q", (number(each.name) for each in tags.definitions))
    used = array("q", (number(name) for name, _ in tags.references))
    counts = array("H", (min(count, MOST) for _, count in tags.references))
    places = [[each.line, each.text] for each in tags.definitions]
    shown = json.dumps(places, ensure_ascii=False, separators=(",", ":"))
    return [digest, False, shown, *(base64.b64encode(a.tobytes()).decode() for a in (defined, used, counts))]


def main() -> int:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is told, and ends this process
    root = Path(sys.argv[1])
    for line in sys.stdin.buffer:
        rows = [row(root, path) for path in json.loads(line)]
        sys.stdout.buffer.write(json.dumps(rows).encode() + b"\n")
        sys.stdout.buffer.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
