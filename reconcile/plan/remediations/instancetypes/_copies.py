"""Whether a ControllerRevision is the copy of an object that KubeVirt made for another VM or for a snapshot.

Nothing in a ControllerRevision proves it. Whoever may create one chooses its name, its labels, its owner and its data,
and by the parameter `fieldManager` the manager that managedFields name; whoever may delete one may put another one in
its place. So all of that has to fit, and what it would give the VM has to be what its VMI runs with, which nobody but
KubeVirt writes. A copy in another namespace is never taken: whoever may write there is not who may write here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from exporter.domain.identity import owned
from exporter.domain.instancetypes.resolving import Resolution, reference
from exporter.facts.matching import MatcherRole
from exporter.facts.quantity import amount
from exporter.store.kinds.controller_revision import ControllerRevision
from exporter.store.kinds.snapshots import VirtualMachineSnapshot, VirtualMachineSnapshotContent
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance

from ...effects import ABSENT, at
from ...guards import guard
from ...managed_fields import writers
from ...remediation import Scene
from .._grounds import table

# What a VMI runs with, in the terms of an instancetype: pure.
#
# KubeVirt writes what an instancetype gives into the VMI's spec at its start, and lets nobody else change that spec
# (vmi-update-admitter.go in pkg/virt-api/webhooks/validating-webhook/admitters of kubevirt/kubevirt). So a VMI is
# evidence of what the instancetype said, as far as its fields can be compared.

_PATHS = {
    "cpu/model": "domain/cpu/model",
    "cpu/maxSockets": "domain/cpu/maxSockets",
    "cpu/dedicatedCPUPlacement": "domain/cpu/dedicatedCpuPlacement",
    "cpu/isolateEmulatorThread": "domain/cpu/isolateEmulatorThread",
    "cpu/numa": "domain/cpu/numa",
    "cpu/realtime": "domain/cpu/realtime",
    "memory/guest": "domain/memory/guest",
    "memory/maxGuest": "domain/memory/maxGuest",
    "memory/hugepages": "domain/memory/hugepages",
    "gpus": "domain/devices/gpus",
    "hostDevices": "domain/devices/hostDevices",
    "ioThreadsPolicy": "domain/ioThreadsPolicy",
    "ioThreads": "domain/ioThreads",
    "launchSecurity": "domain/launchSecurity",
    "nodeSelector": "nodeSelector",
    "schedulerName": "schedulerName",
}
_CPUS = "cpu/guest"  # sockets, cores and threads of a VMI multiplied
_NEEDED = (_CPUS, "memory/guest")
_DEFAULTED = ("cpu/model", "cpu/maxSockets", "memory/maxGuest")  # KubeVirt sets these without an instancetype as well


def instancetype_of(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The spec of an instancetype that would give what is in the spec of a VMI, but for what KubeVirt sets anyway."""
    made: dict[str, Any] = {}
    for path, value in _set(spec).items():
        first, _, second = path.partition("/")
        if path not in _DEFAULTED:
            made[first] = {**table(made.get(first)), second: value} if second else value
    return made


def differs(given: Any, spec: Mapping[str, Any], template: Mapping[str, Any]) -> str:
    """Why the spec of an instancetype is none that the VMI can have been started with; empty where it is one.

    `spec` is that of the VMI, `template` that of its VM. What can't be compared differs.
    """
    gives, runs, own = dict(_given(table(given))), _set(spec), _set(template)
    for path in _NEEDED:
        if path not in gives or path not in runs:
            return f"there is no {path.replace('/', '.')} to compare"
    for path, value in gives.items():
        if path != _CPUS and path not in _PATHS:
            return f"its {path.replace('/', '.')} can't be seen in the VMI"
        if not _same(value, runs.get(path)):
            return f"the VMI does not run with its {path.replace('/', '.')}"
    for path in runs:
        if path not in gives and path not in own and path not in _DEFAULTED:
            return f"the VMI runs with a {path.replace('/', '.')} that it does not give"
    return ""


