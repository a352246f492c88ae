"""Migrates a VMI with an evacuation request that KubeVirt does not carry out; success clears the request.

It creates one VirtualMachineInstanceMigration, under a name that follows from the VMI, from the node that the request
names, and from the last migration of it that ended: sent twice it exists once, and after it has ended a later plan has
another name. It has no priority, which only virt-controller may set, and is none of KubeVirt's evacuations, whose
back-off it would add to. Where the last one of ours failed there is no other.

Undo: delete the VirtualMachineInstanceMigration before it has finished: KubeVirt aborts it, and the VMI stays where it
is. Afterwards, or once it migrates by post-copy, another migration.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

from exporter.domain.drains.departure.vmi import VMIContext
from exporter.facts.naming import named
from exporter.facts.record import Ref
from exporter.findings.finding import Finding
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance
from exporter.store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration

from ...guards import guard
from ...patterns import PRESENT, Begins, Exactly, Like
from ...plan import Create, Plan, Refused, Risk
from ...remediation import Remediation, Scene
from ...undo import Undo, UndoEffect, UndoRequest
from ...writes import Created, Write
from .._grounds import owning_vm, table, under_way
from ._leaving import ails, leaving, unfinished

_PREFIX = "steward-evacuation-"
_LONGEST_NAME = 63  # KubeVirt's migration webhook puts the VMI's name into a label


@guard(
    leaving,
    under_way,
    {
        "not_external": "the VMI's strategy is not External: its controller decides where it goes",
        "running": "the VMI is Running",
        "migratable": "its condition LiveMigratable is True",
        "name_fits": "its name fits into the label of a migration (63 characters)",
        "node_ready": "its node is Ready, and virt-handler there sends heartbeats",
        "no_migration": "no migration of the VMI is unfinished",
        "one_pod": "it has only one unfinished pod: KubeVirt would wait for others",
        "last_attempt": "its last finished migration isn't a failed one of the steward",
        "below_limits": "KubeVirt's limits of parallel migrations, in the cluster and from its node, are not reached",
    },
    owning_vm,
)
def _plan(finding: Finding, scene: Scene) -> Plan | Refused:
    own = leaving(finding, scene)
    if isinstance(own, Refused):
        return own
    if refused := _unable(own) or _untimely(own) or _held_by_vm(own, scene):
        return refused
    vmi = own.vmi
    target = Ref("VirtualMachineInstanceMigration", vmi.namespace, _name(own))
    cleared = (
        f"; after its success, KubeVirt clears the evacuation request for {vmi.evacuation}" if vmi.evacuation else ""
    )
    return REMEDIATION.planned(
        finding,
        Create(target=target, manifest=_manifest(target, vmi.name), of=finding.subject),
        effect=f"KubeVirt migrates it from {vmi.node} to a node that it picks{cleared}.",
        undo=f"delete {target} before it has finished, and the VMI stays on {vmi.node}; afterwards, migrate it again",
    )


def _unable(own: VMIContext) -> Refused | None:
    """Why it can't be migrated at all, or not by us."""
    vmi = own.vmi
    if own.strategy == "External":
        return Refused("not_external", f"{vmi.ref} has strategy External: its controller decides where it goes")
    if vmi.phase != "Running":
        return Refused("running", f"{vmi.ref} is {vmi.phase or 'new'}")
    if vmi.migratable != "True":
        why = vmi.hindrance or "not evaluated"
        return Refused("migratable", f"LiveMigratable of {vmi.ref} is {vmi.migratable or 'missing'}: {why}")
    if len(vmi.name) > _LONGEST_NAME:
        return Refused(
            "name_fits",
            f"the name of {vmi.ref} has {len(vmi.name)} characters, and a migration's label takes {_LONGEST_NAME}",
        )
    if own.node.node is None:
        return Refused("node_ready", f"node {vmi.node}, which {vmi.ref} is on, does not exist")
    if why := ails(own):
        return Refused("node_ready", why)
    return None


