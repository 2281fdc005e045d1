"""`acr memory report`: the statistics as one page that needs nothing but a browser. Pure.

No script, no font, no image is loaded, and the page's own policy forbids it. Colours follow the reader's
preference for light or dark; every chart has its numbers in a table beside it, and nothing is told by colour
alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from acr_cli.cli.memory_stats import signed
from acr_cli.cli.runs import day
from acr_cli.cli.terminal import one_line
from acr_cli.cli.words import count, number, percent, seconds, size, usd

if TYPE_CHECKING:
    from acr_cli.memory.savings import Saved
    from acr_cli.memory.stats import Group, Interval, MemoryStats
    from acr_cli.memory.steps import Bucket
    from acr_cli.records import Outcome

WIDTH, HEIGHT, LEFT, BOTTOM = 400, 200, 60, 30  # of a chart, in its own units
STYLE = Path(__file__).with_suffix(".css")


def page(known: MemoryStats, last: Sequence[Outcome]) -> str:
    """The whole page; `last` are the newest outcomes, newest first."""
    style = STYLE.read_text(encoding="utf-8")
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    body = [
        _head(known),
        _section("Saved", _savings(known)),
        _section("How it has learnt", _curve(known.curve)),
        _section("Models", _groups("model", known.models, known.adjusted)),
        _section("Success by model and dimension", _heat(known)),
        _section("Dimensions", _groups("dimension", known.dimensions, {})),
        _section("The last outcomes", _last(last)),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"<title>acr memory</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(body)
        + "\n</main>\n</body>\n</html>\n"
    )


def _head(known: MemoryStats) -> str:
    verified = [(group.passed, group.failed) for group in known.models.values()]
    passed, failed = sum(p for p, _ in verified), sum(f for _, f in verified)
    figures = {
        "outcomes": number(known.outcomes),
        "older, as numbers": number(known.evicted),
        "passed of verified": percent(passed / (passed + failed)) if passed + failed else "none verified",
        "paid": usd(known.total_usd),
        "worked": seconds(known.total_seconds),
        "on disk": size(known.bytes),
    }
    told = "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in figures.items())
    span = "nothing kept yet"
    if known.oldest is not None:
        span = f"{day(known.oldest)} to {day(known.newest or 0)}"
    part = ", a part of it" if known.narrowed else ""
    said = escape(f"{span}{part}; written {day(known.now)}")
    return f"<h1>What acr remembers</h1>\n<p class=quiet>{said}</p>\n<dl class=figures>{told}</dl>"


def _section(title: str, body: str) -> str:
    name = title.lower().replace(" ", "-")
    return f'<section aria-labelledby="{name}">\n<h2 id="{name}">{escape(title)}</h2>\n{body}\n</section>'


def _savings(known: MemoryStats) -> str:
    rows = [
        _saved("always the strongest", known.saved),
        _saved("always the cheapest", known.saved_cheapest),
    ]
    heads = ("against", ">saved", ">from", ">to", ">it would succeed", ">these did", ">steps")
    note = "Estimates from recorded choices and their probabilities, doubly robust; 95 % intervals."
    return _table(note, heads, rows)


def _saved(against: str, saved: Saved) -> list[str]:
    named = f"{against} ({saved.reference})" if saved.reference else against
    if saved.estimate is None or saved.low is None or saved.high is None:
        return [named, saved.reason, "", "", "", "", number(saved.steps)]
    rates = [percent(rate) if rate is not None else "-" for rate in (saved.success, saved.own_success)]
    return [named, signed(saved.estimate), signed(saved.low), signed(saved.high), *rates, number(saved.steps)]


def _curve(buckets: Sequence[Bucket]) -> str:
    if not buckets:
        return "<p>No step is whole yet.</p>"
    dearest = max(bucket.cost_usd for bucket in buckets) or 1.0
    charts = [
        _chart("Success at first choice", [b.first_success for b in buckets], 1.0, percent),
        _chart("Cost of a step", [b.cost_usd for b in buckets], dearest, usd),
    ]
    rows = [
        [
            day(bucket.start),
            number(bucket.steps),
            percent(bucket.first_success) if bucket.first_success is not None else "-",
            percent(bucket.success) if bucket.success is not None else "-",
            usd(bucket.cost_usd),
        ]
        for bucket in buckets
    ]
    heads = ("from", ">steps", ">first choice passed", ">passed", ">cost of a step")
    return f"<div class=charts>{''.join(charts)}</div>\n{_table('The same in numbers.', heads, rows)}"


def _chart(title: str, values: Sequence[float | None], top: float, told: Callable[[float], str]) -> str:
    """A line over time, its points named for who points at them or has them read out."""
    wide, high = WIDTH - LEFT - 12, HEIGHT - BOTTOM - 12
    places = [
        (LEFT + wide * (i + 0.5) / len(values), 12 + high * (1 - min(value / top, 1.0)), value)
        for i, value in enumerate(values)
        if value is not None
    ]
    curve = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in places)
    points = "".join(
        f'<circle class=point cx="{x:.1f}" cy="{y:.1f}" r="4"><title>{escape(told(value))}</title></circle>'
        for x, y, value in places
    )
    grid = "".join(
        f'<line class=grid x1="{LEFT}" x2="{WIDTH - 12}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{escape(told(top * share))}</text>'
        for share in (0.0, 0.5, 1.0)
        for y in (12 + high * (1 - share),)
    )
    said = ", ".join(told(value) for _, _, value in places)
    label = escape(f"{title}, over time: {said}")
    return (
        f"<figure><figcaption>{escape(title)}</figcaption>"
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">'
        f'{grid}<polyline class=curve points="{curve}"/>{points}'
        f'<text x="{LEFT}" y="{HEIGHT - 8}">oldest</text>'
        f'<text x="{WIDTH - 12}" y="{HEIGHT - 8}" text-anchor="end">newest</text></svg></figure>'
    )


def _groups(title: str, groups: Mapping[str, Group], adjusted: Mapping[str, Interval]) -> str:
    heads = [title, ">outcomes", ">passed", ">of", ">success, raw", ">mean u", ">mean cost"]
    heads += [">success, adjusted"] if adjusted else []
    rows = []
    for name, group in groups.items():
        known = adjusted.get(name)
        rows.append(
            [
                name,
                number(group.outcomes),
                number(group.passed),
                number(group.passed + group.failed),
                percent(group.success_rate) if group.success_rate is not None else "-",
                f"{group.mean_u:.2f}" if group.mean_u is not None else "-",
                usd(group.mean_cost_usd),
            ]
        )
        if adjusted:
            span = f"{percent(known.mean)} ({percent(known.low)} to {percent(known.high)})" if known else "-"
            rows[-1].append(span)
    note = "Raw success: who is asked after others have failed sees the harder tasks."
    return _table(note if title == "model" else "By kind of task.", heads, rows)


def _heat(known: MemoryStats) -> str:
    if not known.pairs:
        return "<p>No outcome yet.</p>"
    found = {(pair.model, pair.dimension): pair for pair in known.pairs}
    heads = "".join(
        f"<th scope=col class=n>{escape(name.replace('_', ' '))}</th>" for name in known.dimensions
    )
    rows = []
    for model in known.models:
        cells = "".join(_cell(found.get((model, dimension))) for dimension in known.dimensions)
        rows.append(f"<tr><th scope=row>{escape(model)}</th>{cells}</tr>")
    note = "Share of verified outcomes that passed, and how many there are. Green is high, orange low."
    return _wide(
        note,
        f"<table><caption>{note}</caption><thead><tr><th scope=col>model</th>{heads}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>",
    )


def _cell(pair: Group | None) -> str:
    if pair is None or pair.success_rate is None:
        return "<td class=n>-</td>"
    rate = pair.success_rate
    tint = f"rgba(var(--{'good' if rate >= 0.5 else 'bad'}), {0.08 + 0.5 * abs(rate - 0.5):.2f})"
    verified = number(pair.passed + pair.failed)
    return (
        f'<td class=n style="background: {tint}">{percent(rate)} <span class=quiet>of {verified}</span></td>'
    )


def _last(outcomes: Sequence[Outcome]) -> str:
    rows = [
        [
            day(outcome.time),
            outcome.candidate,
            outcome.dimension,
            outcome.verdict,
            f"{outcome.u:.2f}",
            usd(outcome.cost_usd),
            one_line(outcome.text, 200),
        ]
        for outcome in outcomes
    ]
    heads = ("time", "model", "dimension", "verdict", ">u", ">cost", "task")
    return _table(f"The newest {count(len(rows), 'outcome')}.", heads, rows)


def _table(note: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose first column heads its rows; a head that begins with ">" is that of numbers."""

    def kind(place: int) -> str:
        return " class=n" if heads[place].startswith(">") else " class=text" if heads[place] == "task" else ""

    columns = "".join(f"<th scope=col{kind(i)}>{escape(h.lstrip('>'))}</th>" for i, h in enumerate(heads))
    body = "".join(
        f"<tr><th scope=row>{escape(row[0])}</th>"
        + "".join(f"<td{kind(i)}>{escape(cell)}</td>" for i, cell in enumerate(row[1:], start=1))
        + "</tr>"
        for row in rows
    )
    head = f"<caption>{escape(note)}</caption><thead><tr>{columns}</tr></thead>"
    return _wide(note, f"<table>{head}<tbody>{body}</tbody></table>")


def _wide(note: str, table: str) -> str:
    """A table that scrolls by itself on a narrow screen, by keyboard as well."""
    return f'<div class=wide tabindex="0" role="region" aria-label="{escape(note)}">{table}</div>'
