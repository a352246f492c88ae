"""Who came to use an IPAMClaim while it was released: by what is read right after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exporter.store.kinds.ipam_claim import IPAMClaim
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance

from ...plan import Patch, Plan, Refused
from ...remediation import Scene
from ._ipam_claims import claim_of, in_use, namesakes, waits

__all__ = ["came_meanwhile", "came_to_run"]


def came_meanwhile(plan: Plan, before: Mapping[str, Any], scene: Scene) -> str | Refused:
    """A pod with one of the addresses may have been given it after the release, as it should: nothing tells which."""
    claim = claim_of(before) if isinstance(plan.step, Patch) and plan.target.kind == "IPAMClaim" else None
    if claim is None or not claim.hosts:
        return ""
    vms = (each for each in namesakes(scene, VirtualMachine, claim) if not waits(claim, each))
    vmis = namesakes(scene, VirtualMachineInstance, claim)
    return _came([f"{each.ref} exists, whose IPAMClaim it would be" for each in (*vms, *vmis)], claim, scene)


def came_to_run(plan: Plan, before: Mapping[str, Any], scene: Scene) -> str | Refused:
    """The same of a release that took a VM its address on purpose: only who runs with it counts."""
    claim = claim_of(before) if isinstance(plan.step, Patch) and plan.target.kind == "IPAMClaim" else None
    there = scene.named(IPAMClaim, plan.target.namespace, plan.target.name)
    if claim is None or not claim.hosts or (there is not None and there.uid == plan.target.uid):
        return ""
    vmis = (each for each in namesakes(scene, VirtualMachineInstance, claim) if not each.final)
    return _came([f"{each.ref} runs, whose IPAMClaim it was" for each in vmis], claim, scene)


def _came(came: list[str], claim: IPAMClaim, scene: Scene) -> str | Refused:
    refused = in_use(scene, claim)
    if refused is not None and refused.precondition != "everything_seen":
        came.append(refused.why)
    if came:
        return (
            f"{claim.ref} was released under a user that came meanwhile: {'; '.join(came)}. Network {claim.network} "
            f"may allocate {', '.join(claim.hosts)} a second time: stop what uses it, and start it again, so that it "
            "gets an address of its own"
        )
    return Refused("everything_seen", f"who uses {claim.ref} can't be seen: {refused.why}") if refused else ""
