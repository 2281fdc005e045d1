"""Small charts of text: bars in a table, and a line over time. Pure."""

from __future__ import annotations

from collections.abc import Sequence

EIGHTHS = " ▏▎▍▌▋▊▉█"


def bar(share: float | None, width: int = 10, *, plain: bool = False) -> str:
    """A bar as long as `share` of `width`, share in [0, 1]; `plain` for terminals without Unicode."""
    if share is None:
        return ""
    filled = min(max(share, 0.0), 1.0) * width
    if plain:
        return "#" * round(filled)
    whole = int(filled)
    rest = EIGHTHS[round((filled - whole) * 8)].strip()
    return "█" * whole + rest


def line(
    values: Sequence[float | None],
    *,
    top: float,
    labels: tuple[str, str],
    height: int = 5,
    step: int = 5,
    plain: bool = False,
) -> list[str]:
    """Points over time, `step` columns apart, between 0 and `top`; `labels` are those of 0 and of `top`."""
    dot, dash, corner, wall = ("*", "-", "+", "|") if plain else ("●", "─", "└", "│")
    width = max(map(len, labels))
    rows = [[" "] * (step * len(values)) for _ in range(height)]
    places = [
        None if value is None else round((height - 1) * min(max(value / top, 0.0), 1.0)) if top > 0 else 0
        for value in values
    ]
    for i, place in enumerate(places):
        if place is None:
            continue
        rows[place][i * step + step // 2] = dot
        following = places[i + 1] if i + 1 < len(places) else None
        if following is not None:
            _connect(rows, (i * step + step // 2, place), following, step, dash)
    text = []
    for number in reversed(range(height)):
        label = labels[1] if number == height - 1 else labels[0] if number == 0 else ""
        text.append(f"{label:>{width}} {wall}{''.join(rows[number])}".rstrip())
    return [*text, f"{'':>{width}} {corner}{dash * step * len(values)}"]


def _connect(rows: list[list[str]], start: tuple[int, int], end: int, step: int, dash: str) -> None:
    column, row = start
    for k in range(1, step):
        between = round(row + (end - row) * k / step)
        rows[between][column + k] = dash if between in (row, end) else "·" if dash == "─" else "."
