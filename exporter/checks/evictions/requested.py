"""A VMI that is marked to leave a node: what keeps it from doing so, the most specific reason only.

The order: another node's mark; what its strategy makes of the mark; migrations that fail; the one that is under way;
none at all. So a reason stays while attempts come and go (firmware-eviction B.4, B.5, B.9).
"""

from __future__ import annotations

from collections.abc import Iterator

from ...findings import Finding, Severity, Since
from ...model.evacuation import FAILING
from ...model.kinds.node import Node
from .guest import Guest, text
from .migrations import failing, held_up, queued, unschedulable
from .site import Time

__all__ = ["evaluated"]

_LONGEST_LABEL = 63


def evaluated(guest: Guest) -> Iterator[Finding]:
    vmi = guest.vmi
    if vmi.evacuation != guest.site.name:
        if not vmi.migrating:
            yield _stale(guest)
    elif guest.strategy == "External":
        if guest.open is None and not vmi.migrating:
            yield from _external(guest)
    elif guest.strategy not in ("LiveMigrate", "LiveMigrateIfPossible"):
        yield _unmanaged(guest)
    elif guest.unable and not vmi.migrating:
        yield _not_migratable(guest) if guest.strategy == "LiveMigrate" else _unmanaged(guest)
    elif guest.able:
        yield from _migrating(guest)


def _stale(guest: Guest) -> Finding:
    """The API server lets a mark be cancelled only by the node that it names, and only while that exists."""
    vmi, site = guest.vmi, guest.site
    gone = site.view.named(Node, "", vmi.evacuation) is None
    times: list[Time] = [guest.since]
    if vmi.migration is not None:
        times.append((vmi.migration.ended, Since.PHASE))
    known = [each for each in times if each[0] is not None]
    step = (
        "migrate it once more: a mark can't be cancelled while its node does not exist, and a migration clears it"
        if gone
        else f"cancel the mark, with evacuationNodeName {vmi.evacuation} (not {vmi.node}), or migrate it once more"
    )
    what = f"it is marked to leave {vmi.evacuation}{', which does not exist' if gone else ''} and is on {vmi.node}"
    return guest.finding(
        "StaleEvacuationRequest",
        f"{what}: nobody migrates it, and evictions of its pod are refused",
        step,
        since=max(known, default=guest.since, key=lambda each: each[0] or 0.0),
        nodeGone=gone or None,
    )


def _external(guest: Guest) -> Iterator[Finding]:
    handler, deadline = guest.vmi.handler, text(guest.deadline)
    who = f"KubevirtMachine {handler}" if handler else "its manager"
    until = f" (its time ends at {deadline})" if deadline else ""
    yield guest.finding(
        "ExternalAwaiting",
        f"it is marked to leave {guest.vmi.node}, KubeVirt leaves that to {who}{until}, and it is still there",
        f"look at {who} and its controller; KubeVirt does not move it",
        since=guest.since,
        handler=handler,
        deadline=deadline,
        schedulable=not guest.site.closed or None,
    )
    if not handler:
        yield guest.finding(
            "ExternalNoHandler",
            "its strategy is External, and no label tells who is to move it",
            "find out who manages it: its owner and labels may say",
            severity=Severity.INFO,
            since=guest.since,
            owner=guest.vmi.owner,
        )


def _unmanaged(guest: Guest) -> Finding:
    why = f"it can't be migrated ({_hindrance(guest)})" if guest.unable else f"its strategy is {guest.strategy}"
    return guest.finding(
        "RequestWithUnmanagedStrategy",
        f"it is marked, and {why}: nobody migrates it, and its next eviction shuts it down",
        "shut it down in your own time, or make it one that can be migrated, before its pod is evicted",
        since=guest.since,
        hindrance=guest.vmi.hindrance if guest.unable else "",
    )


def _not_migratable(guest: Guest) -> Finding:
    return guest.finding(
        "NotMigratableAfterRequest",
        f"it was marked and can't be migrated any more ({_hindrance(guest)}): evictions of its pod are refused",
        "take away what keeps it from migrating, or stop the VM",
        since=guest.since,
        hindrance=guest.vmi.hindrance,
    )


def _hindrance(guest: Guest) -> str:
    return ": ".join(filter(None, (guest.vmi.hindrance, guest.vmi.hindered))) or "no reason given"


def _migrating(guest: Guest) -> Iterator[Finding]:
    """KubeVirt has to move it."""
    if len(guest.failed) >= FAILING:
        yield failing(guest)
    elif guest.vmi.migrating:
        return
    elif found := unschedulable(guest) or held_up(guest):
        yield found
    elif guest.open is not None and guest.open.phase not in ("", "Pending"):
        return
    elif not guest.site.closed and guest.site.node is not None:
        yield from _on_schedulable_node(guest)
    elif guest.open is not None or (guest.site.full and not _starts_all(guest)):
        yield from queued(guest)
    elif not guest.evacuations:
        yield _not_started(guest)


def _starts_all(guest: Guest) -> bool:
    """From 1.9 on migrations are made at once for all that are marked; before, as many as may run (B.4)."""
    kubevirt = guest.site.kubevirt
    return kubevirt is not None and kubevirt.release >= (1, 9)


def _on_schedulable_node(guest: Guest) -> Iterator[Finding]:
    vmi = guest.vmi
    if vmi.descheduled:
        return
    yield guest.finding(
        "RequestByWorkloadUpdate" if vmi.outdated else "RequestOnSchedulableNode",
        f"it is marked to leave {vmi.node}, which nobody drains: KubeVirt migrates it until it has left, "
        "and evictions of its pod are refused",
        "wait, KubeVirt's update replaces it"
        if vmi.outdated
        else f"where the drain was given up cancel the mark, with evacuationNodeName {vmi.evacuation}",
        severity=Severity.INFO if vmi.outdated else Severity.WARNING,
        since=guest.since,
        migration=guest.open.name if guest.open is not None else "",
    )


def _not_started(guest: Guest) -> Finding:
    name, others = guest.vmi.name, [pod.name for pod in guest.pods if pod is not guest.pod]
    if len(name) > _LONGEST_LABEL:
        cause, why = "NameTooLong", f"its name of {len(name)} characters is too long for the label of a migration"
        step = "stop the VM: it can't be migrated under this name"
    elif others:
        cause, why = "MultiplePods", f"another pod of it has not ended: {', '.join(others)}"
        step = "find out why that pod does not end"
    else:
        cause, why = "", "KubeVirt has made none"
        step = "look whether virt-controller runs, and at the events of the VMI"
    return guest.finding(
        "NotStarted",
        f"it is marked to leave {guest.vmi.node} and no migration of it was made: {why}",
        step,
        since=guest.since,
        cause=cause,
        pods=others,
    )
