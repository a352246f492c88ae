"""What a claim is for: leaked, empty, not referred to, idle (ipamclaims C-10, C-12, C-13, C-18)."""

from __future__ import annotations

from ...findings import Finding, Severity, Since
from ...model.kinds.pod import Pod
from .owner import OwnerState
from .situation import Situation, controller_away

__all__ = ["empty_claim", "idle_reservation", "leaked_claim", "not_referenced"]


def leaked_claim(it: Situation) -> Finding | None:
    """C-10: neither the VM nor its VMI has the interface, and no pod holds on to the claim.

    An interface whose unplug was asked for is still in the spec, and so no leak yet.
    """
    if it.owned.state is not OwnerState.LIVE or it.vm is None or it.interfaces or it.users:
        return None
    what = f"{it.vm.ref} has no interface of this name any more, and keeps {', '.join(it.claim.hosts) or 'no address'}"
    return it.finding("LeakedClaim", Severity.INFO, what, related=[it.vm.ref])


def empty_claim(it: Situation) -> Finding | None:
    """C-13: the VM runs, or its pod has a node, and the network has given no address."""
    waiting = [pod for pod in it.pods if pod.node]
    running = it.vmi is not None and it.vmi.phase == "Running"
    if it.claim.hosts or not (running or waiting) or controller_away(it.view):
        return None
    hangs = any(pod.phase == "Pending" for pod in waiting)
    cause, words = _cause(it, waiting)
    return it.finding(
        "EmptyClaim",
        Severity.CRITICAL if hangs else Severity.WARNING,
        f"network {it.claim.network} has given it no address: {words}",
        (it.claim.created, Since.CREATION),
        related=[pod.ref for pod in waiting],
        cause=cause,
    )


def _cause(it: Situation, pods: list[Pod]) -> tuple[str, str]:
    own = f"{it.claim.namespace}/{it.claim.name}"
    keys = [nad for _, nad in it.interfaces if nad]
    if it.claim.refused:
        return it.claim.refused, f"OVN-Kubernetes says {it.claim.refused}"
    if not it.nads:
        return "NetworkMissing", "no NAD is of this network"
    if any(key.partition("/")[0] != it.claim.namespace for key in keys):
        return "CrossNamespaceNad", "its NAD is in another namespace, where OVN-Kubernetes looks for the claim"
    if any(sum(key == other for other, _ in pod.selections) > 1 for pod in pods for key in keys):
        return (
            "SameNadTwice",
            "two interfaces of the VM use one NAD, and only one of their claims is filled",
        )
    if pods and not any(own in pod.claims for pod in pods):
        return "NotReferenced", "the VM's pod does not refer to it"
    return "unknown", "no object says why; look at the events of the pod and at ovnkube-control-plane"


def not_referenced(it: Situation) -> Finding | None:
    """C-12: a pod of the VM is on the claim's network without referring to a claim there."""
    if not it.effective or controller_away(it.view):
        return None
    own = f"{it.claim.namespace}/{it.claim.name}"
    keys = {f"{nad.namespace}/{nad.name}" for nad in it.effective}
    for pod in it.pods:
        attached = [claim for key, claim in pod.selections if key in keys]
        if attached and not any(attached) and own not in pod.claims:
            what = f"{pod.ref} is on network {it.claim.network} and does not refer to it: its address goes with the pod"
            return it.finding("NotReferenced", Severity.WARNING, what, (pod.created, Since.CREATION), related=[pod.ref])
    return None


def idle_reservation(it: Situation) -> Finding | None:
    """C-18: the VM's condition says since when it has no VMI."""
    vm = it.vm
    if it.owned.state is not OwnerState.LIVE or vm is None or vm.stopped is None or it.vmi or not it.claim.hosts:
        return None
    what = f"{vm.ref} is stopped and keeps {', '.join(it.claim.hosts)} of network {it.claim.network}"
    return it.finding("IdleReservation", Severity.INFO, what, (vm.stopped, Since.CONDITION), related=[vm.ref])
