"""Gives a stopped VM a firmware UUID of its own, where it shares one with other VMs.

Only where the check `firmware_duplicates` proposes another VM as the one that keeps the UUID. The new UUID follows from
the VM's UID and the old UUID, so that the plan is the same each time. The serial stays as it is.

Whoever creates and starts a VM with the UUID of one in another namespace makes it the one that keeps it. So where the
keeper is in another namespace, only a VM with the annotation
`steward.kubevirt-steward.io/new-uuid-allowed: "true"` gets a new one.

The guest sees a new identity at its next start: Windows and other licences may ask to be activated again, cloud-init
takes it for its first boot and runs what runs once (host keys, users, network), and inventories, backups and monitoring
see another VM. Hence it never changes a VM that runs or is about to start, nor one that keeps a persistent TPM, the
state of which libvirt stores under the UUID, or persistent EFI variables.

Undo: put the old UUID back. Where the VM was started with the new one, or another VM has the old one, that has to be
accepted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID, uuid5

from exporter.domain.identity.indexes import IDENTITY
from exporter.facts.firmware import legacy
from exporter.findings.finding import Finding
from exporter.store.indexes.networks import vm_key
from exporter.store.kinds.controller_revision import ControllerRevision
from exporter.store.kinds.instancetypes import VirtualMachineClusterPreference, VirtualMachinePreference
from exporter.store.kinds.pod import Pod
from exporter.store.kinds.snapshots import VirtualMachineSnapshotContent
from exporter.store.kinds.virtual_machine import VirtualMachine

from ...annotations import PREFIX
from ...patterns import PRESENT
from ...plan import Patch, Plan, Refused, Risk
from ...remediation import Remediation, Scene
from ...undo import Given, Taken, Undo
from ...writes import Field, Patched, Write
from .._grounds import table
from ._identities import (
    KEEPS_NO_STATE,
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

ALLOWED = f"{PREFIX}new-uuid-allowed"
_NAMESPACE = UUID("0b6f2c1e-5f0a-4d0c-9c1b-6a4b1e1d7a55")  # of the new UUIDs; never to be changed


def _plan(finding: Finding, scene: Scene) -> Plan | Refused:
    looked_up = vm_of(finding, scene)
    if isinstance(looked_up, Refused):
        return looked_up
    ref, (whole, vm) = finding.subject, looked_up
    if refused := forbidden(scene, vm, whole) or _kept_by_another(finding, whole) or stopped(scene, vm, whole):
        return refused
    old = vm.uuid or legacy(vm.name)
    new = str(uuid5(_NAMESPACE, f"{vm.uid} {vm.identity or old}"))
    snapshots = [each for each in scene.within(VirtualMachineSnapshotContent, vm.namespace) if each.source == vm.name]
    if refused := kept_state(scene, vm) or _taken(scene, vm, new) or _restorable(vm, snapshots):
        return refused
    return REMEDIATION.planned(
        finding,
        Patch(target=ref, ops=put(firmware_of(whole), {"uuid": new})),
        effect=_EFFECT + saved(scene, vm, "the UUID"),
        risk=Risk.IDENTITY,
        undo=f"put the old UUID {old} back while the VM is stopped",
    )


def _kept_by_another(finding: Finding, whole: Mapping[str, Any]) -> Refused | None:
    keeper = finding.evidence.get("keeper")
    if not keeper:
        why = finding.evidence.get("keeperWhy", "the check proposes none")
        return Refused("keeper_known", f"nobody can say which VM keeps the UUID: {why}")
    if keeper == vm_key(finding.subject.namespace, finding.subject.name):
        return Refused("another_keeps_it", f"{finding.subject} should keep the UUID, and the others get a new one")
    allowed = table(table(whole.get("metadata")).get("annotations")).get(ALLOWED) == "true"
    if not allowed and str(keeper).partition("/")[0] != finding.subject.namespace:
        where = f"{keeper}, which should keep the UUID, is in another namespace"
        return Refused("allowed_across", f'{where}; set annotation {ALLOWED}: "true" on {finding.subject} if it may go')
    return None


def _taken(scene: Scene, vm: VirtualMachine, new: str) -> Refused | None:
    taken = sorted(each.ref.path for each in scene.sharing(IDENTITY, new))
    return Refused("new_uuid_is_free", f"{taken[0]} has the UUID that {vm.ref} would get") if taken else None


def _restorable(vm: VirtualMachine, snapshots: list[VirtualMachineSnapshotContent]) -> Refused | None:
    """Refuses where the UUID that a restore brings back is nowhere kept: KubeVirt would derive one from the name."""
    for each in snapshots:
        if not each.uuid.strip():
            why = f"snapshot {each.snapshot or each.name} of {vm.ref} has no UUID: delete it, or take a new one first"
            return Refused("snapshots_have_a_uuid", why)
    return None


_EFFECT = (
    "At its next start the guest sees a new identity: licences may ask to be activated again, cloud-init runs as on "
    "the first boot, and inventories and backups take it for another VM."
)
_UUID = Field("/spec/template/spec/domain/firmware/uuid", to=PRESENT)
REMEDIATION = Remediation(
    id="reassign_firmware_uuid",
    title="Give a stopped VM a firmware UUID of its own",
    answers={"firmware_duplicates": ("Duplicate", "LatentDuplicate")},
    reads=(
        *READS,
        Pod.KIND,
        ControllerRevision.KIND,
        VirtualMachinePreference.KIND,
        VirtualMachineClusterPreference.KIND,
        VirtualMachineSnapshotContent.KIND,
    ),
    writes=(Write("kubevirt.io", "virtualmachines", ("patch",), (Patched(_UUID),)),),
    plan=_plan,
    heeds_others=ALLOWED,
    preconditions=PRECONDITIONS
    | {
        "is_a_vm": "the subject is a VM: the firmware of a VMI is immutable",
        "keeper_known": "the check proposes which VM keeps the UUID",
        "another_keeps_it": "that is another VM than this one",
        "allowed_across": "the VM that keeps the UUID is in the same namespace, or the VM has the annotation "
        f'{ALLOWED}: "true"',
        **STOPPED,
        **KEEPS_NO_STATE,
        "new_uuid_is_free": "no VM has the new UUID",
        "snapshots_have_a_uuid": "every snapshot of the VM has a UUID, which a restore then need not derive",
    },
    risk=Risk.IDENTITY,
    undo="put the old UUID back; exact while the VM has not been started since",
    indexes=(IDENTITY,),
)


# The old UUID is free for the VM as long as nobody else has it, and its guest does not know the new one.


def _weigh(taken: Taken, scene: Scene) -> Given | Refused:
    return weighed(taken, scene, started)


UNDO = Undo(
    id="reassign_firmware_uuid",
    reads=(*UNDO_READS, Pod.KIND),
    indexes=(IDENTITY,),
    weigh=_weigh,
    preconditions=UNDO_PRECONDITIONS,
    losses=LOSSES,
)
