"""What `acr route` shows: the choice, and with `--explain` all that led to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from acr_cli.cli.reasons import WORTH, attempts_here, compared, in_order, record, the_end, why_not
from acr_cli.cli.words import count, listed, percent, seconds, usd
from acr_cli.records import Choice, Forecast

if TYPE_CHECKING:
    from rich.console import Console

    from acr_cli.build.routing import Routed

_SCORED = (WORTH, "acrouter")  # policies that go by the score
_LEAST = 14  # columns that a name has in a table, or there is none
_RANGE = "90 % range"

_VOTERS: Mapping[str, str] = {
    "trait": "your outcomes, after a start; a failure counts less where others have failed too",
    "posterior": "your outcomes, beginning with the published rate",
    "neighbours": "the most similar past tasks",
    "prior": "published success rates",
    "price": "the cheaper, the higher; no chance, but part of the score",
}
_OWN_NOTES = ("trait", "posterior", "neighbours", "price")  # said elsewhere on the page


def show(console: Console, routed: Routed, *, explain: bool) -> None:
    """The choice and its reason; with `explain` all that led to it."""
    from rich.text import Text

    from acr_cli.cli.table import say
    from acr_cli.cli.terminal import one_line

    choice = routed.choice
    forecast = choice.forecast(choice.candidate)
    expected = ""
    if forecast is not None:
        expected = f"  expects {percent(forecast.p_success)} for {_cost(forecast)}"
    console.print(Text.assemble((one_line(choice.candidate), "bold cyan"), expected), soft_wrap=True)
    say(console, choice.reason)
    if explain:
        _show_basis(console, routed)
        _show_expected(console, routed)
        _show_votes(console, routed)
        _show_neighbours(console, choice)
        _show_ladder(console, routed)
        _show_others(console, routed)
    elif choice.candidate in routed.left_out:
        say(console, f"acr fix cannot take it: {routed.left_out[choice.candidate]}", "yellow")


def _show_basis(console: Console, routed: Routed) -> None:
    """The kind of task, what is known of it, and what the policy goes by."""
    from acr_cli.cli.table import say

    context, choice, settings = routed.context, routed.choice, routed.settings
    language = f", {context.language}" if context.language else ""
    known = attempts_here(context)
    behind = f"{count(known, 'outcome')} of yours" if known else "no outcome of yours yet"
    if known and settings.half_life_days:
        behind += f"; one of {settings.half_life_days:g} days ago counts half"
    say(console)
    say(console, f"task    {context.dimension}{language}: {behind}")
    goes_by = {
        WORTH: f"a fix is worth {usd(settings.value_of_success)}, an hour {usd(settings.value_of_hour)}",
        "acrouter": "the best weighted vote",
        "escalate": "the cheapest first",
    }.get(choice.policy, "in the order of the pool")
    say(console, f"policy  {choice.policy}: {goes_by}; at most {count(context.attempts, 'attempt')}")
    sure = choice.propensity >= 1
    rest = "" if sure else "; else one of the others, to learn about it"
    say(console, f"chance  {choice.propensity:.3g} that a run takes this one (its propensity){rest}")


def _show_expected(console: Console, routed: Routed) -> None:
    from acr_cli.cli.table import heading, say

    scored = routed.choice.policy in _SCORED
    usd_scores = routed.choice.policy == WORTH
    ranked = in_order(routed)
    ranges = any(spent.low_usd is not None for spent in routed.spending.values())
    columns = ["candidate", "success", _RANGE, "cost", *([_RANGE] if ranges else []), "time"]
    rows = []
    for each in ranked:
        spent = routed.spending.get(each.candidate)
        paid = [_between(spent.low_usd, spent.high_usd) if spent else "-"] if ranges else []
        time = seconds(spent.seconds) if spent else "-"
        score = _score(routed, each) if scored else []
        chance = (percent(each.p_success), f"{100 * each.p_low:.0f}-{percent(each.p_high)}")
        rows.append([each.candidate, *chance, usd(each.cost_usd), *paid, time, *score])
    heading(console, "what is expected of an attempt")
    _show_rows(console, [*columns, *(["worth" if usd_scores else "score"] if scored else [])], rows)
    if ranges:
        say(
            console,
            "range of costs: nine in ten of your attempts, at today's prices; -: too few to say",
            "dim",
        )
    if usd_scores:
        say(
            console,
            "worth: of trying it first: chance of a right fix x its worth, less cost and time, with all",
            "dim",
        )
        say(
            console,
            "that may follow a failure; a candidate that is little known gets more, to learn of it",
            "dim",
        )
    if usd_scores and ranked and ranked[0].score < 0:
        say(console, "Nobody is worth the price here; the first attempt is made all the same.")


def _show_votes(console: Console, routed: Routed) -> None:
    """Each voter's vote, its weight in the last row, and what its votes rest on."""
    from acr_cli.cli.table import heading, say

    ranked = in_order(routed)
    voters = list(dict.fromkeys(vote.voter for each in ranked for vote in each.votes))
    if not voters:
        return
    rows = []
    for each in ranked:
        said = {vote.voter: f"{vote.value:.2f}" for vote in each.votes}
        votes = [said.get(voter, "-") for voter in voters]
        rows.append([each.candidate, *votes, f"{each.p_success:.2f}", record(routed.context, each.candidate)])
    rows.append(["weight", *(_weight(ranked, voter) for voter in voters), "", ""])
    heading(console, "chance of success by each voter, and all by weight")
    _show_rows(console, ["candidate", *voters, "all", "~your outcomes"], rows)
    for voter in voters:
        rests_on = (
            []
            if voter in _OWN_NOTES
            else _notes((vote.note, each) for each in ranked for vote in each.votes if vote.voter == voter)
        )
        if told := [*([_VOTERS[voter]] if voter in _VOTERS else []), *rests_on]:
            say(console, f"{voter}: {'; '.join(told)}", "dim")
    starts = _notes((each.note, each) for each in ranked)
    if starts and "prior" not in voters:
        say(console, f"start: {'; '.join(starts)}", "dim")
    if routed.choice.policy == WORTH and attempts_here(routed.context):
        say(console, "weights: learned; who foretells your outcomes better gains", "dim")
    silent = 1 - sum(
        max(v.weight for each in ranked for v in each.votes if v.voter == name) for name in voters
    )
    if routed.choice.policy == WORTH and silent >= 0.005:
        say(console, f"weight {silent:.2f} belongs to voters that know nothing of this task", "dim")


