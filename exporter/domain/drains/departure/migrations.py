"""The departure of a VMI that KubeVirt has to migrate.

The order: migrations that fail; the one that is open, which hangs, is held up or is under way; none at all. So a reason
stays while attempts come and go.
"""

from __future__ import annotations

from dataclasses import replace

from ....facts.naming import named
from ....facts.times import Since, Time
from ....store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from ..failures import classified, failed_migration
from .context import Departure, DrainState
from .hanging import explained, hanging, starting, unschedulable
from .remedies import remedy_of
from .vmi import VMIContext, of, text

FAILING = 2  # evacuations in a row that failed: one alone is tried again and says little
LONGEST_NAME = 63  # KubeVirt's migration webhook puts the name into a label
_HELD = {
    "migrationRejectedByResourceQuota": ("Quota", "the namespace's ResourceQuota is too small for the target pod"),
    "migrationBlockedByBackup": ("Backup", "a backup of the VMI is running"),
    "migrationBlockedByUtilityVolumes": ("UtilityVolumes", "utility volumes are attached to the VMI"),
}


def migrated(own: VMIContext) -> Departure:
    vmi = own.vmi
    useless, hangs = _on_schedulable_node(own), hanging(own)
    if own.asked and len(own.failed) >= FAILING:
        given_up = useless is not None and not vmi.outdated and own.cancels
        return _beside(_beside(failing(own, own.failed, given_up=given_up), useless), hangs)
    if hangs is not None:
        return _beside(hangs, useless)
    if vmi.migrating and own.migrating:
        to = vmi.migration.target if vmi.migration is not None else ""
        return of(own, DrainState.MIGRATING, "", f"it is migrating{f' to {to}' if to else ''}", to=to)
    if own.open is not None:
        stays = held(own, own.open)
        if stays is not None:
            return _beside(stays, useless)
        if own.migrating or own.target is not None:
            return of(own, DrainState.MIGRATING, "", f"its migration {own.open.name} is {own.open.phase}")
    if useless is not None and own.open is not None:
        return useless
    if own.open is not None:
        return queued(own)
    if not own.asked:
        return _unasked(own)
    made = _without_migration(own)
    if made.reason == "MigrationQueued" and useless is not None and not vmi.outdated:
        return _worked_off(own)
    return _beside(made, useless)


def _worked_off(own: VMIContext) -> Departure:
    """It is asked to leave a node that nobody drains, one of so many that KubeVirt takes them in turns: it comes to it
    without anybody's help.
    """
    what = f"it is one of several VMIs with an evacuation request for {own.vmi.node}. No drain is detected, and the"
    what += " migration limit is reached"
    return of(own, DrainState.WAITING, "RequestQueued", what)


def _beside(made: Departure, other: Departure | None) -> Departure:
    """With another departure that is true, too: of an evacuation request that only a migration ends, what holds that
    migration up is to be mended first.
    """
    if other is None:
        return made
    if other.remedy.of == ("RequestOnSchedulableNode", "Kept") and made.state is not DrainState.WAITING:
        remedy = remedy_of("RequestOnSchedulableNode", "Blocked")
        other = replace(other, remedy=remedy, values={**other.values, "BLOCKER": made.reason})
    return replace(made, also=(*made.also, other))


