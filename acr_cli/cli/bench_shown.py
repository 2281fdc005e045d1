"""What `acr bench` shows: the tables of a result, and what differs between results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from acr_cli.cli.words import count, usd

if TYPE_CHECKING:
    from rich.console import Console

LADDER = "ladder_reg_"
WIDE = 140  # columns of a terminal from which on all measures stand in one table
NARROW = 5  # measures in the first of two


def show_result(console: Console, result: Mapping[str, Any]) -> None:
    """The setting, a line for each policy, and the differences of ours at equal cost."""
    from acr_cli.cli.table import heading, say, show_table

    say(console, setting(result))
    oracle = result["oracle"]
    say(console, f"oracle of single models: AvgPerf {oracle['avg_perf']:.2f} for {usd(oracle['total_usd'])}")
    say(console)
    policies = result["policies"]
    lams = [name for name in policies[0] if name.startswith(LADDER)]
    columns = ["AvgPerf", "95 %", "CumReg", "USD", "Perf/$", "attempts", "ms"]
    columns += [f"L {name.removeprefix(LADDER)}" for name in lams] + ["sd"]
    rows = [_row(one, lams) for one in policies]
    parts = [(0, len(columns))] if console.width >= WIDE else [(0, NARROW), (NARROW, len(columns))]
    for start, end in parts:
        if start:
            say(console)
        heads = ["=policy", *(f">{each}" for each in columns[start:end])]
        show_table(console, heads, [[row[0], *row[start + 1 : end + 1]] for row in rows])
    say(console, "L x: regret against the best fixed ladder in hindsight, by score - x USD", "dim")
    say(console, "sd: of AvgPerf over the orders of the stream, which is no sampling error", "dim")
    for one in policies:
        if versus := one.get("versus"):
            heading(console, f"{one['policy']} against the others at equal cost, in points of AvgPerf")
            show_table(console, ["=rival", ">difference", ">95 %", "", "at our cost"], _versus(versus))
    for reason, names in _left_out(result["left_out"]).items():
        say(console, f"left out: {', '.join(names)}: {reason}", "dim")


def _left_out(reasons: Mapping[str, str]) -> dict[str, list[str]]:
    """By reason, who. Pure."""
    found: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        found.setdefault(reason.removeprefix(f"The policy {name} "), []).append(name)
    return found


def setting(result: Mapping[str, Any]) -> str:
    """One line of what was replayed. Pure."""
    parts = [
        f"{result['matrix']}: {count(result['tasks'], 'task')}",
        count(result["models"], "model"),
        count(result["attempts"], "attempt"),
        f"warm {'+'.join(result['warm'])}" if result["warm"] else "no knowledge",
        f"{result['cost']} cost",
        f"dimension {result['dimension']}",
        f"twins {'left out' if result['drop_twins'] else 'kept'}",
        count(result["seeds"], "order"),
    ]
    parts += ["prices known"] if result["prices"] else []
    wrong = result["verifier_error"]
    if wrong["false_accept"] or wrong["false_reject"]:
        shared = f", {wrong['shared_accepts']:g} of it shared" if wrong["shared_accepts"] else ""
        accepts = f"accepts {wrong['false_accept']:g} falsely{shared}"
        parts.append(f"verifier {accepts} and rejects {wrong['false_reject']:g}")
    return "; ".join(parts)


def _row(one: Mapping[str, Any], lams: Sequence[str]) -> list[str]:
    return [
        one["policy"],
        f"{one['avg_perf']:.2f}",
        f"{one['avg_perf_low']:.2f}..{one['avg_perf_high']:.2f}",
        f"{one['cum_reg']:.1f}",
        f"{one['total_usd']:.2f}",
        "-" if one["perf_per_usd"] is None else f"{one['perf_per_usd']:.2f}",
        f"{one['mean_attempts']:.2f}",
        f"{one['decision_ms']:.2f}",
        *(f"{one[name]:.1f}" for name in lams),
        f"{one['spread']['avg_perf']['sd']:.2f}",
    ]


def _versus(versus: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Without the points of a curve, which stands for them."""
    curves = {each["rival"].removesuffix(":*") for each in versus if each["rival"].endswith(":*")}
    return [
        [
            each["rival"],
            f"{each['difference']:+.2f}",
            f"{each['low']:+.2f}..{each['high']:+.2f}",
            each["word"],
            each["against"] + (", at a higher cost" if each["dominated"] else ""),
        ]
        for each in versus
        if each["rival"].endswith(":*") or each["rival"].partition(":")[0] not in curves
    ]


def show_comparison(console: Console, found: Mapping[str, Any]) -> None:
    """What differs in the settings, then each policy's numbers against the first result that has it."""
    from acr_cli.cli.table import heading, say, show_table

    say(console, f"{found['first']} against {', '.join(found['others'])}")
    for name, values in found["settings"].items():
        say(console, f"  {name}: {' | '.join(map(str, values))}")
    for each in found["policies"]:
        heading(console, f"{each['policy']}: {each['file']} minus {each['base']}")
        rows = [
            [name, f"{one['before']:.4g}", f"{one['after']:.4g}", f"{one['difference']:+.4g}", _interval(one)]
            for name, one in each["metrics"].items()
        ]
        show_table(console, ["=metric", ">before", ">after", ">difference", "95 %"], rows)
    if not found["policies"]:
        say(console, "No policy stands in more than one of them.")
    for note in found["notes"]:
        say(console, note, "dim")


def _interval(one: Mapping[str, Any]) -> str:
    return f"{one['low']:+.4g}..{one['high']:+.4g}, {one['word']}" if "low" in one else ""
