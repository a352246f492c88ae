"""Without KubeVirt's finalizer a deletion of an IPAMClaim releases its addresses: one that waits, at once.

That is what `release_ipam_claim` does, so it has the same preconditions: an address under which somebody runs is not
given away, whatever is accepted.
"""

from __future__ import annotations

from exporter.store.kinds import (
    namespace,
)
from exporter.store.kinds.ipam_claim import FINALIZER, IPAMClaim
from exporter.store.kinds.namespace import Namespace
from exporter.store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from exporter.store.kinds.pod import Pod
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance
from exporter.store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration

from ..plan import Refused
from ..remediation import Scene
from ..remediations._grounds import NO_SNAPSHOT_OR_RESTORE, SAVERS, table, texts
from ..remediations.networks._came_meanwhile import came_to_run
from ..remediations.networks._ipam_claims import (
    NO_OTHER_HOLDER,
    NOT_MIGRATING,
    in_use,
    migrating,
    namesakes,
    restored,
    shared,
)
from ..undo import Given, Loss, Lost, Taken, Undo

__all__ = ["UNDO"]

_LABEL = "kubevirt.io/vm"


def _weigh(taken: Taken, scene: Scene) -> Given | Refused:
    ref = taken.plan.target
    claim = scene.named(IPAMClaim, ref.namespace, ref.name)
    if claim is None:
        return Refused("same_object", f"{ref} does not exist")
    going = _going(scene, claim) if _unprotects(taken) else ""
    if not going:
        return Given(effect=f"What was added to {ref} is removed again; its addresses stay as they are.")
    if refused := _used(scene, claim, going):
        return refused
    ips, network = ", ".join(claim.hosts), claim.network or "(none)"
    if not ips:
        return Given(effect=f"{ref} goes, since {going}; it has no address.")
    vms = namesakes(scene, VirtualMachine, claim)
    of = f", which {vms[0].ref} would get at its next start" if vms else ""
    why = f"{going}, and without the finalizer network {network} releases {ips}{of}"
    effect = f"{ref} goes, since {going}, and network {network} releases {ips}."
    return Given(effect=effect, losses=tuple(Loss("address_kept", ip, why) for ip in claim.ips))


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


def _used(scene: Scene, claim: IPAMClaim, going: str) -> Refused | None:
    then = f"and {going}: without the finalizer its addresses are released"
    if vmis := [each for each in namesakes(scene, VirtualMachineInstance, claim) if not each.final]:
        return Refused("no_user", f"{vmis[0].ref} runs, {then}")
    used = in_use(scene, claim)
    if used is not None and used.precondition == "no_pod_uses_it":
        return Refused("no_user", f"{used.why}, {then}")
    return used or migrating(scene, claim) or restored(scene, claim) or shared(scene, claim)


UNDO = Undo(
    id="repair_ipam_claim_metadata",
    reads=(
        IPAMClaim.KIND,
        namespace.KIND,
        NetworkAttachmentDefinition.KIND,
        VirtualMachineInstanceMigration.KIND,
        *SAVERS,
        VirtualMachineInstance.KIND,
        Pod.KIND,
    ),
    weigh=_weigh,
    looks_again=came_to_run,
    preconditions={
        name: f"where the write lets a deletion through: {what}"
        for name, what in (
            {
                "no_user": "no VMI that the IPAMClaim names, and none with an interface whose IPAMClaim has its name, "
                "runs, and no pod of the cluster uses it"
            }
            | NOT_MIGRATING
            | NO_SNAPSHOT_OR_RESTORE
            | NO_OTHER_HOLDER
        ).items()
    },
    losses={
        "address_kept": (
            Lost.ADDRESS,
            "neither the IPAMClaim nor its last owner is being deleted, or it keeps its finalizer, or has no address",
        ),
    },
)
