"""How many VMs refer to each instancetype and preference, and how; updated with each change, never counted anew.

A VM is resolved again when it changes, or a ControllerRevision that it names, or KubeVirt's version. VMs that are being
deleted don't count, nor do references whose kind KubeVirt does not know, or that name nothing and infer nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from ..domain.instancetypes.indexes import REVISION, revision_key
from ..domain.instancetypes.resolving import (
    LIVE,
    ReferenceMode,
    Resolution,
    Unresolved,
    reference,
    resolve,
    target,
    undecodable,
)
from ..facts.matching import ROLES, MatcherRole, kind_of
from ..facts.record import Record, Ref
from ..store.cluster import Change, Cluster
from ..store.kinds import controller_revision, kube_virt, virtual_machine
from ..store.kinds.controller_revision import ControllerRevision, Stash
from ..store.kinds.instancetypes import CLUSTER_WIDE, INSTANCETYPES, Kept
from ..store.kinds.kube_virt import KubeVirt
from ..store.kinds.templates import VirtualMachinePool
from ..store.kinds.virtual_machine import VirtualMachine
from .base import Gauge, Sample, State

_SLICE = 200  # VMs resolved between two looks at the event loop, which take a few milliseconds


class InstancetypeTarget(NamedTuple):
    """An instancetype or preference that exists, or that something refers to; without a name where one is still to be
    inferred.
    """

    kind: str
    namespace: str
    name: str


class InstancetypeUse(msgspec.Struct, frozen=True, gc=False):
    """One way in which VMs refer to an object. `copy` is what their ControllerRevisions hold, None where there is none;
    `broken` says that KubeVirt does not find or can't decode these.
    """

    target: InstancetypeTarget
    mode: ReferenceMode
    copy: Stash | None = None
    broken: bool = False


class _Counted:
    __slots__ = ("use", "vms")

    def __init__(self, use: InstancetypeUse) -> None:
        self.use, self.vms = use, 0


class _Users:
    __slots__ = ("modes", "pools", "uses")

    def __init__(self) -> None:
        self.modes: Counter[ReferenceMode] = Counter()
        self.uses: dict[InstancetypeUse, _Counted] = {}
        self.pools: dict[Ref, None] = {}


class InstancetypeUsage:
    INDEXES = (REVISION,)
    KINDS: tuple[type[Record], ...] = (*LIVE.values(), VirtualMachine, ControllerRevision, KubeVirt)

    def __init__(self, cluster: Cluster) -> None:
        """The cluster has to keep INDEXES, and `changed` to be called with each of its changes."""
        self._cluster = cluster
        self._noted: dict[tuple[str, str], None] = {}
        self._again: dict[str, list[str]] = {}  # names of VMs that are to be noted too, by namespace
        # By namespace and name: in many small dicts, since resizing a large one takes milliseconds.
        self._vms: dict[str, dict[str, tuple[_Counted, ...]]] = {}
        self._users: dict[InstancetypeTarget, _Users] = {}
        self._there: dict[InstancetypeTarget, None] = {}
        self._revisions: Counter[InstancetypeTarget] = Counter()

    @classmethod
    def over(cls, cluster: Cluster) -> InstancetypeUsage:
        """Of a cluster that holds something already."""
        usage = cls(cluster)
        kinds: tuple[type[Record], ...] = (*cls.KINDS, VirtualMachinePool)
        for record in (each for kind in kinds for each in cluster.all(kind)):
            usage.changed(Change(type(record), None, record))
        return usage

    def targets(self, role: MatcherRole) -> list[InstancetypeTarget]:
        """Those that exist or that a VM or a pool refers to, in order."""
        kinds = (role.namespaced, role.cluster_wide)
        return sorted(each for each in self._there.keys() | self._users.keys() if each.kind in kinds)

    def modes(self, wanted: InstancetypeTarget) -> Mapping[ReferenceMode, int]:
        """VMs by how they refer to it."""
        users = self._users.get(wanted)
        return users.modes if users is not None else Counter()

    def uses(self, wanted: InstancetypeTarget) -> list[tuple[InstancetypeUse, int]]:
        """The ways in which VMs refer to it, each with their number."""
        users = self._users.get(wanted)
        return [(each.use, each.vms) for each in users.uses.values()] if users is not None else []

    def unversioned(self, wanted: InstancetypeTarget, vm: Record) -> bool:
        """Whether a VM gets the live object."""
        counted = self._vms.get(vm.namespace, {}).get(vm.name, ())
        return any(each.use.target == wanted and each.use.mode is ReferenceMode.UNVERSIONED for each in counted)

    def pools(self, wanted: InstancetypeTarget) -> list[Ref]:
        """The pools whose next VMs need it, in order."""
        users = self._users.get(wanted)
        return sorted(users.pools) if users is not None else []

    def revisions(self, wanted: InstancetypeTarget) -> int:
        """How many ControllerRevisions are of it by their labels, whether a VM needs them or not."""
        return self._revisions[wanted]

    # -- updating

    def changed(self, change: Change) -> None:
        record = change.after or change.before
        if isinstance(record, VirtualMachine):
            if change.after is not None or record.name in self._vms.get(record.namespace, ()):
                self._noted[record.namespace, record.name] = None
            else:
                self._noted.pop((record.namespace, record.name), None)  # it came and went, and may have no like
        elif isinstance(record, ControllerRevision):
            for vm in self._cluster.sharing(REVISION, revision_key(record.namespace, record.name)):
                if isinstance(vm, VirtualMachine):
                    self._noted[vm.namespace, vm.name] = None
            self._count_revision(change.before, -1)
            self._count_revision(change.after, 1)
        elif isinstance(record, KubeVirt):
            if change.facts is None or "version" in change.facts:
                self._again = {namespace: list(names) for namespace, names in self._vms.items()}
        elif isinstance(record, VirtualMachinePool):
            for ref, each in _needed(change.before):
                del self._users[each].pools[ref]
                self._drop(each)
            for ref, each in _needed(change.after):
                self._users.setdefault(each, _Users()).pools[ref] = None
        elif isinstance(record, Kept):
            there = InstancetypeTarget(type(record).__name__, record.namespace, record.name)
            if change.after is None:
                self._there.pop(there, None)
            else:
                self._there[there] = None

    def settle(self) -> Iterator[None]:
        """Resolves again what was noted, and stops after each few, so that others get their turn."""
        done = 0
        while self._noted or self._again:
            if not self._noted:
                self._note_some()
            self._resolve(*self._noted.popitem()[0])
            done += 1
            if done % _SLICE == 0:
                yield

    def _note_some(self) -> None:
        namespace, names = self._again.popitem()
        self._noted.update(dict.fromkeys((namespace, name) for name in names[-_SLICE:]))
        if len(names) > _SLICE:
            self._again[namespace] = names[:-_SLICE]

    def _resolve(self, namespace: str, name: str) -> None:
        vm = self._cluster.get(VirtualMachine, namespace, name)
        names = self._vms.get(namespace, {})
        before = names.pop(name, ())
        if vm is not None and vm.deleting is None and (vm.instancetype or vm.preference):
            self._vms.setdefault(namespace, names)[name] = tuple(self._counted(each) for each in self._uses_of(vm))
        elif not names:
            self._vms.pop(namespace, None)
        for each in before:
            self._uncount(each)

    def _uses_of(self, vm: VirtualMachine) -> Iterator[InstancetypeUse]:
        kubevirt = min(self._cluster.all(KubeVirt), key=lambda each: each.ref, default=None)
        release = kubevirt.release if kubevirt is not None else (0, 0)
        for role in ROLES:
            found = resolve(vm, role, self._cluster.get, kubevirt)
            if found is None or not found.kind or not (found.reference.name or found.mode is ReferenceMode.INFERRED):
                continue
            wanted = InstancetypeTarget(*target(vm.namespace, role, found.reference))
            yield InstancetypeUse(wanted, found.mode, *_copy(found, release))

    def _counted(self, use: InstancetypeUse) -> _Counted:
        users = self._users.setdefault(use.target, _Users())
        counted = users.uses.setdefault(use, _Counted(use))
        counted.vms += 1
        users.modes[use.mode] += 1
        return counted

    def _uncount(self, counted: _Counted) -> None:
        use = counted.use
        users = self._users[use.target]
        counted.vms -= 1
        if not counted.vms:
            del users.uses[use]
        users.modes[use.mode] -= 1
        if not users.modes[use.mode]:
            del users.modes[use.mode]
        self._drop(use.target)

    def _drop(self, wanted: InstancetypeTarget) -> None:
        users = self._users[wanted]
        if not users.uses and not users.pools:
            del self._users[wanted]

    def _count_revision(self, record: Record | None, number: int) -> None:
        stash = record.stash if isinstance(record, ControllerRevision) else None
        written = (stash.object_kind or stash.kind) if stash is not None else ""
        if record is None or stash is None or not stash.object_name or not written:
            return
        for role in ROLES:
            if kind := kind_of(role, written):
                of = InstancetypeTarget(kind, record.namespace if kind == role.namespaced else "", stash.object_name)
                self._revisions[of] += number
                if not self._revisions[of]:
                    del self._revisions[of]


def role_of(wanted: InstancetypeTarget) -> MatcherRole:
    return next(role for role in ROLES if wanted.kind in (role.namespaced, role.cluster_wide))


def _copy(found: Resolution, release: tuple[int, int]) -> tuple[Stash | None, bool]:
    """What its ControllerRevision holds, and whether KubeVirt can't use that."""
    if found.failure is Unresolved.REVISION:
        return None, True
    if found.revision is None:
        return None, False
    return found.revision.stash, bool(undecodable(found.revision, found.role, release))


