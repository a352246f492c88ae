"""Takes back the addresses that a VM does not need, where their network is short of them: deletes the IPAMClaim of an
interface that was removed, and releases one that was deleted while its VM exists.

KubeVirt's ipam-extensions leaves the IPAMClaim of an interface that is removed: it deletes none (its ClusterRole). And
OVN-Kubernetes keeps the addresses until the IPAMClaim is gone (go-controller/pkg/persistentips). It takes two plans:
the first deletes it while KubeVirt's finalizer holds it, which releases nothing; the second removes the finalizer, at
least 10 minutes later, once all was read again.

A VM without the interface may run; its pod must not refer to the IPAMClaim, have one of its addresses, or be attached
to its network by anything that does not refer to another IPAMClaim. If the interface comes back, also by the restore of
a snapshot, it gets another address.

A VM that still has the interface may come back, however long it has been stopped. So what is reserved for it is taken
only while it is stopped, and if its owner allows another address by the annotation
`steward.kubevirt-steward.io/new-address-allowed: "true"`; until then an idle reservation is a proposal, for that owner.
The same holds for an IPAMClaim that somebody deleted: its finalizer keeps the addresses as long as the VM exists.

Where the network is short only by what other namespaces use of it, or say of it, the plan is a proposal: whoever may
write there could take the addresses of all others.

What uses it may be created after it was looked for. So the finalizer is removed within 2 seconds of the last look or
not at all, and then it is looked once more: what came in between is reported by the alert StewardRepairInUse.

Undo: none. The network may allocate the addresses to another VM or pod at once; the ledger keeps the IPAMClaim whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exporter.checks.networks import ipam_networks
from exporter.findings.finding import Finding
from exporter.store.kind import ApiKind
from exporter.store.kinds.ipam_claim import IPAMClaim
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance

from ...guards import guard, when
from ...plan import Delete, Patch, Plan, Proposal, Refused, Risk
from ...remediation import Remediation, Scene
from ...undo import NoUndo
from ...writes import Write
from ._ipam_claims import in_use, made_for, migrating, restored, shared, stack_broken
from ._releasing import (
    ALLOWED,
    DELETED,
    NEW_ADDRESS,
    NO_UNDO,
    RELEASED,
    SEND_SECONDS,
    allows,
    awake,
    came_to_use,
    had_time,
    kept,
    released,
    unprotected,
)

# Whether a network needs the addresses of an IPAMClaim: by the check that reports a network as short of them.

_SHORT = "PoolPressure"


@guard(
    {"addresses_needed": f"the IPAMClaim holds an address, and its network is short of them: {_SHORT} is found of it"},
    reads=(kind for kind in ipam_networks.CHECK.reads if isinstance(kind, ApiKind)),
    indexes=ipam_networks.CHECK.indexes,
)
def unneeded(scene: Scene, claim: IPAMClaim) -> Refused | None:
    if not claim.hosts:
        return Refused("addresses_needed", f"{claim.ref} holds no address")
    found = ipam_networks.CHECK.find(scene.view(ipam_networks.CHECK, claim.network))
    if any(each is not None and each.reason == _SHORT for each in found):
        return None
    return Refused("addresses_needed", f"{_SHORT} is not found of network {claim.network or '(none)'}")


_COMES_BACK = "If the interface comes back, also by the restore of a snapshot, it gets another address."


@guard(
    {
        "vm_owns_it": "the IPAMClaim has one owner, a VM that exists with that UID and is not being deleted, and the "
        "label of that VM or none"
    },
    when("where the VM still has the interface", awake, kept),
    migrating,
    restored,
    in_use,
    shared,
    when("of one that is not in deletion", unprotected, stack_broken, unneeded),
    when("of one in deletion", had_time),
)
def _plan(finding: Finding, scene: Scene) -> Plan | Refused:
    ref = finding.subject
    whole, claim = scene.of(ref), scene.named(IPAMClaim, ref.namespace, ref.name)
    if whole is None or claim is None:
        return Refused("same_object", f"{ref} does not exist")
    vm = _owner(scene, claim)
    if isinstance(vm, Refused):
        return vm
    left = _left(scene, claim)
    refused = None if left else awake(scene, claim, vm)
    refused = refused or migrating(scene, claim) or restored(scene, claim)
    refused = refused or in_use(scene, claim, of_vm=not left) or shared(scene, claim)
    if refused:
        return refused
    if claim.deleting is None:
        return _delete(finding, scene, claim, vm, left=left)
    return _release(finding, scene, claim, vm, whole, left=left)


def _owner(scene: Scene, claim: IPAMClaim) -> VirtualMachine | Refused:
    if claim.other_owners or len(claim.owners) != 1:
        return Refused("vm_owns_it", f"{claim.ref} has other owner references than one to a VM")
    owner = claim.owners[0]
    vm = scene.named(VirtualMachine, claim.namespace, owner.name) if owner.kind == "VirtualMachine" else None
    if vm is None or vm.uid != owner.uid:
        return Refused("vm_owns_it", f"{owner.kind} {owner.name} with UID {owner.uid}, which owns it, isn't a VM")
    if vm.deleting is not None:
        return Refused("vm_owns_it", f"{vm.ref} is being deleted, and its IPAMClaims with it")
    if claim.vm not in ("", vm.name):
        return Refused("vm_owns_it", f"{claim.ref} has the label of VM {claim.vm}, and is owned by VM {vm.name}")
    return vm


def _left(scene: Scene, claim: IPAMClaim) -> bool:
    """Whether no VM or VMI has an interface whose IPAMClaim has its name."""
    vms: list[VirtualMachine | VirtualMachineInstance] = list(scene.within(VirtualMachine, claim.namespace))
    vms += scene.within(VirtualMachineInstance, claim.namespace)
    return not any(made_for(claim, each) for each in vms)


def _delete(finding: Finding, scene: Scene, claim: IPAMClaim, vm: VirtualMachine, *, left: bool) -> Plan | Refused:
    refused = unprotected(scene, claim) or stack_broken(scene) or unneeded(scene, claim)
    if refused:
        return refused
    ips, undo = ", ".join(claim.ips), "none: a deletion can't be undone"
    if not left and not allows(scene, vm):
        return _proposed(finding, claim, vm)
    then = _COMES_BACK if left else NEW_ADDRESS
    return REMEDIATION.planned(
        finding,
        Delete(target=claim.ref),
        vm=vm.name,
        effect=f"The IPAMClaim becomes terminating; its finalizer keeps {ips} until it is released. {then}",
        risk=Risk.NONE,
        undo=f"{undo}; its addresses ({ips}) are still reserved",
    )


def _proposed(finding: Finding, claim: IPAMClaim, vm: VirtualMachine) -> Plan:
    ips = ", ".join(claim.hosts)
    where = (
        f"Delete {vm.ref} if it is no longer needed. If it can start with another address than {ips}, annotate it: "
        f"kubectl annotate virtualmachines.kubevirt.io -n {vm.namespace} {vm.name} {ALLOWED}=true"
    )
    return REMEDIATION.planned(
        finding,
        Patch(target=claim.ref, ops=()),
        vm=vm.name,
        effect=f"Nothing is written: {vm.ref} can start again, and {ips} is reserved for it.",
        risk=Risk.NONE,
        undo="none: nothing is written",
        proposal=Proposal(owner=f"the owner of {vm.ref}", where=where),
    )


def _release(
    finding: Finding, scene: Scene, claim: IPAMClaim, vm: VirtualMachine, whole: Mapping[str, Any], *, left: bool
) -> Plan | Refused:
    refused = had_time(scene, claim) or (None if left else kept(scene, claim, vm))
    return refused or released(REMEDIATION, finding, claim, whole, _COMES_BACK if left else NEW_ADDRESS, vm.name)


REMEDIATION = Remediation(
    id="reclaim_ipam_claim",
    title="Reclaim addresses that a VM does not need",
    writes=(Write("k8s.cni.cncf.io", "ipamclaims", ("delete", "patch"), (DELETED, RELEASED)),),
    plan=_plan,
    risk=Risk.ADDRESS,
    undo=NO_UNDO,
    send_seconds=SEND_SECONDS,
    looks_again=came_to_use,
    note="**The addresses are released.**",
)


# An IPAMClaim that was deleted, or released, does not come back with its address.

UNDO = NoUndo(
    "reclaim_ipam_claim",
    "A release can't be undone: the network can give the addresses to another VM or pod. While the IPAMClaim is "
    "terminating, they are reserved. Created again, an IPAMClaim has no address, because the API server drops the "
    "status of new objects. KubeVirt's IPAM controller creates an IPAMClaim when the VM has the interface and starts.",
)
