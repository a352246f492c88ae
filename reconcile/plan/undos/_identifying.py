"""What it means that a VM gets back what its guest is known by: whether a guest has seen what it has now."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from exporter.store.kinds.pod import Pod
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance

from ..plan import Refused
from ..remediation import Scene
from ..remediations.identity._identities import PRECONDITIONS as CHANGING
from ..remediations.identity._identities import forbidden
from ..undo import Given, Loss, Taken
from ._firmware import written_with

PRECONDITIONS = {
    "not_being_deleted": "the VM is not being deleted",
    "namespace_active": "its namespace is not being deleted",
    **{name: what for name, what in CHANGING.items() if name != "has_domain"},  # what was written is there
}


def started(taken: Taken, scene: Scene, vm: VirtualMachine) -> str:
    """Why a guest of the VM has run since the write, or may have, one clause; empty where none has."""
    vmi = scene.named(VirtualMachineInstance, vm.namespace, vm.name)
    if vmi is not None:
        return f"{vmi.ref} exists, in phase {vmi.phase or 'unknown'}"
    launchers = [each.ref for each in scene.within(Pod, vm.namespace) if each.domain == vm.name]
    if launchers:
        return f"{launchers[0]} runs, or may run, the guest of {vm.ref}"
    return written_with(taken, scene, vm)


def weighed_value(
    taken: Taken,
    scene: Scene,
    what: str,
    free: str,
    value: Callable[[Mapping[str, Any]], str],
    having: Callable[[str], list[str]],
) -> Given | Refused:
    """What it comes to that a VM gets back a value, `what` in words, which `value` reads of a whole VM.

    `free` is the precondition that nobody else has it, and `having` says who does, as `namespace/name`.
    """
    ref = taken.plan.target
    whole, vm = scene.of(ref), scene.named(VirtualMachine, ref.namespace, ref.name)
    if whole is None or vm is None:
        return Refused("same_object", f"{ref} does not exist")
    if refused := forbidden(scene, vm, whole):
        return refused
    goes, back = value(taken.after or {}), value(taken.before)

    def losses() -> Iterator[Loss]:
        if why := started(taken, scene, vm):
            known = f"{what} {goes}, which the guest of {vm.ref} knows"
            yield Loss("same_identity", known, f"{why}: {what} {goes} would go")
        others = sorted({*having(back)} - {ref.path})
        if others:
            lost = f"that {vm.ref} and {others[0]} do not have the same {what}"
            yield Loss(free, lost, f"{others[0]} has {what} {back}, which {vm.ref} would get")

    effect = f"At its next start the guest of {ref} sees {what} {back} in the place of {goes}."
    return Given(effect=effect, losses=tuple(losses()))