def _needed(record: Record | None) -> Iterator[tuple[Ref, InstancetypeTarget]]:
    """A pool, and what its template needs; one that names a ControllerRevision does not need the object."""
    if not isinstance(record, VirtualMachinePool) or record.deleting is not None:
        return
    for role in ROLES:
        wanted = reference(record, role)
        if wanted is not None and wanted.wanted and not wanted.pin:
            found = InstancetypeTarget(*target(record.namespace, role, wanted))
            if found.kind and found.name:
                yield record.ref, found


# How many VMs refer to each instancetype and preference, and how: which of them depend on the live object.

_LABELS = ("scope", "namespace", "name", "mode")
_NAMED = tuple(mode for mode in ReferenceMode if mode is not ReferenceMode.INFERRED)


def _samples(role: MatcherRole) -> Callable[[InstancetypeUsage], Iterator[list[Sample]]]:
    """Of each object that exists or is referred to; what is still to be inferred has no name yet."""

    def samples(usage: InstancetypeUsage) -> Iterator[list[Sample]]:
        for each in usage.targets(role):
            scope = "namespace" if each.kind == role.namespaced else "cluster"
            modes, counts = _NAMED if each.name else (ReferenceMode.INFERRED,), usage.modes(each)
            yield [((scope, each.namespace, each.name, mode.value), counts.get(mode, 0)) for mode in modes]

    return samples


STATE = State(
    keep=InstancetypeUsage,
    gauges=(
        Gauge(
            "kubevirt_instancetype_vms",
            "VMs that refer to an instancetype, by how: pinned or by revision they have a copy of it, unversioned they "
            "get the live object, inferred they have none yet.",
            _LABELS,
            _samples(MatcherRole.INSTANCETYPE),
        ),
        Gauge(
            "kubevirt_preference_vms",
            "VMs that refer to a preference, by how: pinned or by revision they have a copy of it, unversioned they "
            "get the live object, inferred they have none yet.",
            _LABELS,
            _samples(MatcherRole.PREFERENCE),
        ),
    ),
    reads=(*INSTANCETYPES, virtual_machine.KIND, controller_revision.KIND, kube_virt.KIND),
    indexes=InstancetypeUsage.INDEXES,
    requires=CLUSTER_WIDE,
)
