"""What it means for a VM that its firmware is put back: which UUID its guest has seen, and which it would see."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from exporter.domain.identity import IDENTITY
from exporter.facts.firmware import comparable, legacy
from exporter.store.kinds.controller_revision import START, ControllerRevision
from exporter.store.kinds.kube_virt import KubeVirt
from exporter.store.kinds.pod import Pod
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance

from ...guards import Guard, Needs, guard, when
from ...lost import Lost
from ...plan import Refused
from ...remediation import Scene
from ...undo import Loss, Undo, UndoEffect, UndoRequest
from .._grounds import VM_STAYS, table
from ._identities import IdentityCase, firmware_of, forbidden, kept_state, vm_of

CHANGEABLE = Needs(VM_STAYS, forbidden.but("has_domain"))  # what was written is there
LOSSES = {
    "same_identity": (Lost.IDENTITY, "the guest has not been started with the UUID that is removed"),
    "uuid_is_free": (Lost.UNIQUENESS, "no other VM has the UUID that is restored"),
}
_MOST = 20  # generations of a VM that are looked at
_FILLS_IN = (1, 6)  # the first release that writes the UUID of a VM's name into its spec

Seen = Guard[[UndoRequest, IdentityCase], str]
"""Why the guest has seen the UUID that goes, one clause; empty where it has not."""


@guard(
    CHANGEABLE,
    when("if the guest has seen the UUID that is removed", kept_state),
    reads=(KubeVirt.KIND,),
    indexes=(IDENTITY,),
)
def weighed(taken: UndoRequest, scene: Scene, seen: Seen) -> UndoEffect | Refused:
    """What it comes to that a VM gets back the firmware of before the write."""
    ref, case = taken.plan.target, vm_of(scene, taken.plan.target)
    if isinstance(case, Refused):
        return case
    if refused := forbidden(case):
        return refused
    goes, back = _next(taken.after or {}), _next(taken.before)
    if comparable(goes) == comparable(back):
        return UndoEffect(effect=f"{ref} keeps its UUID, {goes}.{_filled(taken, scene)}")
    why = seen(taken, case)
    if why and (refused := kept_state(case)):
        return refused
    losses = tuple(_lost(scene, case.vm, goes, back, why))
    also = "".join(f" Its {name} is as before, too." for name in _others(taken))
    effect = f"At its next start the guest of {ref} sees UUID {back} in the place of {goes}.{also}"
    return UndoEffect(effect=effect, losses=losses)


def _others(taken: UndoRequest) -> list[str]:
    """What else the firmware of before had, or lacked, such as the serial or the bootloader."""
    had, has = (table(firmware_of(whole or {})) for whole in (taken.before, taken.after))
    return sorted(name for name in {*had, *has} - {"uuid"} if had.get(name) != has.get(name))


def _lost(scene: Scene, vm: VirtualMachine, goes: str, back: str, why: str) -> Iterator[Loss]:
    if why:
        yield Loss("same_identity", f"UUID {goes}, which the guest of {vm.ref} knows", f"{why}: UUID {goes} would go")
    others = sorted({each.ref.path for each in scene.sharing(IDENTITY, comparable(back))} - {vm.ref.path})
    if others:
        also = f"{others[0]} has UUID {back}, which {vm.ref} would get"
        yield Loss("uuid_is_free", f"that {vm.ref} and {others[0]} have different UUIDs", also)


def _next(whole: Mapping[str, Any]) -> str:
    """The UUID with which a VM starts; without one of its own, the one that KubeVirt derives from its name."""
    own = table(firmware_of(whole)).get("uuid")
    return own if isinstance(own, str) and own.strip() else legacy(str(table(whole.get("metadata")).get("name")))


def _filled(taken: UndoRequest, scene: Scene) -> str:
    """Where the spec is left without a UUID: that newer releases of KubeVirt do not leave it so."""
    had = table(firmware_of(taken.before)).get("uuid")
    if had or not any(each.release >= _FILLS_IN for each in scene.all(KubeVirt)):
        return ""
    return " KubeVirt from 1.6 on writes the UUID of its name into its spec again."


def _written_with(taken: UndoRequest, scene: Scene, vm: VirtualMachine) -> str:
    """By the ControllerRevisions of starts: KubeVirt makes one with the VM's generation at each, and keeps the last."""
    before, after, last = (_generation(each or {}) for each in (taken.before, taken.after, scene.of(taken.plan.target)))
    # That of the write: what it left may have been read later, when the VM had been started and changed.
    first = min(before + 1, after) if before else after
    if not first or not last or last - first >= _MOST:
        return f"{vm.ref} might have been started since, by its generation, {last or 'which it does not have'}"
    for generation in range(last, first - 1, -1):
        name = f"{START}{vm.uid}-{generation}"
        if scene.whole(ControllerRevision.KIND, vm.namespace, name) is not None:
            return f"{vm.ref} was started since, by ControllerRevision {name}"
    return ""


