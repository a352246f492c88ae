"""Puts a finalizer on an instancetype or preference that VMs depend on without a copy of it.

Nothing in KubeVirt prevents the deletion of one that is in use (kubevirt/kubevirt#8142). With the finalizer a deletion
waits: the object stays, VMs are still started by it, and KubeVirt still makes copies of it, until the finalizer is
taken off. It does not prevent that somebody changes the object.

Nothing here takes the finalizer off: that no VM depends on the object any more is no finding. While it is there, the
object cannot be deleted, nor can the namespace that it is in. So it is put only where the object's owner has allowed it
by the annotation `steward.kubevirt-steward.io/guard-allowed: "true"`. What virt-operator brings is left alone: it
removes what others write on it (pkg/virt-operator/resource/apply/instancetypes.go of kubevirt/kubevirt).

Undo: the undo of its entry in the ledger takes the finalizer off; while a deletion waits, and a VM has no copy, only if
that is accepted. Without the ledger, off all objects, and before the steward is uninstalled: `steward reconcile clean
--guards`. By hand, once each VM has a copy: `kubectl patch RESOURCE NAME --type=json` with an operation `remove` of its
place in `/metadata/finalizers`.
"""

from __future__ import annotations

from exporter.checks.instancetypes.instancetype_objects import without_copy
from exporter.domain.instancetypes.indexes import UNVERSIONED
from exporter.facts.naming import named
from exporter.findings.finding import Finding
from exporter.store.kinds.controller_revision import ControllerRevision
from exporter.store.kinds.instancetypes import INSTANCETYPES, Kept
from exporter.store.kinds.kube_virt import KubeVirt
from exporter.store.kinds.namespace import Namespace
from exporter.store.kinds.virtual_machine import VirtualMachine

from ...annotations import PREFIX
from ...guards import guard
from ...lost import Lost
from ...patterns import Like
from ...plan import Add, Op, Patch, Plan, Refused, Risk
from ...remediation import Remediation, Scene
from ...undo import Loss, Undo, UndoEffect, UndoRequest
from ...writes import Item, Patched, Write
from .._grounds import ending, table, texts

FINALIZER = f"{PREFIX}in-use"
ALLOWED = f"{PREFIX}guard-allowed"
_MANAGED_BY = "app.kubernetes.io/managed-by"
_OPERATORS = ("virt-operator", "hco-operator", "ssp-operator")


@guard(
    ending,
    {
        "unguarded": "the object does not have the finalizer yet",
        "not_managed": "no operator manages the object, and no controller owns it",
        "guard_allowed": f'the object has the annotation {ALLOWED}: "true"',
    },
    reads=INSTANCETYPES,
)
def _plan(finding: Finding, scene: Scene) -> Plan | Refused:
    ref = finding.subject
    whole = scene.of(ref)
    if whole is None:
        return Refused("same_object", f"{ref} does not exist")
    if refused := ending(scene, ref, whole):
        return refused
    meta = table(whole.get("metadata"))
    if not (meta.get("finalizers") is None or isinstance(meta.get("finalizers"), list)):
        return Refused("unguarded", f"the finalizers of {ref} aren't a list")
    finalizers = texts(meta.get("finalizers"))
    if FINALIZER in finalizers:
        return Refused("unguarded", f"{ref} has the finalizer {FINALIZER} already")
    manager = table(meta.get("labels")).get(_MANAGED_BY)
    if manager in _OPERATORS or meta.get("ownerReferences"):
        by = manager or "the controller of its owner"
        return Refused("not_managed", f"{ref} is managed by {by}, which would remove a finalizer of others")
    if table(meta.get("annotations")).get(ALLOWED) != "true":
        return Refused("guard_allowed", f'{ref} has no annotation {ALLOWED}: "true"')
    op: Op = Add("/metadata/finalizers/-", FINALIZER) if finalizers else Add("/metadata/finalizers", [FINALIZER])
    within = f", nor can namespace {ref.namespace}" if ref.namespace else ""
    return REMEDIATION.planned(
        finding,
        Patch(target=ref, ops=(op,)),
        effect=f"A deletion waits until a person removes the finalizer {FINALIZER}: no controller does. "
        f"Until then the object can't be deleted{within}.",
        settles=False,  # the live object is still what the VMs depend on
    )


_GUARDED = Patched(
    Item("/metadata/finalizers", FINALIZER, added=True), old=Like(metadata=Like(annotations=Like(**{ALLOWED: "true"})))
)
REMEDIATION = Remediation(
    id="guard_instancetype",
    title="Guard an instancetype or preference that is in use",
    writes=tuple(Write(kind.group, kind.plural, ("patch",), (_GUARDED,)) for kind in INSTANCETYPES),
    plan=_plan,
    heeds_others=ALLOWED,
    risk=Risk.NONE,
    undo="remove the finalizer, once each VM has a saved revision or no VM depends on the object",
    note='The owner of the object allows it with the annotation `steward.kubevirt-steward.io/guard-allowed: "true"`.',
)


# Without the finalizer a deletion goes through: one that waits, at once.


@guard(
    reads=(*INSTANCETYPES, VirtualMachine.KIND, ControllerRevision.KIND, KubeVirt.KIND, Namespace.KIND),
    indexes=(UNVERSIONED,),
)
def _weigh(taken: UndoRequest, scene: Scene) -> UndoEffect | Refused:
    ref = taken.plan.target
    record = next(each.record for each in INSTANCETYPES if each.name == ref.kind)
    kept = scene.named(record, ref.namespace, ref.name)
    if not isinstance(kept, Kept):
        return Refused("same_object", f"{ref} does not exist")
    vms = sorted(each.ref for each in without_copy(scene, kept))
    going = kept.deleting is not None or _ending(scene, ref.namespace)
    depend = f"{len(vms):,} VM{'' if len(vms) == 1 else 's'} without a copy of it: {named(vms[:5], len(vms))}"
    if not going:
        then = f" Now it would leave {depend}." if vms else ""
        return UndoEffect(effect=f"{ref} can be deleted again.{then}")
    effect = f"The deletion of {ref}, which waits, goes through."
    if not vms:
        return UndoEffect(effect=f"{effect} No VM depends on it without a copy.")
    why = f"{ref} is being deleted, and without the finalizer it is deleted: under {depend}"
    return UndoEffect(effect=effect, losses=(Loss("no_vm_without_copy", f"{ref}, for {depend}", why),))


def _ending(scene: Scene, name: str) -> bool:
    """Whether its namespace is being deleted, which deletes it next."""
    within = scene.named(Namespace, name, name) if name else None
    return bool(name) and (within is None or within.terminating)


UNDO = Undo(
    id="guard_instancetype",
    weigh=_weigh,
    losses={
        "no_vm_without_copy": (
            Lost.COPY,
            "the instancetype or preference is not being deleted, or no VM depends on it without a copy",
        )
    },
)
