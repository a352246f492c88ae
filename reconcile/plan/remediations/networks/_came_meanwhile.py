"""Who came to use an IPAMClaim while it was released: by what is read right after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exporter.store.kinds.ipam_claim import IPAMClaim
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance

from ...plan import Patch, Plan, Refused
from ...remediation import Scene
from ._ipam_claims import claim_of, in_use, made_for, namesakes, waits


def came_meanwhile(plan: Plan, before: Mapping[str, Any], scene: Scene) -> str | Refused:
    """A pod with one of the addresses may have been given it after the release, as it should: nothing tells which."""
    claim = claim_of(before) if isinstance(plan.step, Patch) and plan.target.kind == "IPAMClaim" else None
    if claim is None or not claim.hosts:
        return ""
    vms = (each for each in namesakes(scene, VirtualMachine, claim) if not waits(claim, each))
    vmis = namesakes(scene, VirtualMachineInstance, claim)
    return _came([f"{each.ref} exists, whose IPAMClaim it would be" for each in (*vms, *vmis)], scene, claim)


def came_to_run(plan: Plan, before: Mapping[str, Any], scene: Scene) -> str | Refused:
    """The same of a release that took a VM its address on purpose: only who runs with it counts."""
    claim = _gone(plan, before, scene)
    if claim is None:
        return ""
    vmis = (each for each in namesakes(scene, VirtualMachineInstance, claim) if not each.final)
    return _came([f"{each.ref} runs, whose IPAMClaim it was" for each in vmis], scene, claim)


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
            f"{claim.ref} was released under a user that came meanwhile: {'; '.join(came)}. Network {claim.network} "
            f"may allocate {', '.join(claim.hosts)} a second time: stop what uses it, and start it again, so that it "
            "gets an address of its own"
        )
    return refused or ""
