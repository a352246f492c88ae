"""The release of an IPAMClaim: it is deleted while KubeVirt's finalizer holds it, and then that is removed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exporter.findings.finding import Finding
from exporter.store.kinds.ipam_claim import FINALIZER, IPAMClaim

from ...patterns import Has, Like
from ...plan import Patch, Plan, Refused, Remove, Risk, Test
from ...remediation import Remediation
from ...writes import Deleted, Item, Patched
from .._shapes import TERMINATING

_CONTROLLER_SECONDS = 600.0  # as the finding's grace; a controller that works needs seconds
SEND_SECONDS = 2.0  # a VM that is created, or started, has no pod with an address by then
NO_UNDO = "none: the network may allocate the addresses to another VM or pod at once"
CONTROLLER_HAD_TIME = {
    "controller_had_time": "the IPAMClaim has been in deletion for 10 minutes, in which KubeVirt's IPAM controller "
    "would have removed the finalizer"
}
PROTECTED = {"protected": "the IPAMClaim has KubeVirt's finalizer, so that deleting it releases nothing yet"}
DELETED = Deleted(Like(metadata=Like(finalizers=Has(FINALIZER))))
RELEASED = Patched(Item("/metadata/finalizers", FINALIZER, added=False), old=TERMINATING, back=False)


def unprotected(claim: IPAMClaim) -> Refused | None:
    if FINALIZER in claim.finalizers:
        return None
    return Refused("protected", f"{claim.ref} has no finalizer {FINALIZER}: deleting it releases its addresses")


def had_time(claim: IPAMClaim, now: float) -> Refused | None:
    if claim.deleting is None or now - claim.deleting < _CONTROLLER_SECONDS:
        return Refused("controller_had_time", f"{claim.ref} was not deleted before the last 10 minutes")
    return None


def released(
    remediation: Remediation, finding: Finding, claim: IPAMClaim, whole: Mapping[str, Any], then: str = "", vm: str = ""
) -> Plan | Refused:
    """The plan of a remediation that releases it; `then` is a sentence more of its effect, `vm` the VM concerned where
    the finding names none.
    """
    meta = whole["metadata"]
    finalizers = list(meta.get("finalizers") or ())
    if FINALIZER not in finalizers:
        return Refused("finding_holds", f"{claim.ref} no longer has the finalizer {FINALIZER}")
    path = f"/metadata/finalizers/{finalizers.index(FINALIZER)}"
    others = [each for each in finalizers if each != FINALIZER]
    ips = ", ".join(claim.hosts) or "no address"
    effect = f"The API server deletes the IPAMClaim, and network {claim.network or '(none)'} releases {ips}."
    if others:
        effect = (
            f"KubeVirt no longer holds the IPAMClaim; {', '.join(others)} still does. It reserves {ips} until then."
        )
    ops = (Test("/metadata/deletionTimestamp", meta.get("deletionTimestamp")), Test(path, FINALIZER), Remove(path))
    return remediation.planned(
        finding,
        Patch(target=claim.ref, ops=ops),
        effect=f"{effect} {then}".strip(),
        risk=Risk.ADDRESS if claim.hosts else Risk.NONE,
        undo=NO_UNDO if claim.hosts else "none: the IPAMClaim is gone; it held no address",
        loses=claim.ips,
        vm=vm or finding.vm,
    )
