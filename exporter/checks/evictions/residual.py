"""The VMIs that are left on a node that is being drained, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from ...findings import Finding
from ...model.departure import Departure, DrainState, NodeContext
from ...model.kinds.virtual_machine_instance import VirtualMachineInstance
from ...model.naming import NAMED
from ...model.since import UNKNOWN, Since, Time
from .reasons import BLOCKED, REASONS

__all__ = ["residual"]


def residual(node: NodeContext, found: Iterable[Departure]) -> Iterator[Finding]:
    left = [d for d in found if isinstance(d.subject, VirtualMachineInstance) and d.state is not DrainState.ARRIVING]
    if node.node is None or not left:
        return
    counts = dict(sorted(Counter(_counted_as(each) for each in left).items()))
    held = [each for each in left if _blocked(each)]
    blocked = sorted(each.subject.ref for each in held)
    what = f"{len(left)} {'VMIs are' if len(left) > 1 else 'VMI is'} left on the node: " + ", ".join(
        f"{count} {code}" for code, count in counts.items()
    )
    evidence = {
        "left": counts,
        "blocked": [f"{ref.namespace}/{ref.name}" for ref in blocked[:NAMED]],
        "drain": list(node.signals),
        "maintenance": sorted(f"{each.name}: {each.phase}" for each in node.maintenances if each.phase),
        "maintenanceErrors": sorted(each.error for each in node.maintenances if each.error),
    }
    texts: dict[str, tuple[str, Time]] = {"NodeDrainResidual": (what, node.since)}
    if len(blocked) == len(left):
        texts["NodeDrainStalled"] = (f"The drain makes no progress: {what}", _stalled(node, held))
    for reason, (message, since) in texts.items():
        yield Finding(
            reason=reason,
            severity=REASONS[reason].severities[0],
            subject=node.node.ref,
            message=message,
            node=node.name,
            since=since[0],
            since_source=since[1],
            evidence={name: fact for name, fact in evidence.items() if fact},
        )


def _stalled(node: NodeContext, held: list[Departure]) -> Time:
    """Since when all of them are blocked on a node that is drained; not known unless it is known of each."""
    times = [each.since for each in held]
    if any(each[0] is None or each[1] is Since.FIRST_SEEN for each in times):
        return UNKNOWN
    return max([*times, node.since], key=lambda each: each[0] or 0.0)


def _counted_as(departure: Departure) -> str:
    """Its reason; without one, its state. Whether it takes too long to end says a finding of its own."""
    terminating = departure.state is DrainState.TERMINATING
    return departure.state.value.capitalize() if terminating or not departure.reason else departure.reason


def _blocked(departure: Departure) -> bool:
    reason = REASONS.get(departure.reason) if departure.due else None
    return reason is not None and reason.family is BLOCKED and departure.state is not DrainState.TERMINATING
