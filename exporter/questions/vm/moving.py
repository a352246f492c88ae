"""Where a VM runs, whether it can be migrated, which migration is under way, what that waits for, and what failed."""

from __future__ import annotations

from collections.abc import Container, Iterator

from ...domain.drains.departure import REMEDIES, drain_context
from ...domain.drains.departure.migrations import LONGEST_NAME
from ...domain.drains.departure.remedies import Remedy
from ...domain.drains.departure.vmi import VMIContext
from ...domain.drains.eviction import strategy_of
from ...domain.drains.failures import CLASSES, FailedMigration, failures_shown
from ...domain.drains.health import ailment
from ...domain.drains.moving import moving, troubles
from ...domain.features.configuration import Effective
from ...engine.restraints import Restraints
from ...facts.naming import filled
from ...facts.rule import Migrates, Stage
from ...facts.rules import BY_ID
from ...facts.times import Since, Time
from ...findings.advice import Advice, next_step
from ...store.kinds.kube_virt import KubeVirt
from ...store.kinds.namespace import Namespace
from ...store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from ...store.kinds.node import Node
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import PENDING, VirtualMachineInstance
from ...store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from ...store.source import unseen
from ..times import rfc3339
from .context import KINDS, OneVM
from .report import FailureReport, HeldMigration, MigrationAbility, MigrationUnderWay, RunningPlace
from .shape import refused

# What keeps a VM from being started, restarted or migrated, by its own objects and by what they refer to, whether or
# not a finding is open on that: clauses about the VM.
#
# What it is refused for is a fault; what it may not do now is none, since that passes, or is as its owner wants it.

_AT_START = (Stage.ADMISSION, Stage.CREATION, Stage.POD, Stage.SCHEDULING)
_NO_RESTART = ("Halted", "Once")  # the run strategies of which KubeVirt restarts none on request


def refused_at_start(context: OneVM, vm: VirtualMachine) -> Iterator[str]:
    yield from _without_nad(context, vm)
    for rule, why in refused(context):
        if isinstance(context.known, Effective) and rule.bites(context.known) in _AT_START:
            yield f"{rule.phrase}: {why}"


def refused_on_moving(context: OneVM, vmi: VirtualMachineInstance) -> Iterator[str]:
    if len(vmi.name) > LONGEST_NAME:
        yield f"its name of {len(vmi.name)} characters is too long for the label of a migration"
    yield from _without_nad(context, vmi)


def _without_nad(context: OneVM, record: VirtualMachine | VirtualMachineInstance) -> Iterator[str]:
    """KubeVirt renders no launcher pod without them, for a start and for a migration alike."""
    if context.blind(NetworkAttachmentDefinition):
        return
    for nad in dict.fromkeys(nad for _, nad, unplugged in record.networks if nad and not unplugged):
        namespace, _, name = nad.partition("/")
        if context.view.named(NetworkAttachmentDefinition, namespace, name) is None:
            yield f"NAD {nad} does not exist"


def not_starting_now(context: OneVM, vm: VirtualMachine, *, runs: bool) -> Iterator[str]:
    """Of its next start; of a restart where it `runs`."""
    if vm.deleting is not None:
        yield "it is being deleted"
    yield from in_ending_namespace(context)
    yield from locked(vm)
    if runs and context.vmi is not None and context.vmi.deleting is not None:
        yield "its VMI is being deleted already"
    elif runs and vm.run_strategy in _NO_RESTART:
        yield f"KubeVirt restarts none with run strategy {vm.run_strategy}, which can only be stopped and started"


def locked(vm: VirtualMachine) -> Iterator[str]:
    if vm.locked_by:
        yield f"{vm.locked_by}, a snapshot or a restore that is in progress, locks it"


def not_moving_now(context: OneVM, own: VMIContext) -> Iterator[str]:
    """Of a migration that somebody makes now."""
    if own.vmi.deleting is not None or (context.vm is not None and context.vm.deleting is not None):
        yield "it is being deleted"
    yield from in_ending_namespace(context)
    if own.open is not None:
        yield f"its migration {own.open.name} has not ended"


def in_ending_namespace(context: OneVM) -> Iterator[str]:
    namespace = context.view.named(Namespace, context.namespace, context.namespace)
    if namespace is not None and namespace.terminating:
        yield "its namespace is being deleted"


_CLASSES = {each.id: each for each in CLASSES}
_MOST_FAILURES = 10
_FAILING = "MigrationFailing"
_OTHER = "none of the known causes"


def runs_now(vmi: VirtualMachineInstance | None) -> bool:
    """Whether its guest is on a node."""
    return vmi is not None and not vmi.final and bool(vmi.node) and vmi.phase not in PENDING


def runs(context: OneVM) -> RunningPlace | None:
    """None of one that does not run."""
    vmi = context.vmi
    if vmi is None:
        why = "" if context.proposed else context.blind_here(VirtualMachineInstance)
        return RunningPlace(unknown=why) if why else None
    since, source = _since(vmi)
    return RunningPlace(
        phase=vmi.phase,
        node=vmi.node,
        since=rfc3339(since),
        since_source=source.value if since is not None else "",
        paused=vmi.paused,
        outdated=vmi.outdated,
        blocked=vmi.blocked,
    )


