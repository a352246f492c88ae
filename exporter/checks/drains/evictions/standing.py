"""What is to be said of a node as a whole, beside the VMIs that are asked to leave it: it is lost, cordoned and
forgotten, or in a maintenance that nothing shows any more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from ....domain.drains.departure import Departure, DrainState, NodeContext
from ....domain.drains.departure.signs import standing
from ....domain.drains.departure.vmi import text
from ....domain.drains.health import deletion, stays_down
from ....facts.naming import NAMED, counted, named
from ....facts.record import UnseenError
from ....facts.times import UNKNOWN, Since, Time
from ....findings.finding import Finding
from ....findings.pages import Texts, reasons_of
from ....findings.severity import Severity
from ....store.kinds.virtual_machine import VirtualMachine
from ....store.kinds.virtual_machine_instance import VirtualMachineInstance
from .._remedies import remedied

REASONS = remedied(reasons_of("evictions"))
TEXTS = Texts("evictions")
BLOCKED = "kubevirt_vmi_eviction_blocked"
"""The metric family of what is in the way of a drain."""

# Of a VMI that nobody asks to leave: what would become of it.
_WOULD_LEAVE = (DrainState.WAITING, DrainState.MAY_MIGRATE, DrainState.EXTERNAL, DrainState.SHUTS_DOWN)


def of_node(node: NodeContext, found: Iterable[Departure]) -> Iterator[Finding]:
    """`found` are the departures of all VMIs of a node that is cordoned."""
    if node.node is None:
        return
    here = sorted((vmi for vmi in node.vmis if vmi.deleting is None), key=lambda vmi: vmi.ref)
    if not node.node.ready and here:
        yield _lost(node, here)
    elif node.cordoned and not node.draining and not node.taints:
        left = [each for each in found if each.state in _WOULD_LEAVE and not each.due]
        if left:
            yield _idle(node, len(left))
    maintained = standing(node.maintenances)
    if maintained and not node.closed:
        first = min(each.ref for each in maintained)
        yield _finding(
            node,
            "MaintenanceWithoutCordon",
            TEXTS.message("MaintenanceWithoutCordon", maintenance=first),
            since=(max(each.created or 0.0 for each in maintained) or None, Since.CREATION),
            maintenance=first.name,
        )


def _lost(node: NodeContext, here: list[VirtualMachineInstance]) -> Finding:
    subject = node.node
    assert subject is not None  # of_node looks
    pods = [pod for pod in node.launchers if pod.node == node.name]
    ending = sum(1 for pod in pods if pod.deleting is not None)
    coming = deletion(subject, (pod for pod in pods if pod.deleting is None))
    down = _down(node, here)
    said = [TEXTS.message("NodeLost", vmis=counted(len(here), "VMI"))]
    if ending:
        said.append(TEXTS.message("NodeLost", "ending", pods=counted(ending, "launcher pod")))
    if coming.first is not None:
        deletes = "deletes_others" if ending else "deletes"
        said.append(TEXTS.message("NodeLost", deletes, time=text(coming.first)))
    if down is not None:
        said.append(_restarts(len(here), down))
    ran = any(vmi.phase == "Running" for vmi in here)
    return _finding(
        node,
        "NodeLost",
        " ".join(said),
        severity=Severity.CRITICAL if ran else Severity.WARNING,
        since=(subject.unready_since, Since.CONDITION),
        vmis=len(here),
        named=[f"{vmi.namespace}/{vmi.name}" for vmi in here[:NAMED]],
        podsEnding=ending or None,
        podsDeletedFrom=text(coming.first) or None,
        podsKept=coming.never or None,
        startAgain=len(here) - len(down) if down is not None else None,
        stayDown=down[:NAMED] if down else None,
    )


def _down(node: NodeContext, here: list[VirtualMachineInstance]) -> list[str] | None:
    """Those that nobody starts again; None where VMs can't be seen."""
    try:
        vms = [node.drain.view.named(VirtualMachine, vmi.namespace, vmi.name) for vmi in here]
    except UnseenError:
        return None
    why = ((vmi, stays_down(vmi, vm)) for vmi, vm in zip(here, vms, strict=True))
    return [f"{vmi.namespace}/{vmi.name} ({each})" for vmi, each in why if each]


def _restarts(count: int, down: list[str]) -> str:
    start = count - len(down)
    variant = "starts" if not down else "some_start" if start else "none_starts"
    return TEXTS.message("NodeLost", variant, vmis=counted(start, "VMI"), down=named(down))


def _idle(node: NodeContext, left: int) -> Finding:
    return _finding(node, "CordonedWithVMs", TEXTS.message("CordonedWithVMs", vmis=left), since=node.since, vmis=left)


def _finding(
    node: NodeContext,
    reason: str,
    message: str,
    *,
    since: tuple[float | None, Since],
    severity: Severity | None = None,
    **evidence: object,
) -> Finding:
    subject = node.node
    assert subject is not None  # of_node looks
    return Finding(
        reason=reason,
        severity=severity or REASONS[reason].severities[0],
        subject=subject.ref,
        message=message,
        node=node.name,
        since=since[0],
        since_source=since[1] if since[0] is not None else Since.FIRST_SEEN,
        evidence={name: fact for name, fact in evidence.items() if fact is not None},
    )


# The VMIs that are left on a node that is being drained, counted.


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
    times: dict[str, Time] = {"NodeDrainResidual": node.since}
    if len(blocked) == len(left):
        times["NodeDrainStalled"] = _stalled(node, held)
    for reason, since in times.items():
        # Each migration is in steps in which it may hang, for seconds: only a drain that stands still says which does.
        stalled = reason == "NodeDrainStalled"
        counts = dict(sorted(Counter(_counted_as(each, stalled=stalled) for each in left).items()))
        by_reason = ", ".join(f"{count} {code}" for code, count in counts.items())
        yield Finding(
            reason=reason,
            severity=REASONS[reason].severities[0],
            subject=node.node.ref,
            message=TEXTS.message(reason, vmis=counted(len(left), "VMI"), counts=by_reason),
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
    return reason is not None and reason.family.name == BLOCKED and departure.state is not DrainState.TERMINATING
