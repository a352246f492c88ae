"""Notes on a paused VMI which node it was paused on.

A paused guest holds memory of its node and does nothing. The annotation `example.com/paused-on` has the name of that
node, for whoever looks at the VMI later. Neither KubeVirt nor the guest reads it, nothing is resumed by it, and it goes
with the VMI.

It waits while the VMI migrates, since it would name the node that is left, and while a snapshot, restore, clone or
backup of the VM is in progress, since those pause a guest for a moment themselves.

Undo: the undo of its entry in the ledger takes the annotation off. By hand: `kubectl annotate
virtualmachineinstances.kubevirt.io NAME example.com/paused-on-`.
"""

from __future__ import annotations

from exporter.findings.finding import Finding
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance

from ...effects import annotation
from ...guards import guard
from ...patterns import EMPTY, PRESENT
from ...plan import Patch, Plan, Refused, Risk, Test
from ...remediation import Remediation, Scene
from ...undo import Undo, UndoEffect, UndoRequest
from ...writes import Field, Patched, Write
from .._grounds import ending, table, under_way

PAUSED_ON = "example.com/paused-on"
_UNDO = "take the annotation off"


@guard(
    ending,
    under_way,
    {
        "not_noted": f"the VMI has no annotation {PAUSED_ON} yet",
        "on_a_node": "the VMI is on a node",
        "not_migrating": "the VMI does not migrate",
    },
    reads=(VirtualMachineInstance.KIND,),
)
def _plan(finding: Finding, scene: Scene) -> Plan | Refused:
    ref = finding.subject
    whole, vmi = scene.of(ref), scene.named(VirtualMachineInstance, ref.namespace, ref.name)
    if whole is None or vmi is None:
        return Refused("same_object", f"{ref} does not exist")
    if refused := ending(scene, ref, whole):
        return refused
    if PAUSED_ON in table(table(whole.get("metadata")).get("annotations")):
        return Refused("not_noted", f"{ref} has the annotation {PAUSED_ON} already")
    if not vmi.node:
        return Refused("on_a_node", f"{ref} is on no node")
    if vmi.migrating:
        return Refused("not_migrating", f"{ref} migrates away from {vmi.node}")
    if refused := under_way(scene, ref.namespace, (ref.name,)):
        return refused
    return REMEDIATION.planned(
        finding,
        Patch(target=ref, ops=(Test("/status/nodeName", vmi.node), annotation(whole, PAUSED_ON, vmi.node))),
        effect=f"The annotation {PAUSED_ON} says that the guest was paused on {vmi.node}; the guest stays paused.",
        risk=Risk.NONE,
        undo=_UNDO,
        vm=ref.name if vmi.vm_uid else "",
        settles=False,  # the guest is still paused
    )


REMEDIATION = Remediation(
    id="annotate_paused_vmi",
    title="Note on a paused VMI which node it was paused on",
    writes=(
        Write(
            "kubevirt.io",
            "virtualmachineinstances",
            ("patch",),
            (Patched(Field(f"/metadata/annotations/{PAUSED_ON.replace('/', '~1')}", was=EMPTY, to=PRESENT)),),
        ),
    ),
    plan=_plan,
    risk=Risk.NONE,
    undo=_UNDO,
)


@guard(
    {"not_being_deleted": "the VMI is not being deleted", "namespace_active": "its namespace is not being deleted"},
    ending,
    reads=(VirtualMachineInstance.KIND,),
)
def _weigh(taken: UndoRequest, scene: Scene) -> UndoEffect | Refused:
    ref = taken.plan.target
    if refused := ending(scene, ref, scene.of(ref) or {}):
        return refused
    return UndoEffect(effect=f"The annotation is gone. Nothing else of {ref} changes.")


# Without the annotation nobody sees on the VMI which node it was paused on.
UNDO = Undo(id="annotate_paused_vmi", weigh=_weigh)