def failing(own: VMIContext, failed: list[VirtualMachineInstanceMigration], *, given_up: bool = False) -> Departure:
    """Of a VMI whose last migrations failed, newest first. Reported as long as none has succeeded, whatever the newest
    attempt is doing.
    """
    failures = [failed_migration(each, own.vmi) for each in failed]
    failure = failures[0].text
    waiting, found = unschedulable(own), classified(failure)
    count = f"{len(failed)} migrations in a row" if len(failed) > 1 else "the last migration"
    why = f"{count} failed" + (f": {failure}" if failure else "")
    if found is not None:
        why += f" ({found.meaning})"
    case = found.id if found is not None else ""
    if found is not None and found.lasting:
        why += ". The next ones will fail too, until the VM is restarted" if found.id != "SameHost" else ""
    elif waiting is not None:
        case = "Unschedulable"
        why += f". Now no node can run the target pod: {waiting.unschedulable}"
    elif given_up:
        case = "GivenUp"
    made = of(
        own,
        DrainState.BLOCKED,
        "MigrationFailing",
        why,
        case,
        failed=len(failed),
        failure=failure,
        cause=found.id if found is not None else "",
        migrations=[each.migration for each in failures],
        failures=[each.failure for each in failures],
        unschedulable=waiting.unschedulable if waiting is not None else "",
        schedulable=not own.node.closed or None,
    )
    return made if case else explained(own, made)


def held(own: VMIContext, migration: VirtualMachineInstanceMigration) -> Departure | None:
    """Its open migration, where something else than its turn holds it up."""
    began = _began(migration)
    made = starting(own, migration, began)
    if made is not None:
        return made
    cause, why = _cause(own, migration) if migration.phase in ("", "Pending") else ("", "")
    if not cause:
        return None
    why = f"migration {migration.name} is blocked: {why}"
    made = of(
        own, DrainState.BLOCKED, "MigrationPending", why, cause, since=began, migration=migration.name, cause=cause
    )
    return replace(made, related=(migration.ref,))


def _cause(own: VMIContext, migration: VirtualMachineInstanceMigration) -> tuple[str, str]:
    for condition in own.holding:
        return _HELD[condition]
    if own.target is not None:
        return "", ""  # it has had its turn
    if own.others:
        return "MultiplePods", f"another pod of the VMI has not ended: {named(own.others)}"
    if not migration.phase:
        return "Unhandled", "virt-controller has not processed it"
    if own.failed and own.asked:
        return "Backoff", "the previous one failed, and KubeVirt waits before it tries again"
    return "", ""


def _on_schedulable_node(own: VMIContext) -> Departure | None:
    """It is asked to leave a node that nobody drains. The descheduler's requests are meant so."""
    vmi, node = own.vmi, own.node
    if vmi.evacuation != node.name or node.closed or node.node is None or vmi.descheduled:
        return None
    reason = "RequestByWorkloadUpdate" if vmi.outdated else "RequestOnSchedulableNode"
    what = f"it has an evacuation request for {vmi.node}, and no drain of the node is detected"
    return of(
        own,
        DrainState.WAITING,
        reason,
        f"{what}. KubeVirt tries to migrate it until it has left, and rejects evictions of its pod",
        "Named" if own.cancels else "Kept",
        migration=own.open.name if own.open is not None else "",
    )


def queued(own: VMIContext) -> Departure:
    """It waits for its turn, which is normal; who knows the time may call it overdue."""
    made = in_turn(own, running=own.node.drain.running > 0)
    return replace(made, also=(overdue(made),))


def overdue(made: Departure) -> Departure:
    """One that waits for its turn, once that takes too long."""
    return replace(made, reason="MigrationOverdue", remedy=remedy_of("MigrationOverdue", made.remedy.of[1]))


def in_turn(own: VMIContext, *, running: bool) -> Departure:
    """The same without what it becomes; `running` says whether any migration runs just now."""
    migration, limits = own.open, own.node.drain.kubevirt
    # How many run just now is left out: it changes by the second, and so would the findings of all that wait.
    made = of(
        own,
        DrainState.WAITING,
        "DeschedulingQueued" if own.vmi.descheduled and not own.node.closed else "MigrationQueued",
        "its migration is queued" if running else "its migration waits, although no other migration runs",
        "" if running else "Waiting",
        since=_began(migration) if migration is not None else None,
        migration=migration.name if migration is not None else "",
        cause="Capacity" if running else "Waiting",
        limits={"node": limits.per_node, "cluster": limits.per_cluster} if limits is not None else None,
    )
    return replace(made, related=(migration.ref,) if migration is not None else ())


