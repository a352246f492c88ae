"""What can be wrong with an IPAMClaim, in the words a user reads, and the metric families."""

from __future__ import annotations

from ...findings import Severity
from ..base import Family, Reason

__all__ = ["REASONS"]

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
_INFO, _WARNING, _CRITICAL = (Severity.INFO,), (Severity.WARNING,), (Severity.CRITICAL,)
_BOTH = (Severity.WARNING, Severity.CRITICAL)

_ORPHANED = Family(
    "kubevirt_ipamclaim_orphaned",
    "An IPAMClaim whose VM is gone keeps its addresses.",
)
_STUCK = Family("kubevirt_ipamclaim_stuck_terminating", "An IPAMClaim is being deleted and a finalizer holds it.")
_REPLACED = Family(
    "kubevirt_ipamclaim_owner_replaced",
    "An IPAMClaim belongs to a VM that is gone, while another VM has its name.",
)
_DUPLICATE = Family(
    "kubevirt_ipamclaim_ip_duplicate",
    "An address of an IPAMClaim has a second holder in the same network.",
)
_METADATA = Family("kubevirt_ipamclaim_unprotected", "An IPAMClaim lacks what protects or finds it.")
_ADDRESS = Family("kubevirt_ipamclaim_address_invalid", "An IPAMClaim's addresses do not fit its network or its pod.")
_NETWORK = Family("kubevirt_ipamclaim_network_mismatch", "An IPAMClaim's network is not there, or another one.")
_UNUSED = Family("kubevirt_ipamclaim_unused", "An IPAMClaim does not do what it is for.")

REASONS = {
    "ForeignClaim": Reason(_INFO, "KubeVirt did not make the claim, so nothing is said about it.", _UNUSED, "C-24"),
    "StuckTerminatingDeletedByHand": Reason(
        _WARNING,
        "The claim was deleted while its VM lives; the finalizer alone still protects the address.",
        _STUCK,
        "C-02d",
    ),
    "StuckTerminatingOwnerDeleting": Reason(
        _INFO,
        "The claim waits for its VM, whose VMI or pod is still there: normal while a VM is deleted.",
        _STUCK,
        "C-02c",
    ),
    "StuckTerminatingBlocksOwnerDeletion": Reason(
        _CRITICAL,
        "The VM no longer runs and waits to be deleted, and this claim's finalizer holds it up.",
        _STUCK,
        "C-02b",
    ),
    "StuckTerminatingOwnerGone": Reason(
        _BOTH,
        "The VM is gone, and nobody takes the claim's finalizer off; critical where it holds up its namespace.",
        _STUCK,
        "C-02a",
    ),
    "StuckTerminatingForeignFinalizer": Reason(
        _WARNING,
        "The claim is being deleted, and a finalizer that is not KubeVirt's holds it too.",
        _STUCK,
        "C-02f",
        10 * MINUTE,
    ),
    "OwnerUidMismatch": Reason(
        _BOTH,
        "A VM was made again under the same name and uses its predecessor's claim; critical while a pod uses it.",
        _REPLACED,
        "C-03",
    ),
    "OwnerlessClaim": Reason(
        _WARNING, "The claim has no owner reference, so garbage collection never takes it.", _ORPHANED, "C-04"
    ),
    "OrphanClaim": Reason(
        _WARNING, "The VM is gone, and garbage collection has not deleted the claim.", _ORPHANED, "C-01"
    ),
    "IpOutsidePool": Reason(
        (Severity.CRITICAL, Severity.WARNING),
        "The claim holds an address that its network can't give out: its control plane fails at its next start.",
        _ADDRESS,
        "C-16",
    ),
    "IpExcluded": Reason(
        _WARNING, "The claim holds an address that its network excludes or keeps for itself.", _ADDRESS, "C-16"
    ),
    "DuplicateIP": Reason(
        (Severity.CRITICAL, Severity.WARNING),
        "An address of the claim is also held by another claim or pod of its network; a warning while all are stopped.",
        _DUPLICATE,
        "C-14",
    ),
    "IpDrift": Reason(
        _CRITICAL,
        "The VM's pod has other addresses than its claim: the next restart moves it to the claim's.",
        _ADDRESS,
        "C-15",
        MINUTE,
    ),
    "PrefixMismatch": Reason(
        _WARNING, "The pod's prefix length differs from the claim's for the same address.", _ADDRESS, "C-15", MINUTE
    ),
    "FamilyIncomplete": Reason(
        _WARNING, "The network has IPv4 and IPv6, and the claim holds an address of one only.", _ADDRESS, "C-15"
    ),
    "NetworkMismatch": Reason(
        _BOTH,
        "The VM's interface now refers to another network than its claim; critical where it runs.",
        _NETWORK,
        "C-09",
        5 * MINUTE,
    ),
    "NetworkMissing": Reason(
        _BOTH,
        "No NAD in the cluster is of the claim's network; critical where the VM runs.",
        _NETWORK,
        "C-06",
        15 * MINUTE,
    ),
    "NetworkNotInNamespace": Reason(
        _BOTH,
        "The claim's network has NADs, but none in the claim's namespace; critical where the VM runs.",
        _NETWORK,
        "C-06",
        15 * MINUTE,
    ),
    "LeakedClaim": Reason(
        _INFO, "The VM no longer has the interface that the claim was made for.", _UNUSED, "C-10", HOUR
    ),
    "EmptyClaim": Reason(
        _BOTH,
        "The VM runs and the network has given the claim no address; critical while its pod hangs for it.",
        _UNUSED,
        "C-13",
        10 * MINUTE,
    ),
    "NotReferenced": Reason(
        _WARNING,
        "The VM's pod does not refer to the claim, so its address is given away when the pod goes.",
        _METADATA,
        "C-12",
        5 * MINUTE,
    ),
    "UnprotectedClaim": Reason(
        _WARNING,
        "The claim lacks KubeVirt's finalizer: any deletion frees the running VM's address.",
        _METADATA,
        "C-05",
    ),
    "UnlabelledClaim": Reason(
        _WARNING,
        "The claim lacks its VM's label: it will be stuck when the VM is deleted.",
        _METADATA,
        "C-05",
    ),
    "IdleReservation": Reason(
        _INFO, "The VM has been stopped for a month and keeps its addresses.", _UNUSED, "C-18", 30 * DAY
    ),
}
