"""Which VM an IPAMClaim belongs to, and whether that still exists."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ....findings.check import View
from ....store.kinds.ipam_claim import IPAMClaim
from ....store.kinds.virtual_machine import VirtualMachine
from ....store.kinds.virtual_machine_instance import VirtualMachineInstance
from ....store.record import Owner, Ref

__all__ = ["ClaimOwner", "OwnerState", "owner_of"]


class OwnerState(Enum):
    LIVE = "live"
    DELETING = "deleting"
    REPLACED = "replaced"  # gone, and another VM has its name
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class ClaimOwner:
    """The owner that decides, its state, and the VMI or VM that has its name now."""

    state: OwnerState
    ref: Ref  # as the claim names it
    running_vmi: Ref | None = None  # a VirtualMachineInstance of this owner that still exists
    replacement: Ref | None = None
    replaced_at: float | None = None

    @property
    def related(self) -> tuple[Ref, ...]:
        refs = (self.ref, self.replacement, self.running_vmi)
        return tuple(dict.fromkeys(ref for ref in refs if ref is not None))


_KINDS: dict[str, type[VirtualMachine] | type[VirtualMachineInstance]] = {
    "VirtualMachine": VirtualMachine,
    "VirtualMachineInstance": VirtualMachineInstance,
}
_BY_PRECEDENCE = (OwnerState.LIVE, OwnerState.DELETING, OwnerState.REPLACED, OwnerState.GONE)


def owner_of(view: View, claim: IPAMClaim) -> ClaimOwner:
    """The owner that decides, a live one first; a claim without owner references goes by its label.

    Where all owners are gone and the label names another VM, that one may use the claim.
    """
    labelled = Owner("VirtualMachine", claim.vm, "")
    evaluated = [_evaluate(view, claim.namespace, owner) for owner in claim.owners or (labelled,)]
    first = min(evaluated, key=lambda owner: _BY_PRECEDENCE.index(owner.state))
    if first.state is not OwnerState.GONE or not claim.mislabelled:
        return first
    other = _evaluate(view, claim.namespace, labelled)
    return first if other.state is OwnerState.GONE and other.running_vmi is None else other


def _evaluate(view: View, namespace: str, owner: Owner) -> ClaimOwner:
    ref = Ref(owner.kind, namespace, owner.name, owner.uid)
    found = [view.named(kind, namespace, owner.name) for kind in _KINDS.values()]
    vm, vmi = found[0], found[1]
    alive = _same(view, namespace, owner)
    running_vmi = vmi.ref if isinstance(vmi, VirtualMachineInstance) and _vmi_of(vmi, owner) else None
    if alive is not None:
        state = OwnerState.LIVE if alive.deleting is None else OwnerState.DELETING
        return ClaimOwner(state, alive.ref, running_vmi)
    other = vm or (vmi if running_vmi is None else None)
    if other is not None:
        return ClaimOwner(OwnerState.REPLACED, ref, running_vmi, other.ref, other.created)
    return ClaimOwner(OwnerState.GONE, ref, running_vmi)


def _same(view: View, namespace: str, owner: Owner) -> VirtualMachine | VirtualMachineInstance | None:
    """The owner itself, by its uid; without a known uid, whoever has its name."""
    kinds = [_KINDS[owner.kind]] if owner.uid and owner.kind in _KINDS else list(_KINDS.values())
    for kind in kinds:
        found = view.named(kind, namespace, owner.name)
        if found is not None and owner.uid in ("", found.uid):
            return found
    return None


def _vmi_of(vmi: VirtualMachineInstance, owner: Owner) -> bool:
    return not owner.uid or owner.uid in (vmi.uid, vmi.vm_uid)
