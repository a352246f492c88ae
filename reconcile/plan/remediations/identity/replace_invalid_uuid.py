"""Gives a stopped VM a valid firmware UUID, where its own is not one or is a placeholder that vendors use.

The new UUID follows from the VM's UID and the old text, so that the plan is the same each time. The old one identifies
nobody: with text that is no UUID libvirt starts no guest, and others have a placeholder too. The serial stays as it is.

A guest that has run with a placeholder sees a new identity at its next start: licences may ask to be activated again,
cloud-init takes it for its first boot, inventories and backups see another VM. So a VM that runs or is about to start
is never changed, nor one that keeps a persistent TPM or persistent EFI variables.

Undo: put the old text back. Where the VM was started with the new UUID, that has to be accepted.
"""

from __future__ import annotations

from uuid import UUID, uuid5

from exporter.domain.identity.indexes import IDENTITY
from exporter.facts.firmware import comparable
from exporter.findings.finding import Finding
from exporter.store.kinds.controller_revision import ControllerRevision
from exporter.store.kinds.instancetypes import VirtualMachineClusterPreference, VirtualMachinePreference
from exporter.store.kinds.pod import Pod
from exporter.store.kinds.snapshots import VirtualMachineSnapshotContent
from exporter.store.kinds.virtual_machine import VirtualMachine

from ...patterns import PRESENT
from ...plan import Patch, Plan, Refused, Risk
from ...remediation import Remediation, Scene
from ...undo import Given, Taken, Undo
from ...writes import Field, Patched, Write
from ._identities import (
    KEEPS_NO_STATE,
    PATH,
    PRECONDITIONS,
    READS,
    STOPPED,
    firmware_of,
    forbidden,
    kept_state,
    put,
    saved,
    stopped,
    vm_of,
)
from ._taken_back import LOSSES, UNDO_PRECONDITIONS, UNDO_READS, started, weighed

_NAMESPACE = UUID("b6a3b5ce-7f0e-4e2f-8d5f-3f5c6a1f9d02")  # of the new UUIDs; never to be changed


def _plan(finding: Finding, scene: Scene) -> Plan | Refused:
    looked_up = vm_of(finding, scene)
    if isinstance(looked_up, Refused):
        return looked_up
    ref, (whole, vm) = finding.subject, looked_up
    new = str(uuid5(_NAMESPACE, f"{vm.uid} {comparable(vm.uuid)}"))
    refused = forbidden(scene, vm, whole) or stopped(scene, vm, whole) or kept_state(scene, vm)
    if refused := refused or _taken(scene, vm, new):
        return refused
    effect = (
        "At its next start a guest that has run with the old one sees a new identity: licences may ask to be activated "
        "again, cloud-init runs as on the first boot, and inventories and backups take it for another VM."
    )
    return REMEDIATION.planned(
        finding,
        Patch(target=ref, ops=put(firmware_of(whole), {"uuid": new})),
        effect=effect + saved(scene, vm, "the UUID"),
        risk=Risk.IDENTITY,
        undo=f"put the old UUID {vm.uuid} back while the VM is stopped",
    )


def _taken(scene: Scene, vm: VirtualMachine, new: str) -> Refused | None:
    taken = sorted(each.ref.path for each in scene.sharing(IDENTITY, new))
    return Refused("new_uuid_is_free", f"{taken[0]} has the UUID that {vm.ref} would get") if taken else None


REMEDIATION = Remediation(
    id="replace_invalid_uuid",
    title="Give a stopped VM a valid firmware UUID",
    answers={"firmware_vms": ("InvalidUUID",)},
    reads=(
        *READS,
        Pod.KIND,
        ControllerRevision.KIND,
        VirtualMachinePreference.KIND,
        VirtualMachineClusterPreference.KIND,
        VirtualMachineSnapshotContent.KIND,
    ),
    writes=(Write("kubevirt.io", "virtualmachines", ("patch",), (Patched(Field(f"{PATH}/uuid", to=PRESENT)),)),),
    plan=_plan,
    preconditions={name: what for name, what in PRECONDITIONS.items() if name != "has_domain"}
    | STOPPED
    | KEEPS_NO_STATE
    | {
        "is_a_vm": "the subject is a VM: the firmware of a VMI is immutable",
        "new_uuid_is_free": "no VM has the new UUID",
    },
    risk=Risk.IDENTITY,
    undo="put the old UUID back; exact while the VM has not been started since",
    indexes=(IDENTITY,),
)


# The old text may come back as long as the guest does not know the new UUID: it identifies no VM.


def _weigh(taken: Taken, scene: Scene) -> Given | Refused:
    return weighed(taken, scene, started)


UNDO = Undo(
    id="replace_invalid_uuid",
    reads=(*UNDO_READS, Pod.KIND),
    indexes=(IDENTITY,),
    weigh=_weigh,
    preconditions=UNDO_PRECONDITIONS,
    losses={name: loss for name, loss in LOSSES.items() if name == "same_identity"},
)
