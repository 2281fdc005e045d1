"""What the next candidate is told about a failed attempt: the tests' own words, cut."""

from __future__ import annotations

from acr_cli.records import Evidence
from acr_cli.verifier.judge import how

LIMIT = 4_000  # characters


def explain_failure(evidence: Evidence, *, limit: int = LIMIT) -> str:
    """The reason, then the output of the targets that fail and of the tests that broke, at most `limit`
    characters. Every failing test is named before any of them is quoted at length. Pure."""
    parts = [evidence.reason]
    if evidence.undone:
        parts.append(f"Edits to tests or their configuration were undone: {', '.join(evidence.undone)}.")
    parts += [finding.text for finding in evidence.findings if finding.text not in evidence.reason]
    report = evidence.report
    if report is None:
        return _cut("\n".join(parts), limit)
    now = {case.id: case for case in report.cases}
    wrong = [*evidence.unfixed, *evidence.broken]
    parts += [f"- {test}: {how(test, now)}" for test in evidence.unfixed[:20]]
    parts += [f"- {test} (passed before): {how(test, now)}" for test in evidence.broken[:20]]
    details = [(test, now[test].detail) for test in wrong if test in now and now[test].detail]
    head = "\n".join(parts)
    if not details and (report.fault or report.timed_out) and report.output:
        details = [("output of the tests", report.output)]
    each = max(400, (limit - len(head)) // max(1, min(len(details), 4)))
    quoted = [f"\n{name}:\n{_cut(detail, each - len(name) - 4)}" for name, detail in details]
    return _cut(head + "\n" + "\n".join(quoted) if quoted else head, limit)


def _cut(text: str, limit: int) -> str:
    """The head and, as errors stand at the end, more of the tail."""
    if len(text) <= limit:
        return text
    mark = "\n[...]\n"
    kept = max(0, limit - len(mark))
    head = kept // 3
    return text[:head] + mark + text[len(text) - (kept - head) :]
