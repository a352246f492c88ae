"""What becomes of the migrations of a VMI that is to leave its node (firmware-eviction B.5, B.9)."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ...findings import Finding, Severity, Since
from ...model.kinds.pod import Pod
from ...model.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from .guest import Guest
from .site import Time

__all__ = ["failing", "held_up", "queued", "unschedulable"]

# What libvirt says where source and target have one system UUID.
_SAME_HOST = "same host"
_HELD = {
    "migrationRejectedByResourceQuota": (
        "Quota",
        "the namespace's ResourceQuota has no room for its target pod",
        "raise the quota, or free some of it",
    ),
    "migrationBlockedByBackup": ("Backup", "a backup of it runs", "wait for the backup, or end it"),
    "migrationBlockedByUtilityVolumes": (
        "UtilityVolumes",
        "utility volumes are attached to it",
        "find out who attached them; KubeVirt gives the migration up after 150 seconds",
    ),
}


def failing(guest: Guest) -> Finding:
    """Reported as long as none has succeeded, whatever the newest attempt is doing."""
    count, failure = len(guest.failed), _failure(guest)
    same_host = _SAME_HOST in failure.lower()
    waiting = _unschedulable_pod(guest)
    message = f"{count} migrations in a row failed" + (f": {failure}" if failure else "")
    step = "find the cause on both nodes and in the pods' logs; while it lasts each attempt fails the same way"
    if same_host:
        step = "give each node a system UUID of its own: see the findings of node_identity"
    elif waiting is not None:
        message += f"; now no node takes its target pod: {waiting.unschedulable}"
        step = "free capacity, or relax what the VM asks of a node"
    elif not guest.site.closed and guest.site.node is not None:
        step = f"where the drain was given up cancel the mark, with evacuationNodeName {guest.vmi.evacuation}"
    return guest.finding(
        "MigrationFailing",
        message,
        step,
        since=guest.since,
        failed=count,
        failure=failure,
        cause="SameHost" if same_host else "",
        migrations=[each.name for each in guest.failed],
        unschedulable=waiting.unschedulable if waiting is not None else "",
        schedulable=not guest.site.closed or None,
    )


def _failure(guest: Guest) -> str:
    newest, last = guest.failed[0], guest.vmi.migration
    of_vmi = last.failure if last is not None and last.uid == newest.uid else ""
    return newest.failure or of_vmi


def _unschedulable_pod(guest: Guest) -> Pod | None:
    if guest.open is None:
        return None
    waiting = [p for p in guest.pods if p.migration == guest.open.uid and p.phase == "Pending" and p.unschedulable]
    return waiting[0] if waiting else None


def unschedulable(guest: Guest) -> Finding | None:
    """Before KubeVirt gives the attempt up, after 300 seconds, and makes the next."""
    migration, pod = guest.open, _unschedulable_pod(guest)
    if migration is None or pod is None:
        return None
    return guest.finding(
        "TargetUnschedulable",
        f"no node takes the target pod of its migration: {pod.unschedulable}",
        "free capacity, or relax what the VM asks of a node",
        since=_began(migration),
        related=(migration.ref, pod.ref),
        migration=migration.name,
        pod=pod.name,
        scheduler=pod.unschedulable,
    )


def held_up(guest: Guest) -> Finding | None:
    """By something else than its turn."""
    migration = guest.open
    if migration is None or migration.phase not in ("", "Pending"):
        return None
    cause, why, step = _cause(guest, migration)
    if not cause:
        return None
    return guest.finding(
        "MigrationPending",
        f"migration {migration.name} is held up: {why}",
        step,
        since=_began(migration),
        related=(migration.ref,),
        migration=migration.name,
        cause=cause,
    )


def _cause(guest: Guest, migration: VirtualMachineInstanceMigration) -> tuple[str, str, str]:
    for condition in migration.rejections:
        return _HELD[condition]
    others = [pod.name for pod in guest.pods if pod is not guest.pod and pod.migration != migration.uid]
    if others:
        return "MultiplePods", f"another pod of it has not ended: {', '.join(others)}", "find out why it does not end"
    if not migration.phase:
        return "Unhandled", "virt-controller has not looked at it", "look whether virt-controller runs"
    if guest.failed:
        return "Backoff", "the one before failed, and KubeVirt waits before it tries again", "find out why it failed"
    return "", "", ""


def queued(guest: Guest) -> Iterator[Finding]:
    """It waits for its turn, which is normal, and after an hour is not."""
    migration, limits = guest.open, guest.site.kubevirt
    # How many run just now is left out: it changes by the second, and so would the findings of all that wait.
    found = guest.finding(
        "MigrationQueued",
        "its migration waits for its turn",
        "wait; how many run at once is set at the KubeVirt object, spec.configuration.migrations",
        severity=Severity.INFO,
        since=_began(migration) if migration is not None else guest.since,
        related=(migration.ref,) if migration is not None else (),
        migration=migration.name if migration is not None else "",
        cause="Capacity" if guest.site.busy else "Waiting",
        limits={"node": limits.per_node, "cluster": limits.per_cluster} if limits is not None else None,
    )
    yield found
    yield msgspec.structs.replace(found, reason="MigrationOverdue", severity=Severity.WARNING)


def _began(migration: VirtualMachineInstanceMigration) -> Time:
    if migration.phase_since is not None:
        return migration.phase_since, Since.PHASE
    return migration.created, Since.CREATION if migration.created is not None else Since.FIRST_SEEN
