"""The VMIs that are left on a node that is being drained, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from ....domain.drains.departure import Departure, DrainState, NodeContext
from ....findings.finding import Finding
from ....store.kinds.virtual_machine_instance import VirtualMachineInstance
from ....store.text.naming import NAMED
from ....store.text.since import UNKNOWN, Since, Time
from .reasons import BLOCKED, REASONS


def residual(node: NodeContext, found: Iterable[Departure]) -> Iterator[Finding]:
    left = [d for d in found if isinstance(d.subject, VirtualMachineInstance) and d.state is not DrainState.ARRIVING]
    if node.node is None or not left:
        return
    held = [each for each in left if _blocked(each)]
    held += _behind(node, left)
    blocked = sorted(each.subject.ref for each in held)
    evidence = {
        "blocked": [f"{ref.namespace}/{ref.name}" for ref in blocked[:NAMED]],
        "drain": list(node.signals),
        "maintenance": sorted(f"{each.name}: {each.phase}" for each in node.maintenances if each.phase),
        "maintenanceErrors": sorted(each.error for each in node.maintenances if each.error),
    }
    texts: dict[str, tuple[str, Time]] = {"NodeDrainResidual": ("", node.since)}
    if len(blocked) == len(left):
        texts["NodeDrainStalled"] = ("The drain makes no progress: ", _stalled(node, held))
    for reason, (intro, since) in texts.items():
        # Each migration is in steps in which it may hang, for seconds: only a drain that stands still says which does.
        counts = dict(sorted(Counter(_counted_as(each, stalled=bool(intro)) for each in left).items()))
        what = f"{len(left)} {'VMIs are' if len(left) > 1 else 'VMI is'} left on the node: "
        yield Finding(
            reason=reason,
            severity=REASONS[reason].severities[0],
            subject=node.node.ref,
            message=intro + what + ", ".join(f"{count} {code}" for code, count in counts.items()),
            node=node.name,
            since=since[0],
            since_source=since[1],
            evidence={name: fact for name, fact in ({"left": counts} | evidence).items() if fact},
        )


def _stalled(node: NodeContext, held: list[Departure]) -> Time:
    """Since when all of them are blocked on a node that is drained; not known unless it is known of each."""
    times = [each.since for each in held]
    if any(each[0] is None or each[1] is Since.FIRST_SEEN for each in times):
        return UNKNOWN
    return max([*times, node.since], key=lambda each: each[0] or 0.0)


def _behind(node: NodeContext, left: Iterable[Departure]) -> list[Departure]:
    """Those whose turn does not come, since as many migrations as may run on the node all hang."""
    hanging = [each for each in left if each.reason == "MigrationHanging" and each.evidence.get("phase") != "Pending"]
    if node.kubevirt is None or not node.kubevirt.per_node <= node.outbound <= len(hanging):
        return []
    return [each for each in left if each.reason in ("MigrationQueued", "DeschedulingQueued", "RequestQueued")]


def _counted_as(departure: Departure, *, stalled: bool) -> str:
    """Its reason; without one, its state. Whether it takes too long to end or to migrate says a finding of its own."""
    plain = (DrainState.TERMINATING,) if stalled else (DrainState.TERMINATING, DrainState.MIGRATING)
    by_state = departure.state in plain or not departure.reason
    return departure.state.value.capitalize() if by_state else departure.reason


def _blocked(departure: Departure) -> bool:
    reason = REASONS.get(departure.reason) if departure.due else None
    return reason is not None and reason.family is BLOCKED and departure.state is not DrainState.TERMINATING