def _untimely(own: VMIContext) -> Refused | None:
    """Why it can't be migrated now."""
    vmi, limits = own.vmi, own.node.drain.kubevirt
    if running := unfinished(own):
        return Refused("no_migration", running)
    if own.others:
        return Refused("one_pod", f"another pod of {vmi.ref} has not ended: {named(own.others)}")
    last = _last_ended(own)
    if last is not None and last.name.startswith(_PREFIX) and last.phase == "Failed":
        why = last.failure or "no reason given"
        return Refused(
            "last_attempt", f"{last.ref}, which the steward created, failed: {why}; delete it once the cause is fixed"
        )
    if limits is not None and own.node.full:
        return Refused(
            "below_limits",
            f"{own.node.drain.running} migrations run, {own.node.outbound} of them from {vmi.node};"
            f" KubeVirt runs {limits.per_cluster} at once, {limits.per_node} from one node",
        )
    return None


def _held_by_vm(own: VMIContext, scene: Scene) -> Refused | None:
    if own.vmi.vm_uid and isinstance(vm := owning_vm(own.vmi, scene), Refused):
        return vm
    return under_way(scene, own.vmi.namespace, (own.vmi.name,))


def _last_ended(own: VMIContext) -> VirtualMachineInstanceMigration | None:
    return next((each for each in own.migrations if each.finished), None)


def _name(own: VMIContext) -> str:
    last = _last_ended(own)
    of = "\0".join((own.vmi.uid, own.vmi.evacuation, last.uid if last is not None else ""))
    return _PREFIX + blake2b(of.encode(), digest_size=8).hexdigest()


def _manifest(target: Ref, vmi: str) -> dict[str, Any]:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": target.kind,
        "metadata": {
            "name": target.name,
            "namespace": target.namespace,
            "labels": {"app.kubernetes.io/managed-by": "kubevirt-steward"},
        },
        "spec": {"vmiName": vmi},
    }


_MIGRATION = Like(
    metadata=Like(name=Begins(_PREFIX), labels=Like(**{"app.kubernetes.io/managed-by": "kubevirt-steward"})),
    spec=Exactly(vmiName=PRESENT),
)
REMEDIATION = Remediation(
    id="migrate_marked_vmi",
    title="Migrate a VMI whose evacuation request is not carried out",
    writes=(Write("kubevirt.io", "virtualmachineinstancemigrations", ("create",), (Created(_MIGRATION),)),),
    plan=_plan,
    risk=Risk.MIGRATION,
    undo="delete the VirtualMachineInstanceMigration before it has finished; afterwards, another migration",
)


# A migration is taken back by its deletion, as long as KubeVirt can abort it.

_POST_COPY = "PostCopy"  # status.migrationState.mode of a VMI


@guard(
    {
        "not_being_deleted": "the migration is not being deleted",
        "unfinished": "the migration has not ended",
        "vmi_is_there": "the VMI has the UID that it had",
        "can_be_aborted": "the VMI isn't migrating by post-copy",
    },
    reads=(VirtualMachineInstanceMigration.KIND, VirtualMachineInstance.KIND),
)
def _weigh(taken: UndoRequest, scene: Scene) -> UndoEffect | Refused:
    ref, subject = taken.plan.target, taken.plan.subject
    migration = scene.named(VirtualMachineInstanceMigration, ref.namespace, ref.name)
    if migration is None:
        return Refused("same_object", f"{ref} does not exist")
    if migration.deleting is not None:
        return Refused("not_being_deleted", f"{migration.ref} is being deleted already")
    if migration.finished:
        why = f"{migration.ref} has ended, as {migration.phase}: deleting it undoes nothing. Migrate the VMI again"
        return Refused("unfinished", why)
    whole = scene.of(subject)
    if whole is None:
        return Refused("vmi_is_there", f"{subject} with UID {subject.uid} is no longer there")
    state = table(table(whole.get("status")).get("migrationState"))
    if state.get("mode") == _POST_COPY and state.get("migrationUid") in (None, migration.uid):
        why = f"{subject} migrates by post-copy: its memory is on two nodes, and an abort would end the guest"
        return Refused("can_be_aborted", why)
    vmi = scene.named(VirtualMachineInstance, subject.namespace, subject.name)
    node = vmi.node if vmi is not None and vmi.node else "its node"
    request = f" The evacuation request for {vmi.evacuation} remains." if vmi is not None and vmi.evacuation else ""
    return UndoEffect(effect=f"KubeVirt aborts the migration, and {subject} stays on {node}.{request}")


UNDO = Undo(id="migrate_marked_vmi", weigh=_weigh)
