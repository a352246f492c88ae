"""What it means that an IPAMClaim is to go without KubeVirt's finalizer: its addresses are released.

That is what `release_ipam_claim` does, so it has the same preconditions: an address under which somebody runs is not
given away, whatever is accepted.
"""

from __future__ import annotations

from exporter.store.kinds.ipam_claim import IPAMClaim
from exporter.store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from exporter.store.kinds.pod import Pod
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance
from exporter.store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration

from ..plan import Refused
from ..remediation import Scene
from ..remediations._grounds import NO_SNAPSHOT_OR_RESTORE, SAVERS
from ..remediations.networks._ipam_claims import (
    NO_OTHER_HOLDER,
    NOT_MIGRATING,
    in_use,
    migrating,
    namesakes,
    restored,
    shared,
)
from ..undo import Given, Loss, Lost

READS = (
    IPAMClaim.KIND,
    NetworkAttachmentDefinition.KIND,
    VirtualMachineInstanceMigration.KIND,
    *SAVERS,
    VirtualMachineInstance.KIND,
    Pod.KIND,
)
PRECONDITIONS = {
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
}
LOSSES = {
    "address_kept": (
        Lost.ADDRESS,
        "neither the IPAMClaim nor its last owner is being deleted, or it keeps its finalizer, or has no address",
    )
}


def given_away(scene: Scene, claim: IPAMClaim, going: str) -> Given | Refused:
    """What is lost with it; `going` is why it goes, one clause."""
    if refused := _used(scene, claim, going):
        return refused
    ips, network = ", ".join(claim.hosts), claim.network or "(none)"
    if not ips:
        return Given(effect=f"{claim.ref} goes, since {going}; it has no address.")
    vms = namesakes(scene, VirtualMachine, claim)
    of = f", which {vms[0].ref} would get at its next start" if vms else ""
    why = f"{going}, and without the finalizer network {network} releases {ips}{of}"
    effect = f"{claim.ref} goes, since {going}, and network {network} releases {ips}."
    return Given(effect=effect, losses=tuple(Loss("address_kept", ip, why) for ip in claim.ips))


def _used(scene: Scene, claim: IPAMClaim, going: str) -> Refused | None:
    then = f"and {going}: without the finalizer its addresses are released"
    if vmis := [each for each in namesakes(scene, VirtualMachineInstance, claim) if not each.final]:
        return Refused("no_user", f"{vmis[0].ref} runs, {then}")
    used = in_use(scene, claim)
    if used is not None and used.precondition == "no_pod_uses_it":
        return Refused("no_user", f"{used.why}, {then}")
    return used or migrating(scene, claim) or restored(scene, claim) or shared(scene, claim)
