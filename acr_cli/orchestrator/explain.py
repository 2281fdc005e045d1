"""One sentence of why, from the votes."""

from __future__ import annotations

from collections.abc import Sequence

from acr_cli.records import Context, Forecast, Vote

_EVIDENCE = ("neighbours", "posterior")


def reason(context: Context, chosen: Forecast, others: Sequence[Forecast], *, explored: bool) -> str:
    """Why this candidate and not the best of the others. Pure."""
    prefix = f"after {' and '.join(context.failed)} failed, " if context.failed else ""
    if explored:
        return f"{prefix}drawn at random to learn more about it (score {chosen.score:.2f})"
    if not others:
        return f"{prefix}the only candidate that is left" if prefix else "the only candidate"
    rival = max(others, key=lambda f: f.score)
    parts = [p for p in (_experience(chosen, rival), _difference(chosen, rival)) if p]
    why = "; ".join(parts) or "highest score"
    return f"{prefix}{why} (score {chosen.score:.2f}, next {rival.candidate} {rival.score:.2f})"


def _experience(chosen: Forecast, rival: Forecast) -> str:
    said = [
        f"{forecast.candidate} {vote.note}"
        for forecast in (chosen, rival)
        for vote in [next((v for name in _EVIDENCE for v in forecast.votes if v.voter == name), None)]
        if vote
    ]
    return " and ".join(said)


def _difference(chosen: Forecast, rival: Forecast) -> str:
    """The vote that speaks most for the chosen one against its rival."""
    against = {v.voter: v for v in rival.votes}
    pairs = [(v, against[v.voter]) for v in chosen.votes if v.voter in against and v.voter not in _EVIDENCE]
    gains = [(v.weight * (v.value - o.value), v, o) for v, o in pairs]
    gain, vote, other = max(gains, key=lambda g: g[0], default=(0.0, _NONE, _NONE))
    if gain < 0.005:
        return ""
    if vote.voter == "price":
        return f"cheaper ({_usd(chosen)} against {_usd(rival)} a step)"
    return f"better by {vote.voter} ({vote.value:.2f} against {other.value:.2f}, {vote.note})"


def _usd(forecast: Forecast) -> str:
    return "unpriced" if forecast.cost_usd is None else f"${forecast.cost_usd:.4f}"


_NONE = Vote(voter="", value=0.0, weight=0.0)