def _show_neighbours(console: Console, choice: Choice) -> None:
    from acr_cli.cli.table import heading

    if not choice.neighbours:
        return
    heading(console, "the most similar past tasks")
    rows = [
        [n.candidate, f"{n.similarity:.2f}", "passed" if n.passed else "failed", usd(n.cost_usd), n.text]
        for n in choice.neighbours
    ]
    _show_rows(console, ["candidate", "similarity", "<outcome", "cost", "~task"], rows)


def _show_ladder(console: Console, routed: Routed) -> None:
    """Who follows whom, with the chance of each once all before it have failed."""
    from acr_cli.cli.table import heading, say

    if not routed.choice.ladder:
        return
    rows, before = [], 0.0
    for rung in routed.choice.ladder:
        then = (rung.p_cumulative - before) / (1 - before) if before < 1 else 0.0
        chances = (percent(then), percent(rung.p_cumulative))
        rows.append([rung.candidate, *chances, usd(rung.cost_cumulative_usd)])
        before = rung.p_cumulative
    heading(console, "the tries, each made only if all before it fail")
    _show_rows(console, ["candidate", "success", "solved by then", "mean cost by then"], rows)
    say(console, the_end(routed), "dim")


def _show_others(console: Console, routed: Routed) -> None:
    from acr_cli.cli.table import heading, say

    if reasons := why_not(routed):
        heading(console, "not chosen")
        for name, reason in reasons.items():
            say(console, f"{name}: {reason}")
    if routed.left_out:
        heading(console, "not eligible")
        for reason in dict.fromkeys(routed.left_out.values()):
            names = [name for name, why in routed.left_out.items() if why == reason]
            say(console, f"{listed(names)}: {reason}")


def _show_rows(console: Console, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table whose first column is a name and whose others are numbers; words where the head begins with
    "<", and such as may be broken where it begins with "~". Where a name has no room in it, a few lines for
    each row instead."""
    from rich.padding import Padding
    from rich.text import Text

    from acr_cli.cli.table import say, show_table
    from acr_cli.cli.terminal import one_line

    heads = [column.lstrip("<~") for column in columns]
    widths = [max(len(head), *(len(row[i]) for row in rows)) for i, head in enumerate(heads)]
    taken = sum(2 + (_LEAST if columns[i][0] == "~" else widths[i]) for i in range(1, len(columns)))
    if console.width - taken >= min(_LEAST, widths[0]):
        marks = ["", *({"<": "=", "~": ""}.get(column[0], ">") for column in columns[1:])]
        show_table(console, [mark + head for mark, head in zip(marks, heads, strict=True)], rows)
        return
    for row in rows:
        say(console, row[0])
        told = [f"{head} {cell}" for head, cell in zip(heads[1:], row[1:], strict=True) if cell]
        console.print(Padding(Text(one_line(", ".join(told), 500)), (0, 0, 0, 2), expand=False))


def _notes(said: Iterable[tuple[str, Forecast]]) -> list[str]:
    """What is said of whom: "published (a, b and 3 more)"."""
    found: dict[str, list[str]] = {}
    for note, each in said:
        if note:
            found.setdefault(note, []).append(each.candidate)
    return [f"{note} ({listed(names, 2)})" for note, names in found.items()]


def _weight(ranked: Sequence[Forecast], voter: str) -> str:
    weights = sorted({v.weight for each in ranked for v in each.votes if v.voter == voter})
    return f"{weights[0]:.2f}" if len(weights) == 1 else f"{weights[0]:.2f}-{weights[-1]:.2f}"


def _between(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return "-"
    return usd(low) if low == high else f"{usd(low)}-{usd(high)}"


def _score(routed: Routed, each: Forecast) -> list[str]:
    if not compared(routed, each):
        return ["-"]
    return [_signed(each.score) if routed.choice.policy == WORTH else f"{each.score:.3f}"]


def _signed(amount: float) -> str:
    return f"-{usd(-amount)}" if amount < 0 else usd(amount)


def _cost(each: Forecast) -> str:
    return "an unknown cost" if each.cost_usd is None else usd(each.cost_usd)
