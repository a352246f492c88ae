"""The release of an IPAMClaim: it is deleted while KubeVirt's finalizer holds it, and then that is removed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exporter.findings.finding import Finding
from exporter.store.kinds.ipam_claim import FINALIZER, IPAMClaim
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance

from ...annotations import PREFIX
from ...guards import guard, when
from ...lost import Lost
from ...patterns import Has, Like
from ...plan import Patch, Plan, Refused, Remove, Risk, Test
from ...remediation import Remediation, Scene
from ...undo import Loss, UndoEffect
from ...writes import Deleted, Item, Patched
from .._grounds import TERMINATING, table, tables
from ._ipam_claims import claim_of, in_use, made_for, migrating, namesakes, restored, shared, waits

_CONTROLLER_SECONDS = 600.0  # as the finding's grace; a controller that works needs seconds
SEND_SECONDS = 2.0  # a VM that is created, or started, has no pod with an address by then
NO_UNDO = "none: the network can allocate the addresses to another VM or pod at once"
DELETED = Deleted(Like(metadata=Like(finalizers=Has(FINALIZER))))
RELEASED = Patched(Item("/metadata/finalizers", FINALIZER, added=False), old=TERMINATING, back=False)


@guard({"protected": "the IPAMClaim has KubeVirt's finalizer, so that deleting it releases nothing yet"})
def unprotected(_: Scene, claim: IPAMClaim) -> Refused | None:
    if FINALIZER in claim.finalizers:
        return None
    return Refused("protected", f"{claim.ref} has no finalizer {FINALIZER}: deleting it releases its addresses")


@guard(
    {
        "controller_had_time": "the IPAMClaim has been in deletion for 10 minutes, in which KubeVirt's IPAM controller "
        "would have removed the finalizer"
    }
)
def had_time(scene: Scene, claim: IPAMClaim) -> Refused | None:
    if claim.deleting is None or scene.now - claim.deleting < _CONTROLLER_SECONDS:
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
        undo=NO_UNDO if claim.hosts else "none: the IPAMClaim is deleted; it held no address",
        loses=claim.ips,
        vm=vm or finding.vm,
    )


# Who came to use an IPAMClaim while it was released: by what is read right after.

_USERS = (IPAMClaim.KIND, VirtualMachine.KIND, VirtualMachineInstance.KIND)


@guard(in_use, reads=_USERS)
def came_meanwhile(plan: Plan, before: Mapping[str, Any], scene: Scene) -> str | Refused:
    """A pod with one of the addresses may have been given it after the release, as it should: nothing tells which."""
    claim = claim_of(before) if isinstance(plan.step, Patch) and plan.target.kind == "IPAMClaim" else None
    if claim is None or not claim.hosts:
        return ""
    vms = (each for each in namesakes(scene, VirtualMachine, claim) if not waits(claim, each))
    vmis = namesakes(scene, VirtualMachineInstance, claim)
    return _came([f"{each.ref} exists, whose IPAMClaim it would be" for each in (*vms, *vmis)], scene, claim)


@guard(in_use, reads=_USERS)
def came_to_run(plan: Plan, before: Mapping[str, Any], scene: Scene) -> str | Refused:
    """The same of a release that took a VM its address on purpose: only who runs with it counts."""
    claim = _gone(plan, before, scene)
    if claim is None:
        return ""
    vmis = (each for each in namesakes(scene, VirtualMachineInstance, claim) if not each.final)
    return _came([f"{each.ref} runs, whose IPAMClaim it was" for each in vmis], scene, claim)


@guard(in_use, reads=_USERS)
def came_to_use(plan: Plan, before: Mapping[str, Any], scene: Scene) -> str | Refused:
    """The same where the VM may run, without the interface that it was for."""
    claim = _gone(plan, before, scene)
    if claim is None:
        return ""
    vmis = (each for each in scene.within(VirtualMachineInstance, claim.namespace) if made_for(claim, each))
    came = [f"{each.ref} runs, whose IPAMClaim it was" for each in vmis if not each.final]
    return _came(came, scene, claim, of_vm=False)


def _gone(plan: Plan, before: Mapping[str, Any], scene: Scene) -> IPAMClaim | None:
    """The IPAMClaim that went with the write, with the addresses that it held; None of any other write."""
    claim = claim_of(before) if isinstance(plan.step, Patch) and plan.target.kind == "IPAMClaim" else None
    there = scene.named(IPAMClaim, plan.target.namespace, plan.target.name)
    stays = there is not None and there.uid == plan.target.uid
    return claim if claim is not None and claim.hosts and not stays else None


def _came(came: list[str], scene: Scene, claim: IPAMClaim, *, of_vm: bool = True) -> str | Refused:
    refused = in_use(scene, claim, of_vm=of_vm, may="everything_seen")
    if refused is not None and refused.precondition != "everything_seen":
        came.append(refused.why)
    if came:
        return (
            f"{claim.ref} was released while in use: {'; '.join(came)}. Network {claim.network} can allocate "
            f"{', '.join(claim.hosts)} a second time. Stop the user of the address, then start it again to get another "
            "address"
        )
    return refused or ""


# That a VM is stopped and stays so, and that its owner has said that it may get another address.

ALLOWED = f"{PREFIX}new-address-allowed"
"""Annotation of a VM, with the value "true": it may start with other addresses than it had."""

NEW_ADDRESS = "The VM gets another address at its next start."
_WAITING = ("Halted", "Manual")  # start nothing by themselves


@guard(
    {
        "vm_stopped": "the VM has the run strategy Halted or Manual, is not asked to start, and has no VMI; no other "
        "VM has an interface whose IPAMClaim has this name"
    },
    reads=(VirtualMachine.KIND, VirtualMachineInstance.KIND),
)
def awake(scene: Scene, claim: IPAMClaim, vm: VirtualMachine) -> Refused | None:
    others = [each for each in namesakes(scene, VirtualMachine, claim) if each.ref != vm.ref]
    if others:
        return Refused("vm_stopped", f"{others[0].ref} might use the IPAMClaim too")
    if vm.invalid or vm.run_strategy not in _WAITING:
        why = f"has run strategy {vm.run_strategy or '(none)'}: KubeVirt starts it"
        return Refused("vm_stopped", f"{vm.ref} {f'can start at any moment: {vm.invalid}' if vm.invalid else why}")
    # A restart is a stop and a start; the stop may be over before it is struck from the list.
    requests = tables(table((scene.of(vm.ref) or {}).get("status")).get("stateChangeRequests"))
    if any(each.get("action") == "Start" for each in requests):
        return Refused("vm_stopped", f"{vm.ref} is asked to start")
    if vmis := namesakes(scene, VirtualMachineInstance, claim):
        return Refused("vm_stopped", f"{vmis[0].ref} exists")
    return None


@guard(reads=(VirtualMachine.KIND,))
def allows(scene: Scene, vm: VirtualMachine) -> bool:
    whole = scene.of(vm.ref) or {}
    return table(table(whole.get("metadata")).get("annotations")).get(ALLOWED) == "true"


@guard(
    {"new_address_allowed": f'the VM has the annotation {ALLOWED}: "true", or the IPAMClaim holds no address'}, allows
)
def kept(scene: Scene, claim: IPAMClaim, vm: VirtualMachine) -> Refused | None:
    """Refuses while the VM is to keep its address: nobody but its owner knows who else relies on that."""
    if not claim.hosts or allows(scene, vm):
        return None
    how = f"kubectl annotate virtualmachines.kubevirt.io -n {vm.namespace} {vm.name} {ALLOWED}=true"
    return Refused(
        "new_address_allowed", f"{vm.ref} would lose {', '.join(claim.hosts)}; its owner allows that by: {how}"
    )


# What it means that an IPAMClaim is to go without KubeVirt's finalizer: its addresses are released.
#
# That is what `release_ipam_claim` does, so it has the same preconditions: an address under which somebody runs is not
# given away, whatever is accepted.

LOSSES = {
    "address_kept": (
        Lost.ADDRESS,
        "neither the IPAMClaim nor its last owner is being deleted, or it keeps its finalizer, or has no address",
    )
}


@guard(
    when(
        "where the write lets a deletion through",
        {
            "no_user": "no VMI that the IPAMClaim names, and none with an interface whose IPAMClaim has its name, "
            "runs, and no pod of the cluster uses it"
        },
        migrating,
        restored,
        shared,
    ),
    in_use.but("no_pod_uses_it"),
    reads=(VirtualMachine.KIND, VirtualMachineInstance.KIND),
)
def given_away(scene: Scene, claim: IPAMClaim, going: str) -> UndoEffect | Refused:
    """What is lost with it; `going` is why it goes, one clause."""
    if refused := _used(scene, claim, going):
        return refused
    ips, network = ", ".join(claim.hosts), claim.network or "(none)"
    if not ips:
        return UndoEffect(effect=f"{claim.ref} goes, since {going}; it has no address.")
    vms = namesakes(scene, VirtualMachine, claim)
    of = f", which {vms[0].ref} would get at its next start" if vms else ""
    why = f"{going}, and without the finalizer network {network} releases {ips}{of}"
    effect = f"{claim.ref} goes, since {going}, and network {network} releases {ips}."
    return UndoEffect(effect=effect, losses=tuple(Loss("address_kept", ip, why) for ip in claim.ips))


def _used(scene: Scene, claim: IPAMClaim, going: str) -> Refused | None:
    then = f"and {going}: without the finalizer its addresses are released"
    if vmis := [each for each in namesakes(scene, VirtualMachineInstance, claim) if not each.final]:
        return Refused("no_user", f"{vmis[0].ref} runs, {then}")
    used = in_use(scene, claim)
    if used is not None and used.precondition == "no_pod_uses_it":
        return Refused("no_user", f"{used.why}, {then}")
    return used or migrating(scene, claim) or restored(scene, claim) or shared(scene, claim)
