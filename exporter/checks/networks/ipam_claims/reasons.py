"""What can be wrong with an IPAMClaim: the metric families, the meanings and what to do."""

from __future__ import annotations

from ....domain.acts import Act, Forbids
from ....findings.causes import Cause
from ....findings.check import Family, Reason
from ....findings.severity import Severity
from .._commands import (
    ANNOTATE_POD,
    ANNOTATE_VM,
    CLAIM_CONTROLLER,
    CLAIMS_WITH_ADDRESS,
    CUDNS,
    NADS,
    NETWORK_STACK,
    PODS_WITH_ADDRESS,
    READ_CLAIM,
    READ_VM,
    READ_VMI,
    USERS,
    VM_PODS,
)

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
_INFO, _WARNING, _CRITICAL = (Severity.INFO,), (Severity.WARNING,), (Severity.CRITICAL,)
_BOTH = (Severity.WARNING, Severity.CRITICAL)

_ORPHANED = Family(
    "kubevirt_ipamclaim_orphaned",
    "The IPAMClaim still holds its addresses although its VM is gone, or has no owner reference.",
)
_STUCK = Family("kubevirt_ipamclaim_stuck_terminating", "The IPAMClaim is terminating, and a finalizer holds it.")
_REPLACED = Family(
    "kubevirt_ipamclaim_owner_replaced", "The VM that owns the IPAMClaim is gone, and another VM has its name."
)
_DUPLICATE = Family(
    "kubevirt_ipamclaim_ip_duplicate",
    "An address of the IPAMClaim is also held by another IPAMClaim or pod in the same network.",
)
_METADATA = Family(
    "kubevirt_ipamclaim_unprotected",
    "The IPAMClaim lacks its finalizer or label, or the VM's pod does not reference it.",
)
_ADDRESS = Family(
    "kubevirt_ipamclaim_address_invalid", "The IPAMClaim's addresses do not match its network or its pod."
)
_NETWORK = Family("kubevirt_ipamclaim_network_mismatch", "The IPAMClaim's network is missing or differs from the VM's.")
_UNUSED = Family("kubevirt_ipamclaim_unused", "The IPAMClaim has no address, or nothing uses it.")

_OWNER = (READ_CLAIM, READ_VM, READ_VMI, USERS)
_REPLACE = (READ_CLAIM, NADS, READ_VM, READ_VMI, USERS)

