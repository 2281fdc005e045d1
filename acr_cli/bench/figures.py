"""Figures of results: cumulative regret over the stream, and quality against cost.

Colours are those of Okabe and Ito, which people who see few colours tell apart; line styles and markers
repeat what the colours say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from acr_cli.bench.equal_cost import family
from acr_cli.bench.results import read, read_rows
from acr_cli.errors import ConfigurationError, UsageError

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

KINDS = (".svg", ".png", ".pdf")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
LINES = ("-", "--", ":", "-.")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
LARGEST = 8  # lines of regret that one can still tell apart
POINTS = 400  # of a line; a stream may have more tasks than a screen has columns

_INSTALL = "pip install 'acr-cli[bench]'"


def draw(paths: Sequence[Path], output: Path, *, policies: Sequence[str] = ()) -> None:
    """A row of two panels for each result. The kind of file follows from the name of `output`.

    Raises: UsageError, ConfigurationError where matplotlib is missing."""
    if output.suffix.lower() not in KINDS:
        raise UsageError(f"A figure is written as {', '.join(KINDS)}, not {output.name!r}.")
    results = [(path, _chosen(path, read(path), policies)) for path in paths]
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ConfigurationError("Figures need matplotlib, which is not installed.", hint=_INSTALL) from error
    settings: Any = {"svg.hashsalt": "acr", "svg.fonttype": "none", "font.size": 9.0, "backend": "agg"}
    with mpl.rc_context(settings):
        sheet = Figure(figsize=(13, 4.6 * len(results)), layout="constrained")
        axes = sheet.subplots(len(results), 2, squeeze=False)
        for (path, result), (left, right) in zip(results, axes, strict=True):
            looks = _looks([one["policy"] for one in result["policies"]])
            _regret(left, result, read_rows(path), looks)
            _frontier(right, result, looks)
        try:
            # Without a date the same results give the same file.
            dated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(output.suffix.lower())
            sheet.savefig(output, dpi=150, metadata=dated)
        except OSError as error:
            raise UsageError(f"The figure cannot be written to {output}: {error.strerror}.") from error


def _chosen(path: Path, result: dict[str, Any], policies: Sequence[str]) -> dict[str, Any]:
    wanted = set(policies)
    kept = [
        one for one in result["policies"] if not wanted or {one["policy"], family(one["policy"])} & wanted
    ]
    if not kept:
        raise UsageError(f"{path} holds none of the policies {', '.join(policies)}.")
    return {**result, "policies": kept}


def _looks(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """By family: colour, line and marker. Pure."""
    looks = zip(
        cycle(COLOURS), (line for line in cycle(LINES) for _ in COLOURS), cycle(MARKERS), strict=False
    )
    found = {}
    for one, (colour, line, marker) in zip(dict.fromkeys(map(family, names)), looks, strict=False):
        found[one] = {"color": colour, "linestyle": line, "marker": marker}
    return found


def _regret(
    axes: Axes, result: Mapping[str, Any], rows: pl.DataFrame | None, looks: Mapping[str, dict[str, Any]]
) -> None:
    """Mean cumulative regret, and its range over the orders of the stream."""
    axes.set_title(f"{_title(result)}\nCumulative regret over the stream", loc="left", fontsize=9)
    axes.set_xlabel("tasks")
    axes.set_ylabel("regret against the best model of each task")
    if rows is None:
        axes.text(0.5, 0.5, "the tasks of this result were not kept", ha="center", transform=axes.transAxes)
        return
    for name in _best_of_families(result)[:LARGEST]:
        lines = _lines(rows, name)
        if not len(lines):
            continue
        at = np.unique(np.linspace(0, lines.shape[1] - 1, POINTS).astype(int))
        look = {key: value for key, value in looks[family(name)].items() if key != "marker"}
        axes.plot(at + 1, lines.mean(axis=0)[at], label=name, **look)
        axes.fill_between(
            at + 1, lines.min(axis=0)[at], lines.max(axis=0)[at], color=look["color"], alpha=0.15, linewidth=0
        )
    axes.legend(frameon=False, fontsize=8)
    axes.grid(alpha=0.25)


def _best_of_families(result: Mapping[str, Any]) -> list[str]:
    """The least regret first; of a family its best, so that the lines are not too many. Pure."""
    ranked = sorted(result["policies"], key=lambda one: one["cum_reg"])
    best: dict[str, str] = {}
    for one in ranked:
        best.setdefault(family(one["policy"]), one["policy"])
    ours = [name for name in best.values() if any(o["policy"] == name and "versus" in o for o in ranked)]
    return [*ours, *(name for name in best.values() if name not in ours)]


def _lines(rows: pl.DataFrame, policy: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Orders x T cumulative regrets."""
    import polars as pl

    mine = rows.filter(pl.col("policy") == policy).sort("seed", "position")
    orders = mine["seed"].n_unique()
    regret = mine["regret"].to_numpy()
    return np.cumsum(regret.reshape(orders, -1), axis=1) if orders else np.empty((0, 0))


def _frontier(axes: Axes, result: Mapping[str, Any], looks: Mapping[str, dict[str, Any]]) -> None:
    """AvgPerf against total cost; a family of parameters is one line."""
    from matplotlib.ticker import LogLocator

    axes.set_title("Quality against cost (bars: 95 % over tasks)", loc="left", fontsize=9)
    free = all(one["total_usd"] == 0 for one in result["policies"])
    families: dict[str, list[Mapping[str, Any]]] = {}
    for one in result["policies"]:
        families.setdefault(family(one["policy"]), []).append(one)
    for name, members in families.items():
        points = sorted(members, key=lambda one: one["total_usd"])
        x = np.array([one["total_usd"] for one in points])
        y = np.array([one["avg_perf"] for one in points])
        bars = np.abs([[one["avg_perf_low"], one["avg_perf_high"]] for one in points] - y[:, None]).T
        joined = name != "always" and len(points) > 1
        look = {**looks[name], "linestyle": looks[name]["linestyle"] if joined else "none"}
        axes.errorbar(x, y, yerr=bars, elinewidth=0.6, markersize=5, label=name, **look)
        for one in points if name == "always" else ():
            axes.annotate(
                one["policy"].removeprefix("always:"),
                (one["total_usd"], one["avg_perf"]),
                xytext=(5, 4),
                textcoords="offset points",
                fontsize=7,
                color=looks[name]["color"],
            )
    axes.margins(x=0.12)
    axes.set_ylabel("AvgPerf")
    axes.set_xlabel("USD for the whole stream")
    if not free:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_major_formatter(lambda value, _place: f"${value:g}")
        axes.xaxis.set_minor_formatter(lambda _value, _place: "")
    axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    axes.grid(alpha=0.25)


def _title(result: Mapping[str, Any]) -> str:
    warm = f"warm {'+'.join(result['warm'])}" if result["warm"] else "no knowledge"
    attempts = result["attempts"]
    tries = f"{attempts} attempt{'s' if attempts > 1 else ''}"
    return f"{result['matrix']}: {result['tasks']:,} tasks, {tries}, {warm}, {result['cost']} cost"
