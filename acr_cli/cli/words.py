"""Numbers as people read them. Pure."""

from __future__ import annotations

from collections.abc import Sequence


def usd(amount: float | None) -> str:
    """At most two digits that count: "$0", "$0.0042", "$0.21", "$12.30"; "unpriced" for None."""
    if amount is None:
        return "unpriced"
    if amount <= 0:
        return "$0"
    if amount < 0.000005:
        return "< $0.00001"
    if amount >= 0.1:
        return f"${amount:.2f}"
    digits = 2
    while round(amount, digits) == 0 or amount < 10 ** (1 - digits):
        digits += 1
    whole, _, cents = f"{amount:.{digits}f}".partition(".")
    return f"${whole}.{cents[:2]}{cents[2:].rstrip('0')}"


def seconds(amount: float) -> str:
    """ "0.4 s", "12 s", "3 min 20 s"."""
    if amount < 10:
        return f"{amount:.1f} s"
    whole = round(amount)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min" + (f" {whole % 60} s" if whole % 60 else "")


def ago(amount: float) -> str:
    """How long ago, in seconds before now: "just now", "3 min ago", "2 h ago", "5 days ago"."""
    return f"{age(amount)} ago" if amount >= 60 else "just now"


def age(amount: float) -> str:
    """The same without words around it: "0 min", "3 min", "2 h", "5 days"."""
    if amount < 3600:
        return f"{int(max(0.0, amount) // 60)} min"
    if amount < 2 * 86400:
        return f"{int(amount // 3600)} h"
    return f"{int(amount // 86400)} days"


def size(amount: int) -> str:
    """ "512 B", "1.2 MiB"."""
    value, units = float(amount), ["B", "KiB", "MiB", "GiB", "TiB"]
    while value >= 1024 and len(units) > 1:
        value /= 1024
        units.pop(0)
    return f"{value:.0f} {units[0]}" if units[0] == "B" else f"{value:.1f} {units[0]}"


def number(amount: float) -> str:
    return f"{amount:,.0f}"


def count(amount: int, noun: str, plural: str = "") -> str:
    """ "1 file", "2 files"."""
    return f"{amount:,} {noun if amount == 1 else plural or noun + 's'}"


def listed(names: Sequence[str], most: int = 3) -> str:
    """ "a, b, c and 4 more"."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def changed_lines(patch: str) -> str:
    """ "+3 -1" of a unified diff."""
    added = removed = 0
    in_hunk = False
    for line in patch.splitlines():
        if line.startswith("diff --git"):
            in_hunk = False
        elif line.startswith("@@"):
            in_hunk = True
        elif in_hunk:
            added += line.startswith("+")
            removed += line.startswith("-")
    return f"+{added} -{removed}"
