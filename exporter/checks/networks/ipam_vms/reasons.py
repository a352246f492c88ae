"""What can be wrong with a VM's interface on a network with persistent IPs: the meanings and what to do."""

from __future__ import annotations

from ....domain.acts import Act, Forbids
from ....findings.causes import Cause
from ....findings.check import Family, Reason
from ....findings.finding import Severity
from .._commands import ANNOTATE_VMI, NADS, NETWORK_STACK, READ_VMI, VM_PODS

_BOTH = (Severity.WARNING, Severity.CRITICAL)
_INTERFACE = Family("kubevirt_vm_persistent_ip_broken", "An interface of the VM cannot get or keep its persistent IP.")
_READ_CLAIM = "kubectl get ipamclaims.k8s.cni.cncf.io -n NAMESPACE CLAIM -o yaml"
_INTERFACES = (
    "kubectl get virtualmachines.kubevirt.io -n NAMESPACE -o custom-columns='VM:.metadata.name,"
    "INTERFACES:.spec.template.spec.networks[*].name,NADS:.spec.template.spec.networks[*].multus.networkName'"
)

REASONS = {
    "MissingClaim": Reason(
        _BOTH,
        "The VMI's interface has no IPAMClaim; critical where its pod refers to the missing one.",
        _INTERFACE,
        grace=300.0,
        next="Annotate the VMI so that KubeVirt's IPAM controller reconciles it; if it is still missing after "
        "2 minutes, create the IPAMClaim before the VM stops.",
        commands=(
            READ_VMI,
            _READ_CLAIM,
            "kubectl get network-attachment-definitions.k8s.cni.cncf.io -n NAMESPACE -o yaml",
            NETWORK_STACK,
            VM_PODS,
            ANNOTATE_VMI,
        ),
        alert="VMPersistentIPBroken",
        remediation="recreate_ipam_claim",
        forbids=Forbids((Act.STOP, Act.RESTART, Act.END), "its addresses are released when its pod ends"),
    ),
    "NameTooLong": Reason(
        (Severity.WARNING,),
        "The VM's name is too long for the IPAMClaim's label, or the IPAMClaim's for a name: it is never created.",
        _INTERFACE,
        next="Create the VM again under a shorter name, with the same disks.",
        commands=(_INTERFACES,),
        alert="VMPersistentIPBroken",
    ),
    "NameCollision": Reason(
        _BOTH,
        "Two interfaces in the namespace share the name of their IPAMClaim; critical while both VMs run.",
        _INTERFACE,
        next="Rename the interface of the VM that does not own the IPAMClaim; that VM gets a new address.",
        commands=(_INTERFACES, _READ_CLAIM),
        alert="VMPersistentIPBroken",
        cause=Cause.IPAM_CLAIM,
    ),
    "CrossNamespaceNad": Reason(
        _BOTH,
        "The NAD is in another namespace, where OVN-Kubernetes looks for the IPAMClaim; critical while the VM runs.",
        _INTERFACE,
        next="Let the interface refer to a NAD of the network in the VM's own namespace.",
        commands=(
            _INTERFACES,
            "kubectl get network-attachment-definitions.k8s.cni.cncf.io -n NADNAMESPACE NADNAME -o yaml",
            NADS,
        ),
        alert="VMPersistentIPBroken",
    ),
    "StaticRequestConflict": Reason(
        (Severity.CRITICAL, Severity.INFO),
        "The VM requests addresses that its IPAMClaim or its network does not have, and can't start; info where it "
        "can't be seen whether OVN-Kubernetes honours such requests.",
        _INTERFACE,
        next="Correct or remove the annotation network.kubevirt.io/addresses in the VM's template: it counts from "
        "the next start.",
        commands=(READ_VMI, _READ_CLAIM),
        alert="VMPersistentIPBroken",
        forbids=Forbids(
            (Act.START, Act.STOP, Act.RESTART, Act.END), "it may not start with the addresses that it requests"
        ),
    ),
}
