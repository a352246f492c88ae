"""Plans and refusals as text."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.cli.output.table import table
from exporter.cli.output.terminal import one_line

from ..plan.unseen import Unseen, gathered
from ..show.plans import Repair
from ..show.repair_causes import RepairCause

__all__ = ["shown", "shown_by_cause"]


def shown(repairs: list[Repair]) -> str:
    if not repairs:
        return "There is nothing to repair.\n"
    causes = gathered(each.refused for each in repairs)
    return "\n".join("\n".join(lines) + "\n" for lines in (*map(_cause, causes), *map(_lines, repairs)))


def shown_by_cause(found: list[RepairCause]) -> str:
    """One row for each remediation and cause."""
    rows = [
        (
            each.remediation,
            f"{each.reason} of {each.concerns or ', '.join(each.first)}",
            str(each.repairs),
            each.cause,
            ", ".join(f"{number} {state}" for state, number in each.states.items()),
        )
        for each in found
    ]
    return table(("REMEDIATION", "CAUSE", "REPAIRS", "ID", "STATES"), rows) if rows else "There is nothing to repair.\n"


def _cause(cause: Unseen) -> Iterator[str]:
    yield f"1 object blocks {cause.repairs} repair{'s' if cause.repairs > 1 else ''}: {one_line(cause.object)}"
    yield f"  why      {one_line(cause.why)}"
    yield f"  remedy   {one_line(cause.remedy)}"


def _lines(repair: Repair) -> Iterator[str]:
    finding = f"finding {repair.fingerprint}, {repair.reason} ({repair.check})"
    yield f"{repair.remediation}: {one_line(repair.subject)}, {finding}, mode {repair.mode}"
    rows = (
        ("write", repair.write),
        ("why", repair.why),
        ("effect", repair.effect),
        ("risk", repair.risk),
        ("loses", ", ".join(repair.loses)),
        ("undo", repair.undo),
        ("plan", repair.hash),
        ("refused", f"{repair.refused.precondition}: {repair.refused.why}" if repair.refused else ""),
        ("owner", repair.proposal.owner if repair.proposal else ""),
        ("propose", repair.proposal.where if repair.proposal else ""),
        *(("gate", f"{each.gate}: {each.why}") for each in repair.blocked),
        *(("run", each) for each in repair.commands),
    )
    for name, text in rows:
        if text:
            yield f"  {name:<8} {one_line(text)}"
    if repair.difference:
        against = f", against {repair.compared}" if repair.compared else ""
        yield f"  content  of what is created{one_line(against)}:"
        yield from (f"    {one_line(line)}" for line in repair.difference)
    if repair.proposal and repair.proposal.patch:
        yield from (f"    {one_line(line)}" for line in repair.proposal.patch.splitlines())
