"""Instancetypes and preferences with the VMs that refer to them, and ControllerRevisions with all that needs them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...facts.matching import ROLES
from ...facts.record import Record
from ...store.index import ByName, Index
from ...store.kinds.controller_revision import ControllerRevision
from ...store.kinds.instancetypes import Kept, VirtualMachineInstancePreset
from ...store.kinds.snapshots import VirtualMachineSnapshotContent
from ...store.kinds.templates import VirtualMachinePool
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from .resolving import ReferenceMode, reference, resolve, target


def object_key(kind: str, namespace: str, name: str) -> str:
    return f"{kind}/{namespace}/{name}"


def revision_key(namespace: str, name: str) -> str:
    return f"{namespace}/{name}"


def _referring(record: Record, *, unknown: bool = False) -> Iterator[str]:
    """The keys of the objects that the matchers of a VM, or of a pool's template, mean; with `unknown` also of those
    that one might mean whose kind KubeVirt doesn't know.
    """
    if not isinstance(record, VirtualMachine | VirtualMachinePool):
        return
    for role in ROLES:
        wanted = reference(record, role)
        if wanted is not None and wanted.wanted:
            kind, namespace, name = target(record.namespace, role, wanted)
            if kind and name:
                yield object_key(kind, namespace, name)
            elif unknown and name:
                yield object_key(role.namespaced, record.namespace, name)
                yield object_key(role.cluster_wide, "", name)


def _objects(record: Record, _: ByName) -> Iterable[str]:
    if isinstance(record, Kept):
        return (object_key(type(record).__name__, record.namespace, record.name),)
    return tuple(_referring(record, unknown=True))


def _users(record: Record, _: ByName) -> Iterable[str]:
    return tuple(_referring(record)) if isinstance(record, VirtualMachine) and record.deleting is None else ()


def _unversioned(record: Record, lookup: ByName) -> Iterable[str]:
    """Of a VM that gets the live object."""
    if not isinstance(record, VirtualMachine) or record.deleting is not None:
        return ()
    found = []
    for role in ROLES:
        wanted = reference(record, role)
        if wanted is None or not wanted.wanted or wanted.pin:
            continue
        resolution = resolve(record, role, lookup)
        if resolution is not None and resolution.mode is ReferenceMode.UNVERSIONED and resolution.kind:
            found.append(object_key(*target(record.namespace, role, wanted)))
    return found


def _revisions(record: Record, lookup: ByName) -> Iterable[str]:
    if isinstance(record, VirtualMachine | VirtualMachinePool):
        wanted = (reference(record, role) for role in ROLES)
        names = {name for each in wanted if each is not None for name in (each.pin, each.revision) if name}
        return [revision_key(record.namespace, name) for name in names]
    if isinstance(record, ControllerRevision):
        # Of whatever controller it is: a VM may refer to it. Nobody has a copy in a saved spec.
        return () if record.saved else (revision_key(record.namespace, record.name),)
    if isinstance(record, VirtualMachineSnapshotContent):
        return [revision_key(record.namespace, name) for name in dict.fromkeys(record.pins)]
    if isinstance(record, VirtualMachineInstance) and record.generation:
        start = lookup(ControllerRevision, record.namespace, record.started_with)
        pins = start.pins if isinstance(start, ControllerRevision) else ()
        return [revision_key(record.namespace, name) for name in dict.fromkeys(pins)]
    return ()


def _started(record: Record, _: ByName) -> Iterable[str]:
    if isinstance(record, VirtualMachineInstance) and record.generation:
        return (revision_key(record.namespace, record.started_with),)
    return ()


def _pools(record: Record, _: ByName) -> Iterable[str]:
    sized = isinstance(record, VirtualMachinePool) and (record.instancetype or record.preference)
    return (f"{record.namespace}/{record.name}",) if sized else ()


def _saved(record: Record, _: ByName) -> Iterable[str]:
    sized = isinstance(record, VirtualMachineSnapshotContent) and (record.instancetype or record.preference)
    return (f"{record.namespace}/{record.name}",) if sized else ()


def _saved_objects(record: Record, lookup: ByName) -> Iterable[str]:
    """Of a snapshot those that a restore takes from the live object: its saved spec names no ControllerRevision."""
    if not isinstance(record, VirtualMachineSnapshotContent):
        return _objects(record, lookup) if isinstance(record, Kept) else ()
    found = []
    for role in ROLES:
        wanted = reference(record, role)
        if wanted is not None and not wanted.pin:
            kind, namespace, name = target(record.namespace, role, wanted)
            found += [object_key(kind, namespace, name)] if kind and name else []
    return found


def _sources(record: Record, _: ByName) -> Iterable[str]:
    source = record.source if isinstance(record, VirtualMachineSnapshotContent) else ""
    return (f"{record.namespace}/{source}",) if source else ()


def _saved_copies(record: Record, lookup: ByName) -> Iterable[str]:
    """Of a snapshot those that its saved spec names, and those of the VM, by which it can be restored in place."""
    if not isinstance(record, VirtualMachineSnapshotContent):
        return ()
    vm = lookup(VirtualMachine, record.namespace, record.source)
    of_vm = _revisions(vm, lookup) if isinstance(vm, VirtualMachine) else ()
    return dict.fromkeys([*(revision_key(record.namespace, name) for name in record.pins), *of_vm])


def _presets(record: Record, _: ByName) -> Iterable[str]:
    preset = isinstance(record, VirtualMachineInstance) and record.presets
    return (f"{record.namespace}/{record.name}",) if preset else ()


MOST_PRESETS = 100  # of one VMI that are looked for


def _merged(record: Record, _: ByName) -> Iterable[str]:
    if isinstance(record, VirtualMachineInstance):
        return {f"{record.namespace}/{name}" for name in record.presets[:MOST_PRESETS]}
    return (f"{record.namespace}/{record.name}",) if isinstance(record, VirtualMachineInstancePreset) else ()


_STARTED = Index("VMI of a saved spec", _started, of=(VirtualMachineInstance,), namespaced=True)
# An instancetype or preference, and who depends on it: VMs, and pools, whose templates refer to it.
OBJECT = Index(
    "instancetype or preference",
    _objects,
    of=(Kept, VirtualMachine, VirtualMachinePool),
    dependents=(VirtualMachine, VirtualMachinePool),
)
# VMs by the object that they refer to, and those of them that have no copy of it.
USERS = Index("VMs of an instancetype or preference", _users, of=(VirtualMachine,))
# A ControllerRevision and all that needs it: VMs, snapshots, and VMIs by the spec that they started with.
REVISION = Index(
    "ControllerRevision",
    _revisions,
    of=(VirtualMachine, VirtualMachinePool, ControllerRevision, VirtualMachineSnapshotContent, VirtualMachineInstance),
    through=((ControllerRevision, _STARTED),),
    namespaced=True,
)
UNVERSIONED = Index(
    "VMs of a live instancetype or preference",
    _unversioned,
    of=(VirtualMachine,),
    through=((ControllerRevision, REVISION),),
)
POOLS = Index("pool with an instancetype or preference", _pools, of=(VirtualMachinePool,), namespaced=True)
SAVED = Index(
    "snapshot with an instancetype or preference", _saved, of=(VirtualMachineSnapshotContent,), namespaced=True
)
_SOURCE = Index("snapshots of a VM", _sources, of=(VirtualMachineSnapshotContent,), namespaced=True)
# Snapshots by the ControllerRevisions that a restore needs.
SAVED_COPY = Index(
    "ControllerRevision of snapshots",
    _saved_copies,
    of=(VirtualMachineSnapshotContent,),
    through=((VirtualMachine, _SOURCE),),
    namespaced=True,
)
# An instancetype or preference, and the snapshots that have no copy of it.
SAVED_OBJECT = Index(
    "instancetype or preference of snapshots",
    _saved_objects,
    of=(Kept, VirtualMachineSnapshotContent),
    dependents=(VirtualMachineSnapshotContent,),
)
PRESETS = Index("VMI with a preset", _presets, of=(VirtualMachineInstance,), namespaced=True)
# A preset, and the VMIs that it was merged into.
MERGED = Index("preset", _merged, of=(VirtualMachineInstance, VirtualMachineInstancePreset), namespaced=True)