def _without_migration(own: VMIContext) -> Departure:
    vmi = own.vmi
    if len(vmi.name) > LONGEST_NAME:
        return _not_started(own, "NameTooLong", f", but can't be migrated: {_too_long(own)}")
    if own.unended is not None and not own.node.kubevirt_taint:
        return _not_started(own, "NotEnded", f", but KubeVirt creates no migration: {_not_ended(own)}")
    if own.waits_for_room:
        return queued(own)
    if own.others:
        return _not_started(
            own, "MultiplePods", f", but KubeVirt creates no migration while it has other pods: {named(own.others)}"
        )
    if own.failed:
        return _not_started(
            own, "NotRetried", f". Its migration {own.failed[0].name} failed, and KubeVirt has created none since"
        )
    if own.has_failed:
        return _not_started(own, "NotRetried", ". Its last migration failed, and KubeVirt has created none since")
    return _not_started(own, "", ", but KubeVirt has created no migration")


def _not_started(own: VMIContext, cause: str, why: str) -> Departure:
    """The latest of what it waits from: its request, the end of its last migration, the start of one without an end."""
    times = [own.since, *(_began(each) for each in own.migrations if each.finished)]
    if cause == "NotEnded" and own.unended is not None:
        times.append(own.unended)
    if own.vmi.migration is not None and own.vmi.migration.ended is not None:
        times.append((own.vmi.migration.ended, Since.PHASE))
    since = max(times, key=lambda each: each[0] or 0.0)
    if own.in_turns and cause in ("", "NotRetried"):
        # KubeVirt makes as many as may run: it was another one's turn until lately.
        since = since[0], Since.FIRST_SEEN
    what = f"it must leave {own.node.name}{why}"
    return of(own, DrainState.BLOCKED, "NotStarted", what, cause, since=since, cause=cause, pods=own.others)


def _not_ended(own: VMIContext) -> str:
    began = text(own.vmi.migration.started) if own.vmi.migration is not None else ""
    return f"according to its status it has been migrating since {began}, but no such migration exists"


def _too_long(own: VMIContext) -> str:
    return f"its name of {len(own.vmi.name)} characters is too long for the label of a migration"


def _unasked(own: VMIContext) -> Departure:
    """What an eviction comes to."""
    if len(own.vmi.name) > LONGEST_NAME:
        return of(own, DrainState.BLOCKED, "NameTooLong", f"it can't be migrated: {_too_long(own)}")
    if own.unended is not None:
        return of(
            own, DrainState.BLOCKED, "NotEnded", f"KubeVirt would create no migration of the VMI: {_not_ended(own)}"
        )
    if left := [pod.name for pod in own.besides if pod.deleting is None]:
        why = f"KubeVirt creates no migration of the VMI while it has other pods: {named(left)}"
        return of(own, DrainState.BLOCKED, "SeveralPods", why)
    if own.pod is None:
        return of(own, DrainState.UNKNOWN, "", "its launcher pod is not seen on the node")
    return _after_failures(own) or of(own, DrainState.WAITING, "", "it migrates when it is evicted")


def _after_failures(own: VMIContext) -> Departure | None:
    """What its last migrations say of the next one: it fails as well where that lasts, and may where it does not."""
    failed = own.failures
    if not failed:
        return None
    found = classified(failed_migration(failed[0], own.vmi).text)
    if found is not None and found.lasting:
        return failing(own, failed)
    return replace(failing(own, failed), state=DrainState.MAY_MIGRATE) if len(failed) >= FAILING else None


def _began(migration: VirtualMachineInstanceMigration) -> Time:
    if migration.phase_since is not None:
        return migration.phase_since, Since.PHASE
    return migration.created, Since.CREATION if migration.created is not None else Since.FIRST_SEEN
