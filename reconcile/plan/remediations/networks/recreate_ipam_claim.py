"""Has KubeVirt's IPAM controller create the missing IPAMClaim of a VMI that runs, by an annotation on the VMI.

ipam-extensions creates the IPAMClaims of a VMI at each event of that (pkg/vminetworkscontroller); an IPAMClaim that is
deleted later is no such event. The annotation is one, says nothing to anybody else, and KubeVirt's webhook lets anybody
write it who may patch the VMI (pkg/virt-api/webhooks, vmi-update-admitter.go). Nothing is released by it: the pod keeps
its address, which OVN-Kubernetes releases at its end with an empty IPAMClaim as without one
(go-controller/pkg/clustermanager/pod). How that is filled says `handle_unkept_address`, once it has been empty for 10
minutes.

It is written once for an IPAMClaim of a VMI. Where that is still missing, the controller can't create it: its log says
why. It waits where the finding names a cause that comes first: a NAD that is missing, a name that is too long, or an
IPAMClaim of another owner.

Undo: remove the annotation. It says nothing, and the IPAMClaim stays.
"""

from __future__ import annotations

from exporter.findings.finding import Finding
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance

from ...guards import guard
from ...plan import Plan, Refused, Risk
from ...remediation import Remediation, Scene
from ...writes import Patched, Write
from .._grounds import LIVING, ending, under_way
from ._ipam_claims import attached_by, moving, stack_broken, unsettled
from ._nudging import NUDGED, NUDGED_FIELD, annotation_only, nudge, tried


@guard(
    {
        "controller_can": "the finding names nothing that keeps KubeVirt's IPAM controller from creating it",
        "owner_lives": "the VM of the VMI's name is the VMI's own and is not being deleted, or there is none and the "
        "VMI stands alone",
        "name_is_its_own": "no other VM or VMI has an interface whose IPAMClaim has this name",
        "not_migrating": "no migration of the VMI is pending or running",
    },
    ending,
    moving,
    under_way,
    stack_broken,
    tried,
    reads=(VirtualMachine.KIND, VirtualMachineInstance.KIND),
)
def _plan(finding: Finding, scene: Scene) -> Plan | Refused:
    ref, name = finding.subject, str(finding.evidence["claim"])
    whole, vmi = scene.of(ref), scene.named(VirtualMachineInstance, finding.subject.namespace, finding.subject.name)
    if whole is None or vmi is None:
        return Refused("same_object", f"{ref} does not exist")
    if finding.evidence.get("cause"):
        return Refused("controller_can", f"{finding.message}; repair that first")
    vm = scene.named(VirtualMachine, vmi.namespace, vmi.name)
    refused = ending(scene, ref, whole) or unsettled(vm or vmi, vm, vmi) or _twin(scene, vmi, name)
    refused = refused or moving(scene, vmi.namespace, (vmi.name,)) or under_way(scene, vmi.namespace, (vmi.name,))
    refused = refused or stack_broken(scene) or tried(ref, whole, name)
    if refused:
        return refused
    return REMEDIATION.planned(
        finding,
        nudge(ref, whole["metadata"], name),
        vm=vmi.name if vmi.vm_uid else "",
        effect=f"KubeVirt's IPAM controller reconciles {ref} and creates IPAMClaim {name}, without an address; the pod "
        "keeps its own.",
        risk=Risk.NONE,
        undo=f"remove the annotation {NUDGED} from {ref}",
        settles=False,  # it may do nothing
    )


def _twin(scene: Scene, vmi: VirtualMachineInstance, claim: str) -> Refused | None:
    """Two VMs may have an interface whose IPAMClaims have one name: the first one to run gets it."""
    vms: list[VirtualMachine | VirtualMachineInstance] = list(scene.within(VirtualMachine, vmi.namespace))
    vms += scene.within(VirtualMachineInstance, vmi.namespace)
    other = next((each for each in vms if each.name != vmi.name and attached_by(claim, each)), None)
    if other is None:
        return None
    return Refused("name_is_its_own", f"an interface of {other.ref} has an IPAMClaim of this name too")


REMEDIATION = Remediation(
    id="recreate_ipam_claim",
    title="Have a missing IPAMClaim created",
    writes=(Write("kubevirt.io", "virtualmachineinstances", ("patch",), (Patched(NUDGED_FIELD, old=LIVING),)),),
    plan=_plan,
    risk=Risk.NONE,
    undo="remove the annotation",
)


# Without the annotation the VMI is as before, and the IPAMClaim stays.

UNDO = annotation_only(
    "recreate_ipam_claim", VirtualMachineInstance.KIND, "The IPAMClaim stays, if it was created meanwhile."
)
