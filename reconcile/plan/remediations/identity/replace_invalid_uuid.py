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

from exporter.domain.identity import IDENTITY
from exporter.facts.firmware import comparable

from ...guards import guard
from ...patterns import PRESENT
from ...plan import Refused
from ...writes import Field
from ._identities import IS_A_VM, PATH, IdentityCase, change, firmware_set, forbidden, kept_state, stopped
from ._taken_back import LOSSES, uuid_back

_NAMESPACE = UUID("b6a3b5ce-7f0e-4e2f-8d5f-3f5c6a1f9d02")  # of the new UUIDs; never to be changed


def _new(case: IdentityCase) -> str:
    return str(uuid5(_NAMESPACE, f"{case.vm.uid} {comparable(case.vm.uuid)}"))


@guard({"new_uuid_is_free": "no VM has the new UUID"}, indexes=(IDENTITY,))
def _free(case: IdentityCase) -> Refused | None:
    taken = sorted(each.ref.path for each in case.scene.sharing(IDENTITY, _new(case)))
    return Refused("new_uuid_is_free", f"{taken[0]} has the UUID that {case.vm.ref} would get") if taken else None


REMEDIATION = change(
    "replace_invalid_uuid",
    "Give a stopped VM a valid firmware UUID",
    forbidden.but("has_domain"),
    stopped,
    kept_state,
    IS_A_VM,
    _free,
    what="UUID",
    old=lambda case: case.vm.uuid,
    ops=firmware_set("uuid", _new),
    writes=(Field(f"{PATH}/uuid", to=PRESENT),),
    effect=lambda _: (
        "At its next start a guest that has run with the old UUID sees a new identity. Licenses might need to be "
        "activated again, cloud-init runs as on the first boot, and inventories and backups treat it as another VM."
    ),
    note="**The guest sees a new identity at its next start.**",
)

# The old text may come back as long as the guest does not know the new UUID: it identifies no VM.

UNDO = uuid_back("replace_invalid_uuid", losses={"same_identity": LOSSES["same_identity"]})
