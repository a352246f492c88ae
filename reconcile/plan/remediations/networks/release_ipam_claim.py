"""Releases a terminating IPAMClaim whose VM is gone, by removing KubeVirt's finalizer from it.

KubeVirt's IPAM controller removes the finalizer on an event of the VM: one that it missed does not come again. While
the VM is still in deletion, it is annotated first: that is such an event, and the controller then removes the
finalizers of all its IPAMClaims. Only if the IPAMClaim still exists 2 minutes later is the finalizer removed here.

The network allocates an address anew once the IPAMClaim is gone, even if a pod still uses it. So it is refused while
anything of a name that the IPAMClaim gives exists, any pod of the cluster may use it, or another IPAMClaim has one of
its addresses. That the IPAM controller is down does not refuse: it is what leaves IPAMClaims behind.

What uses it may be created after it was looked for. So the finalizer is removed within 2 seconds of the last look or
not at all, and then it is looked once more. What came in between is reported by an Event of type Warning, an entry of
the ledger, the log and the alert StewardRepairInUse: nothing can reserve the address for it again.

Undo: none. The network may allocate the addresses to another VM or pod at once; the ledger keeps the IPAMClaim whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from exporter.facts.record import epoch
from exporter.findings.finding import Finding
from exporter.store.kinds.ipam_claim import IPAMClaim
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance

from ...guards import guard
from ...plan import Plan, Refused, Risk
from ...remediation import Remediation, Scene
from ...writes import Patched, Write
from .._grounds import TERMINATING, table
from ._ipam_claims import in_use, migrating, names_of, namesakes, restored, shared, waits
from ._nudging import NUDGED, NUDGED_FIELD, annotation_only, nudge, nudged
from ._releasing import NO_UNDO, RELEASED, SEND_SECONDS, came_meanwhile, had_time, released

__all__ = ["NUDGED", "REMEDIATION"]

_NUDGE_SECONDS = 120.0


@guard(
    had_time,
    {
        "no_other_owner": "only VMs and VMIs own the IPAMClaim",
        "vm_named": "the IPAMClaim names a VM or VMI, by an owner reference or its label",
        "vm_gone": "no VM that the IPAMClaim names, and none with an interface whose IPAMClaim has its name, exists, "
        "other than its owner in deletion",
        "vmi_gone": "no VMI that the IPAMClaim names, and none with an interface whose IPAMClaim has its name, exists",
        "nudge_had_time": "the VM in deletion was annotated for this IPAMClaim at least 2 minutes ago",
    },
    migrating,
    in_use,
    shared,
    restored,
    reads=(VirtualMachine.KIND, VirtualMachineInstance.KIND),
)
def _plan(finding: Finding, scene: Scene) -> Plan | Refused:
    ref = finding.subject
    whole, claim = scene.of(ref), scene.named(IPAMClaim, ref.namespace, ref.name)
    if whole is None or claim is None:
        return Refused("same_object", f"{ref} does not exist")
    if refused := _unfit(scene, claim):
        return refused
    blocked: list[VirtualMachine] = []
    for vm in namesakes(scene, VirtualMachine, claim):
        if not waits(claim, vm):
            return Refused("vm_gone", f"{vm.ref} with UID {vm.uid} exists")
        blocked.append(vm)
    if vmis := namesakes(scene, VirtualMachineInstance, claim):
        return Refused("vmi_gone", f"{vmis[0].ref} exists")
    refused = migrating(scene, claim) or restored(scene, claim) or in_use(scene, claim) or shared(scene, claim)
    if refused:
        return refused
    return _nudge(finding, scene, claim, blocked) or released(REMEDIATION, finding, claim, whole)


def _unfit(scene: Scene, claim: IPAMClaim) -> Refused | None:
    if claim.other_owners:
        return Refused("no_other_owner", f"{claim.ref} also has owner references to objects other than VMs and VMIs")
    if not names_of(claim):
        return Refused("vm_named", f"{claim.ref} has neither an owner reference to a VM or VMI, nor its label")
    return had_time(scene, claim)


def _nudge(
    finding: Finding, scene: Scene, claim: IPAMClaim, blocked: Iterable[VirtualMachine]
) -> Plan | Refused | None:
    """None once each of the VMs in deletion has been annotated for this IPAMClaim long enough ago."""
    for vm, whole in [(each, scene.of(each.ref)) for each in blocked]:  # all are read at once
        if whole is None:
            return Refused("same_object", f"{vm.ref} with UID {vm.uid} is no longer there")
        meta = table(whole.get("metadata"))
        if not nudged(meta, claim.uid):
            return _annotate(finding, vm, meta, claim.uid)
        written = _written(meta)
        if written is None or scene.now - written < _NUDGE_SECONDS:
            since = "at an unknown time" if written is None else f"{max(0, round(scene.now - written))} s ago"
            return Refused("nudge_had_time", f"{vm.ref} was annotated for {claim.ref} {since}")
    return None


def _written(meta: Mapping[str, Any]) -> float | None:
    """When the annotation was written last, by the API server's clock; seconds since 1970."""
    entries, times = meta.get("managedFields"), []
    for entry in map(table, entries if isinstance(entries, list) else ()):
        fields = table(table(table(entry.get("fieldsV1")).get("f:metadata")).get("f:annotations"))
        if f"f:{NUDGED}" in fields:
            times.append(_moment(entry.get("time")))
    known = [time for time in times if time is not None]
    return max(known) if len(known) == len(times) and known else None


def _moment(time: object) -> float | None:
    try:
        return epoch(time) if isinstance(time, str) else None
    except ValueError:
        return None


def _annotate(finding: Finding, vm: VirtualMachine, meta: Mapping[str, Any], uid: str) -> Plan:
    return REMEDIATION.planned(
        finding,
        nudge(vm.ref, meta, uid),
        effect=f"KubeVirt's IPAM controller reconciles {vm.ref} and removes the finalizers of its IPAMClaims; "
        "if it does not within 2 minutes, the finalizer of this one is removed.",
        risk=Risk.NONE,
        undo=f"remove the annotation {NUDGED} from {vm.ref}",
        settles=False,  # it may do nothing
    )


_NUDGED = Patched(NUDGED_FIELD, old=TERMINATING)
REMEDIATION = Remediation(
    id="release_ipam_claim",
    title="Release an IPAMClaim that is stuck in deletion",
    writes=(
        Write("k8s.cni.cncf.io", "ipamclaims", ("patch",), (RELEASED,)),
        Write("kubevirt.io", "virtualmachines", ("patch",), (_NUDGED,)),
    ),
    plan=_plan,
    risk=Risk.ADDRESS,
    undo=NO_UNDO,
    send_seconds=SEND_SECONDS,
    looks_again=came_meanwhile,
    note="**The addresses are released.**",
)


# What released an IPAMClaim can't be taken back. The annotation that was tried before can.

UNDO = annotation_only(
    "release_ipam_claim",
    VirtualMachine.KIND,
    "KubeVirt's IPAM controller reconciles it again and can then release its IPAMClaims, as for any VM in deletion.",
)
