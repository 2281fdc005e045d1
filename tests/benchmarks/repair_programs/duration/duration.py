"""Durations such as `1d 2h 30m`: read, write, and say roughly."""

import re

UNITS = {
    "w": 604_800,
    "d": 84_600,
    "h": 3_600,
    "m": 60,
    "s": 1,
}
NAMES = {"w": "week", "d": "day", "h": "hour", "m": "minute", "s": "second"}
PART = re.compile(r"(\d+)\s*([wdhms])")


def parse(text: str) -> int:
    """Seconds of a text such as `1h 30m`; every unit at most once."""
    rest = PART.sub("", text.lower()).strip()
    parts = PART.findall(text.lower())
    if rest or not parts:
        raise ValueError(f"not a duration: {text!r}")
    units = [unit for _, unit in parts]
    if len(set(units)) < len(units):
        raise ValueError(f"unit given twice: {text!r}")
    return sum(int(number) * UNITS[unit] for number, unit in parts)


def write(seconds: int) -> str:
    """The shortest exact text, largest unit first."""
    if seconds < 0:
        return "-" + write(-seconds)
    parts = []
    for unit, size in UNITS.items():
        number, seconds = divmod(seconds, size)
        if number:
            parts.append(f"{number}{unit}")
    return " ".join(parts) or "0s"


def roughly(seconds: int) -> str:
    """In words, by the largest unit only: `3 days ago`."""
    for unit, size in UNITS.items():
        number = seconds // size
        if number:
            plural = "" if number == 1 else "s"
            return f"{number} {NAMES[unit]}{plural} ago"
    return "just now"