def _generation(whole: Mapping[str, Any]) -> int:
    found = table(whole.get("metadata")).get("generation")
    return found if isinstance(found, int) else 0


# What it means that a VM gets back what its guest is known by: whether a guest has seen what it has now.


@guard(reads=(VirtualMachineInstance.KIND, Pod.KIND, ControllerRevision.KIND))
def started(taken: UndoRequest, case: IdentityCase) -> str:
    """Why a guest of the VM has run since the write, or may have, one clause; empty where none has."""
    scene, vm, *_ = case
    vmi = scene.named(VirtualMachineInstance, vm.namespace, vm.name)
    if vmi is not None:
        return f"{vmi.ref} exists, in phase {vmi.phase or 'unknown'}"
    launchers = [each.ref for each in scene.within(Pod, vm.namespace) if each.domain == vm.name]
    if launchers:
        return f"{launchers[0]} runs, or might run, the guest of {vm.ref}"
    return _written_with(taken, scene, vm)


def uuid_back(
    remediation: str, seen: Seen = started, losses: Mapping[str, tuple[Lost, str]] = MappingProxyType(LOSSES)
) -> Undo:
    @guard(weighed, seen)
    def weigh(taken: UndoRequest, scene: Scene) -> UndoEffect | Refused:
        return weighed(taken, scene, seen)

    return Undo(id=remediation, weigh=weigh, losses=losses)


class GuestValue(NamedTuple):
    """What a guest is known by: `what` in words, `free` the precondition that nobody else has it, `of` reads it of a
    whole VM, and `having` says who has it, as `namespace/name`.
    """

    what: str
    free: str
    of: Callable[[UndoRequest, Mapping[str, Any]], str]
    having: Guard[[Scene, str], list[str]]


def value_back(remediation: str, known: GuestValue) -> Undo:
    @guard(CHANGEABLE, started, known.having)
    def weigh(taken: UndoRequest, scene: Scene) -> UndoEffect | Refused:
        return weighed_value(taken, scene, known)

    what = known.what
    return Undo(
        id=remediation,
        weigh=weigh,
        losses={
            "same_identity": (Lost.IDENTITY, f"the guest has not been started with the {what} that is removed"),
            known.free: (Lost.UNIQUENESS, f"no other VM has the {what} that is restored"),
        },
    )


def weighed_value(taken: UndoRequest, scene: Scene, known: GuestValue) -> UndoEffect | Refused:
    """What it comes to that a VM gets back a value."""
    ref, case, what = taken.plan.target, vm_of(scene, taken.plan.target), known.what
    if isinstance(case, Refused):
        return case
    if refused := forbidden(case):
        return refused
    goes, back = known.of(taken, taken.after or {}), known.of(taken, taken.before)

    def losses() -> Iterator[Loss]:
        if why := started(taken, case):
            yield Loss(
                "same_identity", f"{what} {goes}, which the guest of {ref} knows", f"{why}: {what} {goes} would go"
            )
        if others := sorted({*known.having(scene, back)} - {ref.path}):
            lost = f"that {ref} and {others[0]} do not have the same {what}"
            yield Loss(known.free, lost, f"{others[0]} has {what} {back}, which {ref} would get")

    effect = f"At its next start the guest of {ref} sees {what} {back} in the place of {goes}."
    return UndoEffect(effect=effect, losses=tuple(losses()))
