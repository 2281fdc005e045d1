"""`make audit`: whether each locked dependency has a licence that a product under MIT can be shipped with.

A package that belongs on this machine and is not installed has not been looked at: that is a failure.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.markers import Marker

LOCK = Path(__file__).parents[2] / "requirements" / "dev.txt"
ALLOWED = re.compile(
    r"\b(MIT|MIT-0|BSD|0BSD|Apache|ISC|PSF|Python Software Foundation|Python-2\.0|MPL|Mozilla Public"
    r"|Unlicense|CC0|Zlib|HPND|Public Domain|CNRI)\b",
    re.IGNORECASE,
)
REFUSED = re.compile(r"\b(AGPL|GPL|SSPL|BUSL|Affero|Commons Clause|proprietary)", re.IGNORECASE)
SPOKEN = {"lesser": re.compile(r"\b(LGPL|Lesser)", re.IGNORECASE)}  # may be used as a library, unchanged


def pinned(lock: str) -> list[tuple[str, str]]:
    """The packages that a lock file pins, with the marker of each; "" without one. Pure."""
    found = re.findall(r"^([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?==[^\s;]+(?: ;([^\\\n]*))?", lock, re.MULTILINE)
    return [(name, marker.strip()) for name, marker in found]


def belongs_here(marker: str) -> bool:
    """Whether a package with this marker is installed on this system and version of Python."""
    return not marker or Marker(marker).evaluate()


def licence(found: Distribution) -> str:
    """What a package says: the expression, else its classifiers, else the first line of its field."""
    data = found.metadata
    if expression := data.get("License-Expression"):
        return str(expression)
    classifiers = [
        str(line) for line in data.get_all("Classifier") or () if str(line).startswith("License ::")
    ]
    if classifiers:
        return ", ".join(line.rpartition(" :: ")[2] for line in classifiers)
    return str(data.get("License") or "").strip().split("\n")[0]


def acceptable(said: str) -> bool:
    """Whether one of the licences offered is permissive, or of the lesser kind of libraries. Pure."""
    offered = re.split(r"\s+OR\s+|,", said, flags=re.IGNORECASE)
    return any(
        SPOKEN["lesser"].search(one) or (ALLOWED.search(one) and not REFUSED.search(one)) for one in offered
    )


def main() -> int:
    refused, unknown, skipped, seen = [], [], [], 0
    for name, marker in pinned(LOCK.read_text(encoding="utf-8")):
        if not belongs_here(marker):
            continue
        try:
            said = licence(distribution(name))
        except PackageNotFoundError:
            skipped.append(name)
            continue
        seen += 1
        if not said:
            unknown.append(name)
        elif not acceptable(said):
            refused.append(f"{name} ({said})")
    for what, found in (("refused", refused), ("unknown", unknown), ("not looked at", skipped)):
        if found:
            print(f"licences {what}: {', '.join(found)}")
    print(
        f"licences of {seen} packages: {len(refused)} refused, {len(unknown)} unknown,"
        f" {len(skipped)} not looked at"
    )
    return 1 if refused or unknown or skipped else 0


if __name__ == "__main__":
    sys.exit(main())
