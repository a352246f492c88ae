"""Without KubeVirt's finalizer a deletion of an IPAMClaim releases its addresses: one that waits, at once."""

from __future__ import annotations

from exporter.store.kinds import namespace
from exporter.store.kinds.ipam_claim import FINALIZER, IPAMClaim
from exporter.store.kinds.namespace import Namespace
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance

from ..plan import Refused
from ..remediation import Scene
from ..remediations._grounds import table, texts
from ..remediations.networks._releasing import came_to_run
from ..undo import Given, Taken, Undo
from ._ipam_claims import LOSSES, PRECONDITIONS, READS, given_away

_LABEL = "kubevirt.io/vm"


def _weigh(taken: Taken, scene: Scene) -> Given | Refused:
    ref = taken.plan.target
    claim = scene.named(IPAMClaim, ref.namespace, ref.name)
    if claim is None:
        return Refused("same_object", f"{ref} does not exist")
    going = _going(scene, claim) if _unprotects(taken) else ""
    if not going:
        return Given(effect=f"What was added to {ref} is removed again; its addresses stay as they are.")
    return given_away(scene, claim, going)


def _going(scene: Scene, claim: IPAMClaim) -> str:
    """Why a deletion goes through, or follows at once, one clause; empty where none does."""
    if claim.deleting is not None:
        return f"{claim.ref} is being deleted"
    within = scene.named(Namespace, claim.namespace, claim.namespace)
    if within is None or within.terminating:
        return f"namespace {claim.namespace} is being deleted"
    owners = [(owner, _owner(scene, claim.namespace, owner.kind, owner.name)) for owner in claim.owners]
    stays = any(found is not None and found.uid == owner.uid and found.deleting is None for owner, found in owners)
    if owners and not stays and not claim.other_owners:  # garbage collection deletes it then
        return f"{owners[0][0].kind} {owners[0][0].name}, which owns {claim.ref}, is gone or being deleted"
    return ""


def _owner(scene: Scene, namespace: str, kind: str, name: str) -> VirtualMachine | VirtualMachineInstance | None:
    if kind == "VirtualMachine":
        return scene.named(VirtualMachine, namespace, name)
    return scene.named(VirtualMachineInstance, namespace, name)


def _unprotects(taken: Taken) -> bool:
    """Whether the finalizer goes, or the label of another VM comes back: when that one is deleted, KubeVirt's IPAM
    controller takes the finalizer off every IPAMClaim with its label.
    """
    had, has = (table((whole or {}).get("metadata")) for whole in (taken.before, taken.after))
    labels = [table(each.get("labels")).get(_LABEL) for each in (had, has)]
    relabelled = labels[0] not in (None, "", labels[1])
    return relabelled or (FINALIZER in texts(has.get("finalizers")) and FINALIZER not in texts(had.get("finalizers")))


UNDO = Undo(
    id="repair_ipam_claim_metadata",
    reads=(*READS, namespace.KIND),
    weigh=_weigh,
    looks_again=came_to_run,
    preconditions=PRECONDITIONS,
    losses=LOSSES,
)
