"""Without the finalizer a deletion goes through: one that waits, at once."""

from __future__ import annotations

from exporter.checks.instancetypes.instancetype_objects import without_copy
from exporter.domain.instancetypes.kinds import INSTANCETYPES
from exporter.store.indexes.instancetypes import UNVERSIONED
from exporter.store.kinds.common.instancetype import Kept
from exporter.store.kinds.controller_revision import ControllerRevision
from exporter.store.kinds.kube_virt import KubeVirt
from exporter.store.kinds.namespace import Namespace
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.text.naming import named

from ..plan import Refused
from ..remediation import Scene
from ..undo import Given, Loss, Lost, Taken, Undo


def _weigh(taken: Taken, scene: Scene) -> Given | Refused:
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
        return Given(effect=f"Nothing prevents the deletion of {ref} any more.{then}")
    effect = f"The deletion of {ref}, which waits, goes through."
    if not vms:
        return Given(effect=f"{effect} No VM depends on it without a copy.")
    why = f"{ref} is being deleted, and without the finalizer it is gone: under {depend}"
    return Given(effect=effect, losses=(Loss("no_vm_without_copy", f"{ref}, for {depend}", why),))


def _ending(scene: Scene, name: str) -> bool:
    """Whether its namespace is being deleted, which deletes it next."""
    within = scene.named(Namespace, name, name) if name else None
    return bool(name) and (within is None or within.terminating)


UNDO = Undo(
    id="guard_instancetype",
    reads=(*INSTANCETYPES, VirtualMachine.KIND, ControllerRevision.KIND, KubeVirt.KIND, Namespace.KIND),
    indexes=(UNVERSIONED,),
    weigh=_weigh,
    losses={
        "no_vm_without_copy": (
            Lost.COPY,
            "the instancetype or preference is not being deleted, or no VM depends on it without a copy",
        )
    },
)