def _given(spec: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in spec.items():
        if name in ("cpu", "memory"):
            yield from ((f"{name}/{each}", found) for each, found in table(value).items() if found)
        elif value:
            yield name, value


def _set(spec: Mapping[str, Any]) -> dict[str, Any]:
    """What is there of all that an instancetype gives."""
    found = {path: at(spec, f"/{place}") for path, place in _PATHS.items()}
    cpus = [at(spec, f"/domain/cpu/{each}") for each in ("sockets", "cores", "threads")]
    counts = [each for each in cpus if isinstance(each, int)]
    if len(counts) == len(cpus):
        found[_CPUS] = counts[0] * counts[1] * counts[2]
    return {path: value for path, value in found.items() if value is not ABSENT and value}


def _same(value: Any, found: Any) -> bool:
    """Whether both are equal; a quantity may be written in two ways."""
    return bool(value == found) or _quantity(value) == _quantity(found) is not None


def _quantity(text: Any) -> float | None:
    try:
        return amount(text) if isinstance(text, str) else None
    except ValueError:
        return None


STORED = "v1beta1"
"""The version of the API that KubeVirt keeps copies in."""

_MAKER = "virt-controller"
_WRITTEN = ("/data", "/metadata/labels", "/metadata/ownerReferences")


def names(owner: str, of: str, uid: str, generation: int) -> tuple[str, str]:
    """What KubeVirt calls the copy of an object for a VM; up to 1.2 without the version.

    GenerateName in pkg/instancetype/revision of kubevirt/kubevirt. That of a snapshot has the snapshot's name in place
    of the VM's (pkg/storage/snapshot/source.go).
    """
    return f"{owner}-{of}-{STORED}-{uid}-{generation}", f"{owner}-{of}-{uid}-{generation}"


@guard(reads=(VirtualMachineInstance.KIND,))
def running_spec(scene: Scene, vm: VirtualMachine) -> Mapping[str, Any] | None:
    """The spec of its VMI; None where it does not run."""
    vmi = owned(scene.named(VirtualMachineInstance, vm.namespace, vm.name), vm)
    whole = scene.whole(VirtualMachineInstance.KIND, vm.namespace, vm.name) if vmi is not None else None
    return table(whole.get("spec")) if whole is not None else None


@guard(running_spec, reads=(VirtualMachine.KIND, VirtualMachineSnapshot.KIND, VirtualMachineSnapshotContent.KIND))
def unproven(
    scene: Scene, vm: VirtualMachine, lost: Resolution, revision: ControllerRevision, whole: Mapping[str, Any]
) -> str:
    """Why a ControllerRevision of the VM's namespace is not certainly the copy that is lost; empty where it is."""
    if revision.deleting is not None:
        return "it is being deleted"
    return _foreign(scene, lost, revision) or _written(whole) or _other(scene, vm, lost, whole)


def _foreign(scene: Scene, lost: Resolution, revision: ControllerRevision) -> str:
    """Why it is of no VM or snapshot that lives and refers to it."""
    stash, owner = revision.stash, revision.owner_name
    if stash is None or revision.name not in names(owner, stash.object_name, stash.object_uid, stash.object_generation):
        return f"KubeVirt would not have called it so for {revision.owner_kind or 'no owner'} {owner}".rstrip()
    if revision.owner_kind == "VirtualMachine":
        holder = scene.named(VirtualMachine, revision.namespace, owner)
        wanted = reference(holder, lost.role) if holder is not None and holder.uid == revision.owner_uid else None
        refers = wanted is not None and revision.name in (wanted.pin, wanted.revision)
    else:
        snapshot = scene.named(VirtualMachineSnapshot, revision.namespace, owner)
        mine = snapshot is not None and snapshot.uid == revision.owner_uid
        contents = scene.within(VirtualMachineSnapshotContent, revision.namespace)
        refers = mine and any(each.snapshot == owner and revision.name in each.pins for each in contents)
    return "" if refers else f"no {revision.owner_kind} {owner} with the UID of its owner refers to it"


def _written(whole: Mapping[str, Any]) -> str:
    """Who else than KubeVirt wrote what it says; which, if nobody did, still proves nothing."""
    for path in _WRITTEN:
        found = sorted(each.manager for each in writers(whole, path))
        if not found:
            return f"managedFields do not say who wrote its {path.rpartition('/')[2]}"
        if others := [each for each in found if each != _MAKER]:
            return f"{others[0]} wrote its {path.rpartition('/')[2]}"
    return ""


def _other(scene: Scene, vm: VirtualMachine, lost: Resolution, whole: Mapping[str, Any]) -> str:
    if lost.role is not MatcherRole.INSTANCETYPE:
        return "nothing proves what a preference said"
    runs = running_spec(scene, vm)
    if runs is None:
        return f"nothing proves what it says while {vm.ref} does not run"
    template = table(table(scene.whole(VirtualMachine.KIND, vm.namespace, vm.name)).get("spec")).get("template")
    return differs(table(whole.get("data")).get("spec"), runs, table(table(template).get("spec")))