REASONS = {
    "ForeignClaim": Reason(
        _INFO,
        "KubeVirt did not create the IPAMClaim, so it is not evaluated.",
        _UNUSED,
        next="Nothing to do: whoever created the IPAMClaim manages it.",
        commands=(READ_CLAIM,),
    ),
    "StuckTerminatingDeletedByHand": Reason(
        _WARNING,
        "The IPAMClaim was deleted while its VM exists; only the finalizer still protects the addresses.",
        _STUCK,
        grace=10 * MINUTE,
        next="Keep the finalizer while the VM runs; agree on a stop with the VM's owner, then remove it.",
        commands=_OWNER,
        alert="VMIPAMClaimStuckTerminating",
        remediation="reclaim_ipam_claim",
        does=(Act.STOP, Act.DELETE),
        forbids=Forbids((Act.START,), "the IPAMClaim that holds its addresses is being deleted"),
    ),
    "StuckTerminatingOwnerDeleting": Reason(
        _INFO,
        "The IPAMClaim is terminating, and the VMI or pod of its VM still exists: normal while a VM is deleted.",
        _STUCK,
        grace=10 * MINUTE,
        next="Wait until the VMI and its pod are gone: KubeVirt then removes the finalizer.",
        commands=_OWNER,
        remediation="release_ipam_claim",
    ),
    "StuckTerminatingBlocksOwnerDeletion": Reason(
        _CRITICAL,
        "The VM has stopped and is terminating, and the finalizer of this IPAMClaim blocks its deletion.",
        _STUCK,
        grace=10 * MINUTE,
        next="Annotate the VM so that KubeVirt's IPAM controller reconciles it; if the IPAMClaim still exists after "
        "2 minutes, remove the finalizer.",
        commands=(*_OWNER, CLAIM_CONTROLLER, ANNOTATE_VM),
        alert="VMIPAMClaimStuckTerminating",
        remediation="release_ipam_claim",
        does=(Act.DELETE,),
    ),
    "StuckTerminatingOwnerGone": Reason(
        _BOTH,
        "The VM is gone, and nothing removes the IPAMClaim's finalizer; critical where it blocks its namespace.",
        _STUCK,
        grace=10 * MINUTE,
        next="Verify that the VM and its VMI are NotFound and no pod uses the IPAMClaim, then remove the finalizer.",
        commands=(*_OWNER, CLAIM_CONTROLLER),
        alert="VMIPAMClaimLeftBehind",
        remediation="release_ipam_claim",
        does=(Act.DELETE,),
    ),
    "StuckTerminatingForeignFinalizer": Reason(
        _WARNING,
        "The IPAMClaim is terminating, and a finalizer that is not KubeVirt's holds it too.",
        _STUCK,
        grace=10 * MINUTE,
        next="Find out which controller set the finalizer and let it finish; do not remove it yourself.",
        commands=(
            READ_CLAIM,
            "kubectl get ipamclaims.k8s.cni.cncf.io -n NAMESPACE NAME --show-managed-fields -o yaml",
            USERS,
        ),
        alert="VMIPAMClaimStuckTerminating",
        remediation="handle_foreign_finalizer",
    ),
    "OwnerUidMismatch": Reason(
        _BOTH,
        "A VM was recreated under the same name and uses its predecessor's IPAMClaim; critical while a pod uses it.",
        _REPLACED,
        grace=MINUTE,
        next="Make the new VM the owner of the IPAMClaim before garbage collection deletes it.",
        commands=_OWNER,
        alert="VMIPAMClaimUnprotected",
        remediation="adopt_ipam_claim",
        forbids=Forbids(
            (Act.START, Act.STOP, Act.RESTART, Act.DELETE),
            "its IPAMClaim belongs to an earlier VM of this name, and may be deleted with that",
        ),
    ),
    "OwnerlessClaim": Reason(
        _WARNING,
        "The IPAMClaim has no owner reference, so garbage collection never deletes it.",
        _ORPHANED,
        grace=DAY,
        next="Add the owner reference to the VM again.",
        commands=_OWNER,
        alert="VMIPAMClaimLeftBehind",
        remediation="repair_ipam_claim_metadata",
    ),
    "OrphanClaim": Reason(
        _BOTH,
        "The VM is gone, and garbage collection has not deleted the IPAMClaim; critical where 90 % of the network's "
        "addresses are in use.",
        _ORPHANED,
        grace=10 * MINUTE,  # it comes after the VM is gone, and takes its time in a large cluster
        next="Check garbage collection; if it works, verify that the VM is NotFound and delete the IPAMClaim.",
        commands=(*_OWNER, "kubectl get apiservices.apiregistration.k8s.io"),
        alert="VMIPAMClaimLeftBehind",
        remediation="delete_orphan_ipam_claim",
        does=(Act.DELETE,),
    ),
    "IpOutsidePool": Reason(
        (Severity.CRITICAL, Severity.WARNING),
        "The network cannot allocate an address of the IPAMClaim: ovnkube-control-plane fails at its next start.",
        _ADDRESS,
        next="Do not restart ovnkube-control-plane; restore the network's subnets, or replace the IPAMClaim while "
        "its VM is stopped.",
        commands=(*_REPLACE, NETWORK_STACK),
        alert="VMIPAMClaimAddressInvalid",
        cause=Cause.NETWORK,
        does=(Act.STOP, Act.DELETE),
    ),
    "IpExcluded": Reason(
        _WARNING,
        "The IPAMClaim holds an address that its network excludes or reserves.",
        _ADDRESS,
        next="Check whether another host uses the address; if not, take it out of the excluded ranges, else replace "
        "the IPAMClaim while its VM is stopped.",
        commands=_REPLACE,
        alert="VMIPAMClaimAddressInvalid",
        cause=Cause.NETWORK,
        does=(Act.STOP, Act.DELETE),
    ),
    "DuplicateIP": Reason(
        (Severity.CRITICAL, Severity.WARNING),
        "Another IPAMClaim or pod in the network also holds an address of the IPAMClaim; a warning while all are "
        "stopped.",
        _DUPLICATE,
        next="Delete nothing yet; decide with the owners which VM gets a new address, and stop that one.",
        commands=(READ_CLAIM, CLAIMS_WITH_ADDRESS, PODS_WITH_ADDRESS),
        alert="VMIPAMClaimDuplicateIP",
        cause=Cause.GROUP,
        does=(Act.STOP,),
        forbids=Forbids((Act.START, Act.DELETE), "another IPAMClaim or pod holds its address too"),
    ),
    "IpDrift": Reason(
        _CRITICAL,
        "The VM's pod has other addresses than the IPAMClaim: the VM changes to the IPAMClaim's at its next start.",
        _ADDRESS,
        grace=MINUTE,
        next="Decide with the VM's owner which addresses are right, then correct the IPAMClaim or restart the VM.",
        commands=(READ_CLAIM, VM_PODS, CLAIMS_WITH_ADDRESS, PODS_WITH_ADDRESS),
        alert="VMIPAMClaimAddressInvalid",
        does=(Act.RESTART,),
        forbids=Forbids((Act.STOP, Act.RESTART), "its next start changes its addresses"),
    ),
    "PrefixMismatch": Reason(
        _WARNING,
        "The pod has the IPAMClaim's address with another prefix length.",
        _ADDRESS,
        grace=MINUTE,
        next="Compare both with the network's subnet; migrate or restart the VM if its pod is wrong, else correct the "
        "IPAMClaim.",
        commands=_REPLACE,
        alert="VMIPAMClaimAddressInvalid",
        does=(Act.MIGRATE, Act.RESTART),
    ),
    "FamilyIncomplete": Reason(
        _WARNING,
        "The network is dual-stack, and the IPAMClaim holds an address of one IP family only.",
        _ADDRESS,
        next="Leave it unless the VM needs the other IP family; then replace the IPAMClaim while the VM is stopped.",
        commands=_REPLACE,
        alert="VMIPAMClaimAddressInvalid",
        does=(Act.STOP, Act.DELETE),
    ),
    "NetworkMismatch": Reason(
        _BOTH,
        "The VM's interface refers to another network than its IPAMClaim; critical while the VM runs.",
        _NETWORK,
        grace=5 * MINUTE,
        next="Revert the change if it was a mistake; otherwise replace the IPAMClaim while the VM is stopped.",
        commands=(*_REPLACE, "kubectl get virtualmachineinstancemigrations.kubevirt.io -n NAMESPACE"),
        alert="VMIPAMClaimNetworkMismatch",
        cause=Cause.NETWORK,
        does=(Act.STOP, Act.DELETE),
    ),
    "NetworkMissing": Reason(
        _BOTH,
        "The cluster has no NAD of the IPAMClaim's network; critical while the VM runs.",
        _NETWORK,
        grace=15 * MINUTE,
        next="Create the network again under the same name, with at least the same subnets; do not delete the "
        "IPAMClaim.",
        commands=(
            READ_CLAIM,
            NADS,
            "kubectl get userdefinednetworks.k8s.ovn.org -n NAMESPACE -o yaml",
            CUDNS,
            READ_VM,
            READ_VMI,
        ),
        alert="VMIPAMClaimNetworkMismatch",
        cause=Cause.NETWORK,
        forbids=Forbids((Act.DELETE,), "its addresses would be lost, and its network can be created again"),
    ),
    "NetworkNotInNamespace": Reason(
        _BOTH,
        "The IPAMClaim's network has NADs, but none in the IPAMClaim's namespace; critical while the VM runs.",
        _NETWORK,
        grace=15 * MINUTE,
        next="Restore the namespace label that the network's selector matches, or create the NAD in the namespace.",
        commands=(READ_CLAIM, NADS, CUDNS, "kubectl get namespaces NAMESPACE --show-labels", READ_VM, READ_VMI),
        alert="VMIPAMClaimNetworkMismatch",
        cause=Cause.NETWORK_THERE,
    ),
    "LeakedClaim": Reason(
        (Severity.INFO, Severity.WARNING),
        "The VM no longer has the interface that the IPAMClaim was created for; a warning where 80 % of the network's "
        "addresses are in use.",
        _UNUSED,
        grace=HOUR,
        next="Delete the IPAMClaim if the network needs its addresses; the interface gets others if it comes back.",
        commands=_OWNER,
        alert="VMIPAMClaimLeftBehind",
        remediation="reclaim_ipam_claim",
        does=(Act.DELETE,),
    ),
    "EmptyClaim": Reason(
        _BOTH,
        "The VM runs, and the IPAMClaim has no address; critical while the VM's pod is pending.",
        _UNUSED,
        grace=10 * MINUTE,
        next="Look at the events of the VM's pod and at ovnkube-control-plane.",
        commands=(READ_CLAIM, NADS, NETWORK_STACK),
        alert="VMPersistentIPBroken",
        remediation="handle_unkept_address",
        cause=Cause.NETWORK,
    ),
    "NotReferenced": Reason(
        _WARNING,
        "The VM's pod does not reference the IPAMClaim, so its address is released when the pod ends.",
        _METADATA,
        grace=5 * MINUTE,
        next="Annotate the pod before the VM stops: the webhook then adds the reference.",
        commands=(READ_CLAIM, "kubectl get pods -n NAMESPACE LAUNCHERPOD -o yaml", NETWORK_STACK, ANNOTATE_POD),
        alert="VMIPAMClaimUnprotected",
        remediation="handle_unkept_address",
        forbids=Forbids((Act.STOP, Act.RESTART, Act.END), "its address is released when its pod ends"),
    ),
    "UnprotectedClaim": Reason(
        _WARNING,
        "The IPAMClaim lacks KubeVirt's finalizer: deleting it releases the VM's addresses at once.",
        _METADATA,
        next="Add the finalizer kubevirt.io/persistent-ipam again.",
        commands=_OWNER,
        alert="VMIPAMClaimUnprotected",
        remediation="repair_ipam_claim_metadata",
        does=(Act.STOP,),
    ),
    "UnlabelledClaim": Reason(
        _WARNING,
        "The IPAMClaim lacks its VM's label: it will be stuck in deletion together with the VM.",
        _METADATA,
        next="Set the label kubevirt.io/vm to the name of the VM that owns the IPAMClaim.",
        commands=_OWNER,
        alert="VMIPAMClaimUnprotected",
        remediation="repair_ipam_claim_metadata",
    ),
    "IdleReservation": Reason(
        _INFO,
        "The VM has been stopped for a month, and its addresses are still reserved.",
        _UNUSED,
        grace=30 * DAY,
        next="Ask the VM's owner whether the VM is still needed; deleting the VM releases its addresses.",
        commands=(READ_CLAIM, READ_VM),
        remediation="reclaim_ipam_claim",
    ),
}
