"""What can be wrong with a VM's interface on a network with persistent addresses."""

from __future__ import annotations

from ...findings import Severity
from ..base import Family, Reason

__all__ = ["REASONS"]

_BOTH = (Severity.WARNING, Severity.CRITICAL)
_INTERFACE = Family(
    "kubevirt_vm_persistent_ip_broken",
    "An interface of a VM can't get or keep its persistent address.",
)

REASONS = {
    "MissingClaim": Reason(
        _BOTH,
        "The VMI's interface has no IPAMClaim; critical where its pod refers to the one that is missing.",
        _INTERFACE,
        "C-11",
        300.0,
    ),
    "NameTooLong": Reason(
        (Severity.WARNING,),
        "The VM's name is too long for the label of a claim, or the claim's for a name: it never gets one.",
        _INTERFACE,
        "C-20",
    ),
    "NameCollision": Reason(
        _BOTH,
        "Two interfaces in the namespace would have a claim of the same name; critical while both VMs run.",
        _INTERFACE,
        "C-20",
    ),
    "CrossNamespaceNad": Reason(
        _BOTH,
        "The NAD is in another namespace, where OVN-Kubernetes looks for the claim; critical while it runs.",
        _INTERFACE,
        "C-21",
    ),
    "StaticRequestConflict": Reason(
        (Severity.INFO,),
        "The VM asks for an address that its claim does not hold: where that is honoured, it can't start.",
        _INTERFACE,
        "C-22",
    ),
}
