"""The current models of the large providers, with family, price and context: a table from litellm's map.

The map has 3.5 MB, most of them other clouds' copies; the table holds what may be wanted and is read in a
millisecond. It counts as long as the installed map is the one that it was made from; with another litellm
the map itself is read. `python -m acr_cli.models.known` writes it anew.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("known.json")
PROVIDERS = (
    *("anthropic", "openai", "gemini", "deepseek", "dashscope", "moonshot", "zai", "minimax", "xai"),
    "mistral",
)
"""Those whose models are listed, as litellm names them."""

_OTHER_USES = re.compile(
    r"^ft:|audio|realtime|image|tts|transcribe|ocr|embed|moderation|live|search-|-search|lyria|robotics|voxtral"
    r"|learnlm|-exp-|omni|-vl-|fim"
)
_DATED = re.compile(r"-\d{4}-\d{2}-\d{2}$|-\d{8}$|-experimental|-beta")


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """What the file holds."""

    source: str  # "litellm 1.110.2"
    date: str  # when the table was made, as YYYY-MM-DD
    map_bytes: int  # the size of the map that it was made from
    models: Mapping[str, Mapping[str, Any]]  # PROVIDER/NAME -> "family" and the fields of `prices.Facts`


@cache
def table() -> Table:
    """The table that was installed with this program."""
    return Table(**json.loads(FILE.read_text(encoding="utf-8")))


def make(rows: Mapping[str, Mapping[str, Any]], *, source: str, date: str, map_bytes: int) -> Table:
    """The table of the models that are priced, write text and are not gone by `date`. Pure."""
    from acr_cli.models.catalogue import family
    from acr_cli.models.prices import facts_of

    models: dict[str, dict[str, Any]] = {}
    for name, row in rows.items():
        provider, bare = row.get("litellm_provider"), name.rsplit("/", 1)[-1]
        full = f"{provider}/{bare}"
        if provider not in PROVIDERS or row.get("mode") not in ("chat", "responses"):
            continue
        if name not in (full, bare) or _OTHER_USES.search(bare) or _DATED.search(bare):
            continue
        if str(row.get("deprecation_date") or "9999") <= date:
            continue
        known = facts_of(row)
        if known.input is None or known.output is None or full in models:
            continue
        told = {field: value for field, value in asdict(known).items() if value is not None}
        models[full] = {"family": family(full), **told}
    ordered = dict(sorted(models.items(), key=lambda item: (PROVIDERS.index(item[0].split("/")[0]), item[0])))
    return Table(source=source, date=date, map_bytes=map_bytes, models=ordered)


def write(path: Path, made: Table) -> None:
    """One model a line, so that a change can be read."""
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in made.models.items())
    head = json.dumps({"source": made.source, "date": made.date, "map_bytes": made.map_bytes})
    path.write_text(f'{head[:-1]}, "models": {{\n{lines}\n}}}}\n', encoding="utf-8")


def installed(date: str) -> Table:
    """What the installed litellm makes of it."""
    from importlib.metadata import version

    from acr_cli.models.prices import map_file, whole_map

    path = map_file()
    size = path.stat().st_size if path else 0
    return make(whole_map(), source=f"litellm {version('litellm')}", date=date, map_bytes=size)


if __name__ == "__main__":
    from datetime import UTC, datetime

    today = sys.argv[1] if len(sys.argv) > 1 else datetime.now(UTC).strftime("%Y-%m-%d")
    write(FILE, installed(today))
