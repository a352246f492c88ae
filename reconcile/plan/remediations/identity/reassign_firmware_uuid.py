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

from uuid import UUID, uuid5

from exporter.domain.identity import IDENTITY
from exporter.facts.firmware import legacy
from exporter.store.indexes.networks import vm_key
from exporter.store.kinds.snapshots import VirtualMachineSnapshotContent

from ...annotations import PREFIX
from ...guards import guard
from ...patterns import PRESENT
from ...plan import Refused
from ...writes import Field
from .._grounds import table
from ._identities import IS_A_VM, PATH, IdentityCase, change, firmware_set, forbidden, kept_state, stopped
from ._taken_back import uuid_back

ALLOWED = f"{PREFIX}new-uuid-allowed"
_NAMESPACE = UUID("0b6f2c1e-5f0a-4d0c-9c1b-6a4b1e1d7a55")  # of the new UUIDs; never to be changed


def _old(case: IdentityCase) -> str:
    return case.vm.uuid or legacy(case.vm.name)


def _new(case: IdentityCase) -> str:
    return str(uuid5(_NAMESPACE, f"{case.vm.uid} {case.vm.identity or _old(case)}"))


@guard(
    {
        "keeper_known": "the check proposes which VM keeps the UUID",
        "another_keeps_it": "that is another VM than this one",
        "allowed_across": "the VM that keeps the UUID is in the same namespace, or the VM has the annotation "
        f'{ALLOWED}: "true"',
    }
)
def _kept_by_another(case: IdentityCase) -> Refused | None:
    vm, keeper = case.vm, case.evidence.get("keeper")
    if not keeper:
        why = case.evidence.get("keeperWhy", "the check proposes none")
        return Refused("keeper_known", f"it is unknown which VM keeps the UUID: {why}")
    if keeper == vm_key(vm.namespace, vm.name):
        return Refused("another_keeps_it", f"{vm.ref} should keep the UUID, and the others get a new one")
    allowed = table(table(case.whole.get("metadata")).get("annotations")).get(ALLOWED) == "true"
    if not allowed and str(keeper).partition("/")[0] != vm.namespace:
        where = f"{keeper}, which should keep the UUID, is in another namespace"
        allow = f'If its owner gives the UUID up, set annotation {ALLOWED}: "true" on {vm.ref}'
        return Refused("allowed_across", f"{where}. {allow}")
    return None


@guard({"new_uuid_is_free": "no VM has the new UUID"}, indexes=(IDENTITY,))
def _free(case: IdentityCase) -> Refused | None:
    taken = sorted(each.ref.path for each in case.scene.sharing(IDENTITY, _new(case)))
    return Refused("new_uuid_is_free", f"{taken[0]} has the UUID that {case.vm.ref} would get") if taken else None


@guard(
    {"snapshots_have_a_uuid": "every snapshot of the VM has a UUID, which a restore then need not derive"},
    reads=(VirtualMachineSnapshotContent.KIND,),
)
def _restorable(case: IdentityCase) -> Refused | None:
    """Refuses where the UUID that a restore brings back is nowhere kept: KubeVirt would derive one from the name."""
    vm = case.vm
    for each in case.scene.within(VirtualMachineSnapshotContent, vm.namespace):
        if each.source == vm.name and not each.uuid.strip():
            why = f"snapshot {each.snapshot or each.name} of {vm.ref} has no UUID: delete it, or take a new one first"
            return Refused("snapshots_have_a_uuid", why)
    return None


REMEDIATION = change(
    "reassign_firmware_uuid",
    "Give a stopped VM a firmware UUID of its own",
    forbidden,
    IS_A_VM,
    _kept_by_another,
    stopped,
    kept_state,
    _free,
    _restorable,
    what="UUID",
    old=_old,
    ops=firmware_set("uuid", _new),
    writes=(Field(f"{PATH}/uuid", to=PRESENT),),
    effect=lambda _: (
        "At its next start the guest sees a new identity. Licenses might need to be activated again, cloud-init runs "
        "as on the first boot, and inventories and backups treat the guest as another VM."
    ),
    heeds_others=ALLOWED,
    note="**The guest sees a new identity at its next start.**",
)

# The old UUID is free for the VM as long as nobody else has it, and its guest does not know the new one.

UNDO = uuid_back("reassign_firmware_uuid")