def _since(vmi: VirtualMachineInstance) -> Time:
    last = vmi.migration
    if last is not None and last.ended is not None and not last.failed and last.target == vmi.node:
        return last.ended, Since.PHASE
    return vmi.created, Since.CREATION


def ability(context: OneVM, own: VMIContext) -> MigrationAbility:
    vmi = own.vmi
    unknown = bool(context.blind(KubeVirt)) and not vmi.strategy
    kubevirt = min(context.cluster.all(KubeVirt), key=lambda each: each.ref, default=None)
    default = "kubevirt" if kubevirt is not None and kubevirt.strategy else "builtin"
    rules = dict.fromkeys(BY_ID[rule] for rule, _ in vmi.asks)
    node = context.cluster.get(Node, "", vmi.node)
    gone = f"node {vmi.node} does not exist" if node is None and not context.blind(Node) else ""
    ails = ailment(node)
    return MigrationAbility(
        migratable=vmi.migratable,
        reason=vmi.hindrance if vmi.migratable != "True" else "",
        message=vmi.hindered if vmi.migratable != "True" else "",
        strategy="" if unknown else strategy_of(vmi, kubevirt),
        strategy_source="unknown" if unknown else "vmi" if vmi.strategy else default,
        features=tuple(each.phrase for each in rules if each.migrates is Migrates.NEVER),
        obstacle=ails.why if ails is not None else gone,
        refused=tuple(refused_on_moving(context, vmi)),
        not_now=tuple(not_moving_now(context, own)),
    )


def own_migrations(context: OneVM, vmi: VirtualMachineInstance) -> VMIContext:
    return moving(drain_context(context.view, frozenset(unseen(context.cluster, (kind.record for kind in KINDS)))), vmi)


def under_way(own: VMIContext) -> MigrationUnderWay | None:
    migration = own.open
    if migration is None:
        return None
    since, source = _phase_since(migration)
    last = own.vmi.migration
    handed = last.target if last is not None and last.uid == migration.uid else ""
    return MigrationUnderWay(
        name=migration.name,
        phase=migration.phase or "new",
        since=rfc3339(since),
        since_source=source.value if since is not None else "",
        made_for=migration.made_for,
        target=handed or (own.target.node if own.target is not None else ""),
    )


def _phase_since(migration: VirtualMachineInstanceMigration) -> Time:
    if migration.phase_since is not None:
        return migration.phase_since, Since.PHASE
    return migration.created, Since.CREATION


def held(own: VMIContext, open_reasons: Container[str], restraints: Restraints) -> Iterator[HeldMigration]:
    """What its migrations wait for, or fail of. A step that each migration takes is said without what to do about it:
    whether it takes too long an open finding on the VMI says, by its reason.
    """
    for each in troubles(own):
        since, source = each.since
        lasts = each.reason == _FAILING or each.reason in open_reasons
        given = Advice(each.reason, own.vmi.ref, next_step(each.remedy, each.values), each.commands, each.remedy.does)
        advice = restraints.advice(given, own.vmi.name, own.vmi.node)
        yield HeldMigration(
            lasts=lasts,
            reason=each.reason if lasts else "",
            why=each.why,
            next=advice.next if lasts else "",
            commands=advice.commands if lasts else (),
            since=rfc3339(since),
            since_source=source.value if since is not None else "",
        )


def failures(context: OneVM, own: VMIContext, restraints: Restraints) -> tuple[FailureReport, ...]:
    vmi = own.vmi
    last = vmi.migration
    standing = {each.uid for each in own.failures} | ({last.uid} if last is not None and last.failed else set())
    shown = {each.uid: each for each in failures_shown(context.view, vmi)}
    known = {each.uid: each for each in context.kept} | shown
    newest = sorted(known.values(), key=lambda each: (each.at or 0.0, each.uid), reverse=True)[:_MOST_FAILURES]
    return tuple(_failure(vmi, each, each.uid in standing, restraints) for each in newest)


def _failure(
    vmi: VirtualMachineInstance, failed: FailedMigration, stands: bool, restraints: Restraints
) -> FailureReport:
    known = _CLASSES.get(failed.failure)
    remedy: Remedy = REMEDIES.get(f"{_FAILING}/{failed.failure}") or REMEDIES[_FAILING]
    values = {"NAMESPACE": vmi.namespace, "NAME": vmi.name, "NODE": vmi.node, "UID": vmi.uid}
    commands = tuple(filled(each, values) for each in remedy.commands)
    given = Advice(_FAILING, vmi.ref, next_step(remedy, values), commands, remedy.does)
    advice = restraints.advice(given, vmi.name, vmi.node)
    return FailureReport(
        at=rfc3339(failed.at),
        migration=failed.migration,
        made_for=failed.made_for,
        failure=failed.failure,
        meaning=known.meaning if known is not None else _OTHER,
        lasting=stands and known is not None and known.lasting,
        text=failed.text,
        next=advice.next if stands else "",
        commands=advice.commands if stands else (),
    )
