"""Which VM an IPAMClaim belongs to, and whether that still exists."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from ....facts.record import Owner, Ref
from ....findings.check import View
from ....store.kinds.ipam_claim import IPAMClaim
from ....store.kinds.virtual_machine import VirtualMachine
from ....store.kinds.virtual_machine_instance import VirtualMachineInstance


class OwnerState(Enum):
    LIVE = "live"
    DELETING = "deleting"
    REPLACED = "replaced"  # gone, and another VM has its name
    GONE = "gone"


class ClaimOwner(NamedTuple):
    """The owner that decides, its state, and the VMI or VM that has its name now."""

    state: OwnerState
    ref: Ref  # as the claim names it
    vm: VirtualMachine | None  # of its name, whether or not it is the owner
    vmi: VirtualMachineInstance | None  # the same
    runs: bool = False  # whether that VMI is of this owner
    replacement: Ref | None = None
    replaced_at: float | None = None

    @property
    def running_vmi(self) -> Ref | None:
        """The VirtualMachineInstance of this owner that still exists."""
        return self.vmi.ref if self.runs and self.vmi is not None else None

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
    first = evaluated[0] if len(evaluated) == 1 else min(evaluated, key=lambda owner: _BY_PRECEDENCE.index(owner.state))
    if first.state is not OwnerState.GONE or not claim.mislabelled:
        return first
    other = _evaluate(view, claim.namespace, labelled)
    return first if other.state is OwnerState.GONE and other.running_vmi is None else other


def _evaluate(view: View, namespace: str, owner: Owner) -> ClaimOwner:
    vm = view.named(VirtualMachine, namespace, owner.name)
    vmi = view.named(VirtualMachineInstance, namespace, owner.name)
    alive = _same(vm, vmi, owner)
    runs = vmi is not None and _vmi_of(vmi, owner)
    if alive is not None:
        state = OwnerState.LIVE if alive.deleting is None else OwnerState.DELETING
        return ClaimOwner(state, alive.ref, vm, vmi, runs)
    ref, other = Ref(owner.kind, namespace, owner.name, owner.uid), vm or (None if runs else vmi)
    if other is not None:
        return ClaimOwner(OwnerState.REPLACED, ref, vm, vmi, runs, other.ref, other.created)
    return ClaimOwner(OwnerState.GONE, ref, vm, vmi, runs)


def _same(
    vm: VirtualMachine | None, vmi: VirtualMachineInstance | None, owner: Owner
) -> VirtualMachine | VirtualMachineInstance | None:
    """The owner itself, by its uid; without a known uid, whoever has its name."""
    if vm is not None and _is(vm, owner):
        return vm
    return vmi if vmi is not None and _is(vmi, owner) else None


def _is(one: VirtualMachine | VirtualMachineInstance, owner: Owner) -> bool:
    if not owner.uid:
        return True
    return owner.uid == one.uid and (owner.kind not in _KINDS or _KINDS[owner.kind] is type(one))


def _vmi_of(vmi: VirtualMachineInstance, owner: Owner) -> bool:
    return not owner.uid or owner.uid in (vmi.uid, vmi.vm_uid)
