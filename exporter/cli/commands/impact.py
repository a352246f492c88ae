"""`steward impact`: what a change would do, before anybody makes it."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from ...checks import all_checks
from ...facts.naming import counted, named
from ...questions.asked import ImpactQuery
from ...questions.edits import EditProbes, unsettled
from ...questions.impact import (
    PARAMETERS,
    QUESTION,
    READER,
    TITLES,
    Affected,
    FeatureTotals,
    GateChange,
    Impact,
    SubjectOutcome,
    Totals,
    concerned,
    exit_code,
    kinds_of,
)
from ..asking import CommandQuestion, asked_with
from ..input.filters import UsageError
from ..input.probes import ask_edits, edits, refuse_probe_of_dump
from ..output.text.layout import grid, paragraph
from ..output.text.terminal import one_line

if TYPE_CHECKING:
    from ..input.looking import Look

# The impact of a change as text: who breaks by it comes first, then who has a copy, then what else differs.

_UNDER = " " * 10
_FURTHER = " " * 12


def impacted(impact: Impact, columns: int | None = None) -> str:
    """`columns` of the terminal; None where it goes elsewhere."""
    last = len(impact.changes) - 1
    sentences = (f"{'and' if at else 'If'} {each}{':' if at == last else ''}" for at, each in enumerate(impact.changes))
    parts = ["".join(_prose(each, columns) for each in sentences)]
    if impact.gates:
        parts.append(f"Feature gates that change ({len(impact.gates)}):\n{_gates(impact.gates, columns)}")
    for outcome in SubjectOutcome:
        shown = [each for each in impact.findings if each.outcome == outcome]
        if shown:
            advice = (
                "".join(f"\n{_prose(text, columns)}" for text in impact.beforehand)
                if outcome is SubjectOutcome.BREAKS
                else ""
            )
            number = impact.counts[outcome] if outcome is SubjectOutcome.BREAKS else len(shown)
            parts += [f"{TITLES[outcome]} ({number:,}):\n{_rows(outcome, shown, columns)}{advice}"]
    if impact.left_out:
        parts.append(f"The first {len(impact.findings):,} findings are listed; {impact.left_out:,} more are counted.\n")
    if impact.features:
        parts.append(_totals("FEATURE", [(each.feature, each) for each in impact.features], columns))
    if len(impact.namespaces) > 1:
        parts.append(_totals("NAMESPACE", [(each.namespace or "-", each) for each in impact.namespaces], columns))
    parts += _unknown(impact, columns)
    if isinstance(impact.probes, EditProbes):
        parts.append(edits(impact.probes))
    parts.append(_ending(impact))
    return "\n".join(parts)


def _totals(of: str, counted: Sequence[tuple[str, FeatureTotals | Totals]], columns: int | None) -> str:
    rows = [(name, str(each.breaks), str(each.worse), str(each.safe), str(each.other)) for name, each in counted]
    return grid((of, "BREAKS", "WORSE", "SAFE", "OTHER"), rows, columns)


def _prose(text: str, columns: int | None, first: str = "", rest: str = "") -> str:
    return f"{first}{one_line(text)}\n" if columns is None else paragraph(text, first, rest, columns)


def _gates(gates: Sequence[GateChange], columns: int | None) -> str:
    rows = [
        (each.name, each.stage, f"{each.before} -> {each.after}", _number(each.vms), _number(each.vmis), _who(each))
        for each in gates
        if each.used
    ]
    shown = grid(("GATE", "STAGE", "CHANGE", "VMS", "VMIS", "USED BY"), rows, columns) if rows else ""
    for said, ruled in (("No VM and no VMI asks for", True), ("It is not known who is hit by", False)):
        rest = [each for each in gates if not each.used and each.ruled is ruled]
        named = ", ".join(f"{each.name} ({each.stage}, {each.before} -> {each.after})" for each in rest)
        shown += _prose(f"{said}: {named}.", columns) if rest else ""
    return shown


def _number(counted: int | None) -> str:
    return "?" if counted is None else str(counted)


def _who(gate: GateChange) -> str:
    """A few of them, and where the others are."""
    some = ", ".join(f"{each}" for each in gate.some)
    if (gate.vms or 0) + (gate.vmis or 0) <= len(gate.some):
        return some
    more = gate.namespaces_in_all - len(gate.namespaces)
    where = ", ".join(each.namespace for each in gate.namespaces) + (f" and {more} more namespaces" if more else "")
    return f"{some}, … in {where}"


def _rows(outcome: SubjectOutcome, shown: Sequence[Affected], columns: int | None) -> str:
    if outcome is SubjectOutcome.BREAKS:
        return grid(
            ("SEVERITY", "OBJECT", "WHEN", "WHAT"),
            [(each.finding.severity, f"{each.finding.subject}", each.when, each.finding.message) for each in shown],
            columns,
            [_beneath(each, columns) for each in shown],
        )
    rows = [
        (each.change, _severity(each), each.finding.reason, f"{each.finding.subject}", each.finding.message)
        for each in shown
    ]
    worse = [_beneath(each, columns) for each in shown] if outcome is SubjectOutcome.WORSE else ()
    return grid(("CHANGE", "SEVERITY", "REASON", "OBJECT", "WHAT"), rows, columns, worse)


def _severity(each: Affected) -> str:
    return f"{each.severity_before} -> {each.finding.severity}" if each.change == "changes" else each.finding.severity


def _beneath(each: Affected, columns: int | None) -> str:
    """Which VMs it hits, what KubeVirt will say, where that is known and not in the message above, and what to do."""
    known = each.answer and each.answer not in each.finding.message
    said = _prose(each.answer, columns, f"{_UNDER}KubeVirt will say: ", _FURTHER) if known else ""
    after = each.finding.next
    if each.vms:
        names = named([ref.path for ref in each.vms], each.vms_in_all or 0)
        said = _prose(f"{counted(each.vms_in_all or 0, 'VM')}: {names}", columns, f"{_UNDER}hits ", _FURTHER) + said
    return said + (_prose(after, columns, f"{_UNDER}after the change: ", _FURTHER) if after else "")


def _unknown(impact: Impact, columns: int | None) -> list[str]:
    parts = []
    if impact.unknown:
        rows = [(each.check, each.partition or "everywhere", each.why) for each in impact.unknown]
        parts.append(f"Could not say:\n{grid(('CHECK', 'WHERE', 'WHY'), rows, columns)}")
        if (more := impact.unknown_in_all - len(impact.unknown)) > 0:
            parts.append(f"and {more} more.\n")
    if impact.unread:
        parts.append(f"Not read, and may hold anything: {one_line(', '.join(each.name for each in impact.unread))}.\n")
    return parts


def _ending(impact: Impact) -> str:
    breaks = impact.counts[SubjectOutcome.BREAKS]
    rest = {name: count for name, count in impact.counts.items() if count and name != SubjectOutcome.BREAKS}
    parts = [counted(breaks, "broken object")] if breaks else []
    parts += [f"other findings: {', '.join(f'{count} {name}' for name, count in rest.items())}"] if rest else []
    known = " in what could be evaluated" if exit_code(impact) == 2 else ""
    found = f"What was found{known}: {'; '.join(parts)}" if parts else f"No finding would differ{known}"
    return f"{found}. Nothing was changed.\n"


def _asked(arguments: argparse.Namespace) -> ImpactQuery:
    asked = asked_with(arguments, ImpactQuery)
    if not any(asked):
        raise UsageError(f"name a change: {', '.join(f'--{name}' for name in PARAMETERS)}")
    refuse_probe_of_dump(arguments, "--probe")
    return asked


def _looks(asked: ImpactQuery) -> Mapping[str, Any]:
    """Nothing else is watched: what the change has nothing to do with must not hold it up."""
    kinds = set(kinds_of(asked))
    checks = [check for check in all_checks() if check.id == "sources" or not kinds.isdisjoint(check.reads)]
    return {"checks": checks, "views": [READER]}


async def _probed(impact: Impact, look: Look, arguments: argparse.Namespace) -> Impact:
    from ...kube.probe import EditProbe  # not for a dump

    probe, cluster = EditProbe(look.transport), look.steward.engine.cluster
    probes = await ask_edits(cluster, probe, concerned(impact), arguments.probe_most)
    return msgspec.structs.replace(impact, probes=probes)


run = CommandQuestion(
    QUESTION,
    text=lambda found, _, columns, __: impacted(found, columns),
    code=lambda found, in_time: exit_code(found, whole=in_time and not unsettled(found.probes)),
    asked=_asked,
    looks=_looks,
    probed=_probed,
).run
