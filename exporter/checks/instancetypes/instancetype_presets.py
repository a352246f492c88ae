"""VMIs that a VirtualMachineInstancePreset was merged into: deprecated since KubeVirt 0.57, and to be removed.

KubeVirt merges presets only when a VMI is created, by its labels, and notes them in annotations.

Not seen here: VMs that a preset will be merged into when they start. KubeVirt's webhook decides that when the VMI is
created, by the labels that the VMI has then. The settings of the preset, and conflicts with the VM, are not read.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...domain.acts import Act, Forbids
from ...domain.instancetypes.indexes import MERGED, MOST_PRESETS, PRESETS
from ...facts.naming import counted, listed, named
from ...facts.record import Ref
from ...findings.check import Check, Lookup, Scope, View
from ...findings.finding import Finding, Since
from ...findings.pages import Texts, reasons_of
from ...findings.severity import Severity
from ...store.kinds.instancetypes import VirtualMachineInstancePreset
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance

TEXTS = Texts("instancetype_presets")
_LAST_COPY = Forbids((Act.STOP, Act.RESTART, Act.END), "its VMI is the last copy of the settings of a deleted preset")


def find(view: View) -> Iterator[Finding]:
    for vmi in view.all(VirtualMachineInstance):
        if not vmi.presets or vmi.final or vmi.deleting is not None:
            continue
        looked_for = vmi.presets[:MOST_PRESETS]
        gone = [each for each in looked_for if view.named(VirtualMachineInstancePreset, vmi.namespace, each) is None]
        vm = (Ref("VirtualMachine", vmi.namespace, vmi.name, vmi.vm_uid),) if vmi.vm_uid else ()
        yield Finding(
            reason="PresetInUse",
            severity=Severity.WARNING,
            subject=vmi.ref,
            related=vm,
            message=TEXTS.message(
                "PresetInUse",
                "gone" if gone else "",
                presets=counted(len(vmi.presets), "VirtualMachineInstancePreset"),
                names=named(vmi.presets),
                gone=named(gone),
            ),
            next=TEXTS.next("PresetInUse", "gone") if gone else "",
            forbids=_LAST_COPY if gone else None,
            since=vmi.created,
            since_source=Since.CREATION if vmi.created is not None else Since.FIRST_SEEN,
            evidence=listed("presets", vmi.presets) | (listed("gone", gone) if gone else {}),
        )


CHECK = Check(
    id="instancetype_presets",
    title="VMIs that a deprecated preset was merged into",
    reads=(VirtualMachineInstance.KIND, VirtualMachineInstancePreset.KIND),
    scope=Scope("one VMI with a preset", PRESETS),
    reasons=reasons_of("instancetype_presets"),
    find=find,
    looks_up=(Lookup(MERGED, changes_of=(VirtualMachineInstancePreset,)),),
    fields_read=(VirtualMachineInstance.KIND,),
    requires=(VirtualMachineInstance.KIND, VirtualMachineInstancePreset.KIND),
)
