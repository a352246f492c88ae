"""Plans and refusals as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec

from exporter.cli.output.text.layout import table
from exporter.cli.output.text.terminal import one_line

from ..decide.repair import Repair
from ..plan.guards import Unseen, gathered
from .several import rows_whole

_CANARY = "canary"  # the gate of which it is of interest whom it follows: another repair than this one
_FIRST = 5  # objects that are named


class RepairCause(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """All repairs of one remediation that have one cause. `concerns` is the cause in words, empty where none of them
    has a plan; `states` counts the repairs, and `first` are some of the findings' subjects.
    """

    remediation: str
    check: str
    reason: str
    cause: str
    concerns: str
    repairs: int
    states: dict[str, int]
    first: tuple[str, ...]


def grouped(repairs: Iterable[Repair]) -> list[RepairCause]:
    """Those of the most repairs first."""
    found: dict[tuple[str, ...], list[Repair]] = {}
    for each in repairs:
        cause = each.cause or f"namespace {each.namespace}"
        found.setdefault((each.remediation, each.check, each.reason, cause), []).append(each)
    rows = [
        RepairCause(
            remediation=own[0].remediation,
            check=own[0].check,
            reason=own[0].reason,
            cause=own[0].cause,
            concerns=next((each.concerns for each in own if each.concerns), ""),
            repairs=len(own),
            states=dict(sorted(Counter(each.standing for each in own).items())),
            first=tuple(each.subject for each in own[:_FIRST]),
        )
        for own in found.values()
    ]
    return sorted(rows, key=lambda row: (-row.repairs, row.remediation, row.concerns, row.cause))


def shown(repairs: list[Repair]) -> str:
    if not repairs:
        return "There is nothing to repair.\n"
    causes = gathered(each.refused for each in repairs)
    return "\n".join("\n".join(lines) + "\n" for lines in (*map(_cause, causes), *map(_lines, repairs)))


def shown_by_cause(found: list[RepairCause], columns: int | None) -> str:
    """One row for each remediation and cause; `columns` is how wide the terminal is, None for no limit."""
    rows = [
        (
            each.remediation,
            str(each.repairs),
            each.cause,
            ", ".join(f"{number} {state}" for state, number in each.states.items()),
            f"{each.reason} of {each.concerns or ', '.join(each.first)}",
        )
        for each in found
    ]
    head = ("REMEDIATION", "REPAIRS", "ID", "STATES", "CAUSE")
    return rows_whole(head, rows, columns) if rows else "There is nothing to repair.\n"


def shown_wide(repairs: list[Repair]) -> str:
    """One row for each, with what is in its way."""
    rows = [
        (
            *(each.remediation, each.subject, each.reason, each.fingerprint, each.mode, each.standing),
            *(each.hash or "-", "; ".join(why for _, why in reservations(each)) or "-"),
        )
        for each in repairs
    ]
    head = ("REMEDIATION", "SUBJECT", "REASON", "FINDING", "MODE", "STATE", "PLAN", "BLOCKED BY")
    return table(head, rows) if rows else "There is nothing to repair.\n"


def _cause(cause: Unseen) -> Iterator[str]:
    yield f"1 object blocks {cause.repairs} repair{'s' if cause.repairs > 1 else ''}: {one_line(cause.object)}"
    yield f"  why      {one_line(cause.why)}"
    yield f"  remedy   {one_line(cause.remedy)}"


def heading(repair: Repair) -> str:
    """What is repaired by which remediation, in one line."""
    finding = f"finding {repair.fingerprint}, {repair.reason} ({repair.check})"
    return f"{repair.remediation}: {one_line(repair.subject)}, {finding}, mode {repair.mode}"


def reservations(repair: Repair) -> Iterator[tuple[str, str]]:
    """Why there is no plan, or who else has to write it, or what is in its way: each with a word for what it is."""
    if repair.refused:
        yield "refused", f"{repair.refused.precondition}: {repair.refused.why}"
    if repair.proposal:
        yield "owner", repair.proposal.owner
        yield "propose", repair.proposal.where
    for each in repair.blocked:
        yield ("canary", each.why) if each.gate == _CANARY else ("blocked", f"{each.gate}: {each.why}")


def _lines(repair: Repair) -> Iterator[str]:
    yield heading(repair)
    rows = (
        ("write", repair.write),
        ("why", repair.why),
        ("effect", repair.effect),
        ("risk", repair.risk),
        ("loses", ", ".join(repair.loses)),
        ("undo", repair.undo),
        ("plan", repair.hash),
        *reservations(repair),
        *(("run", each) for each in repair.commands),
    )
    for name, text in rows:
        if text:
            yield f"  {name:<8} {one_line(text)}"
    if repair.difference:
        against = f", against {repair.compared}" if repair.compared else ""
        yield f"  content  of the new object{one_line(against)}:"
        yield from (f"    {one_line(line)}" for line in repair.difference)
    if repair.proposal and repair.proposal.patch:
        yield from (f"    {one_line(line)}" for line in repair.proposal.patch.splitlines())
