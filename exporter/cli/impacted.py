"""The impact of a change as text: who breaks by it comes first, then who has a copy, then what else differs."""

from __future__ import annotations

from collections.abc import Sequence

from ..views.impact import BEFOREHAND, TITLES, Affected, Impact, Outcome, exit_code
from .table import indented, table
from .terminal import one_line

__all__ = ["impacted"]

_UNDER = " " * 10


def impacted(impact: Impact) -> str:
    sentences = "\n".join(f"{'and' if at else 'If'} {one_line(each)}" for at, each in enumerate(impact.changes))
    parts = [f"{sentences}:\n"]
    for outcome in Outcome:
        shown = [each for each in impact.findings if each.outcome == outcome]
        if shown:
            advice = f"\n{BEFOREHAND}\n" if outcome is Outcome.BREAKS else ""
            parts += [f"{TITLES[outcome]} ({len(shown)}):\n{_rows(outcome, shown)}{advice}"]
    if len(impact.namespaces) > 1:
        rows = [
            (each.namespace or "-", str(each.breaks), str(each.worse), str(each.safe), str(each.other))
            for each in impact.namespaces
        ]
        parts.append(table(("NAMESPACE", "BREAKS", "WORSE", "SAFE", "OTHER"), rows))
    parts += _unknown(impact)
    parts.append(_ending(impact))
    return "\n".join(parts)


def _rows(outcome: Outcome, shown: Sequence[Affected]) -> str:
    if outcome is Outcome.BREAKS:
        return table(
            ("SEVERITY", "OBJECT", "WHEN", "WHAT"),
            [(each.finding.severity, f"{each.finding.subject}", each.when, each.finding.message) for each in shown],
            [_beneath(each) for each in shown],
        )
    rows = [
        (each.change, _severity(each), each.finding.reason, f"{each.finding.subject}", each.finding.message)
        for each in shown
    ]
    worse = [_beneath(each) for each in shown] if outcome is Outcome.WORSE else ()
    return table(("CHANGE", "SEVERITY", "REASON", "OBJECT", "WHAT"), rows, worse)


def _severity(each: Affected) -> str:
    return f"{each.severity_before} -> {each.finding.severity}" if each.change == "changes" else each.finding.severity


def _beneath(each: Affected) -> str:
    """What KubeVirt will say, where that is known, and what to do."""
    condition = each.finding.evidence.get("condition")
    said = indented((f"{condition}",), f"{_UNDER}KubeVirt will say: ") if condition else ""
    return said + (indented((each.finding.next,), f"{_UNDER}once it is gone: ") if each.finding.next else "")


def _unknown(impact: Impact) -> list[str]:
    parts = []
    if impact.unknown:
        rows = [(each.check, each.partition or "everywhere", each.why) for each in impact.unknown]
        parts.append(f"Could not say:\n{table(('CHECK', 'WHERE', 'WHY'), rows)}")
        if (more := impact.unknown_in_all - len(impact.unknown)) > 0:
            parts.append(f"and {more} more.\n")
    if impact.unread:
        parts.append(f"Not read, and may hold anything: {one_line(', '.join(each.name for each in impact.unread))}.\n")
    return parts


def _ending(impact: Impact) -> str:
    counts = ", ".join(f"{count} {name}" for name, count in impact.counts.items() if count)
    known = " in what could be evaluated" if exit_code(impact) == 2 else ""
    return f"{f'Findings{known}: {counts}' if counts else f'No finding would differ{known}'}. Nothing was changed.\n"
