"""How many VMs and VMIs ask for each feature; updated with each change, never counted anew.

A VM asks for what its template says with its instancetype and its preference applied. It is looked at again when it
changes, or its VMI, an object or a ControllerRevision that it refers to, or KubeVirt's version. A VMI asks for what its
own spec says. VMs that are being deleted don't count, nor do VMIs that have ended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from ..domain.features.configuration import chosen
from ..domain.features.requests import requests_of
from ..domain.identity import owned
from ..domain.instancetypes.indexes import REVISION, USERS, object_key, revision_key
from ..domain.instancetypes.resolving import LIVE
from ..facts.record import Record
from ..facts.rule import Request
from ..facts.rules import RULES
from ..store.cluster import Change, Cluster
from ..store.index import Index
from ..store.kinds import controller_revision, kube_virt, virtual_machine, virtual_machine_instance
from ..store.kinds.controller_revision import ControllerRevision
from ..store.kinds.instancetypes import INSTANCETYPES, Kept
from ..store.kinds.kube_virt import KubeVirt
from ..store.kinds.virtual_machine import VirtualMachine
from ..store.kinds.virtual_machine_instance import VirtualMachineInstance
from .base import Gauge, Sample, State

_SLICE = 200  # VMs looked at between two looks at the event loop, which take a few milliseconds

_VM, _VMI = "VirtualMachine", "VirtualMachineInstance"
PHASES: Mapping[str, tuple[str, ...]] = {
    _VM: ("running", "stopped"),
    _VMI: ("Pending", "Scheduling", "Scheduled", "Running", "WaitingForSync", "Unknown"),
}
"""What a VM or VMI that counts may be in. A VM runs while it has a VMI of its own that has not ended."""


def phase_of(vmi: VirtualMachineInstance) -> str:
    """One of `PHASES`; one that was just created is pending."""
    phase = vmi.phase or "Pending"
    return phase if phase in PHASES[_VMI] else "Unknown"


class FeatureUsers:
    """All VMs, or all VMIs, of a phase that ask for the same."""

    __slots__ = ("kind", "members", "phase", "requests")

    def __init__(self, kind: str, phase: str, requests: tuple[Request, ...]) -> None:
        self.kind, self.phase, self.requests = kind, phase, requests
        self.members = 0

    @property
    def rules(self) -> frozenset[str]:
        return frozenset(rule for rule, _ in self.requests)


_OF_VMI = ("asks", "phase", "vm_uid")
_Key = tuple[str, str, tuple[Request, ...]]


class FeatureUsage:
    INDEXES = (REVISION, USERS)
    KINDS: tuple[type[Record], ...] = (
        *LIVE.values(),
        VirtualMachine,
        VirtualMachineInstance,
        ControllerRevision,
        KubeVirt,
    )

    def __init__(self, cluster: Cluster) -> None:
        """The cluster has to keep INDEXES, and `changed` to be called with each of its changes."""
        self._cluster = cluster
        self._noted: dict[tuple[str, str], None] = {}
        self._again: dict[str, list[str]] = {}  # names of VMs that are to be noted too, by namespace
        # By kind, namespace and name: in many small dicts, since resizing a large one takes milliseconds.
        self._members: dict[str, dict[str, dict[str, FeatureUsers]]] = {kind: {} for kind in PHASES}
        self._groups: dict[_Key, FeatureUsers] = {}
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._version = ""

    @classmethod
    def over(cls, cluster: Cluster) -> FeatureUsage:
        """Of a cluster that holds something already."""
        usage = cls(cluster)
        for record in (each for kind in cls.KINDS for each in cluster.all(kind)):
            usage.changed(Change(type(record), None, record))
        return usage

    def count(self, rule: str, kind: str, phase: str) -> int:
        """How many VMs or VMIs of a phase ask for a feature."""
        return self._counts[rule, kind, phase]

    def groups(self) -> list[FeatureUsers]:
        """Those who ask for something, by what that is."""
        return [each for each in self._groups.values() if each.requests]

    def namespaces(self, kind: str) -> list[str]:
        """Of the VMs or VMIs that may ask for something, in order."""
        return sorted(self._members[kind])

    def members(self, kind: str, namespace: str) -> list[tuple[str, FeatureUsers]]:
        """The VMs or VMIs of a namespace that may ask for something, by name, in no order."""
        return list(self._members[kind].get(namespace, {}).items())

    def group(self, kind: str, namespace: str, name: str) -> FeatureUsers | None:
        """What one VM or VMI asks for; None where that is nothing."""
        return self._members[kind].get(namespace, {}).get(name)

    # -- updating

    def changed(self, change: Change) -> None:
        record = change.after or change.before
        if isinstance(record, VirtualMachine):
            self._note(record)
        elif isinstance(record, VirtualMachineInstance):
            if change.facts is None or not change.facts.isdisjoint(_OF_VMI):
                self._put(_VMI, record.namespace, record.name, self._of_vmi(change.after))
                self._note(record)
        elif isinstance(record, ControllerRevision):
            self._note_all(REVISION, revision_key(record.namespace, record.name))
        elif isinstance(record, KubeVirt):
            self._take_version()
        elif isinstance(record, Kept):
            self._note_all(USERS, object_key(type(record).__name__, record.namespace, record.name))

    def settle(self) -> Iterator[None]:
        """Looks again at what was noted, and stops after each few, so that others get their turn."""
        done = 0
        while self._noted or self._again:
            if not self._noted:
                self._note_some()
            self._look_at(*self._noted.popitem()[0])
            done += 1
            if done % _SLICE == 0:
                yield

    def _note(self, record: Record) -> None:
        """The VM of that name, if there is one, or was one."""
        key = record.namespace, record.name
        there = self._cluster.get(VirtualMachine, *key) is not None
        if there or self.group(_VM, *key) is not None:
            self._noted[key] = None
        else:
            self._noted.pop(key, None)  # it came and went, and may have no like

    def _note_all(self, index: Index, key: str) -> None:
        for vm in self._cluster.sharing(index, key):
            if isinstance(vm, VirtualMachine):
                self._noted[vm.namespace, vm.name] = None

    def _take_version(self) -> None:
        """What an instancetype gives depends on how KubeVirt resolves it."""
        kubevirt = chosen(self._cluster.all(KubeVirt))
        version = "" if isinstance(kubevirt, str) else kubevirt.upstream
        if version != self._version:
            self._version = version
            self._again = {namespace: list(names) for namespace, names in self._members[_VM].items()}

    def _note_some(self) -> None:
        namespace, names = self._again.popitem()
        self._noted.update(dict.fromkeys((namespace, name) for name in names[-_SLICE:]))
        if len(names) > _SLICE:
            self._again[namespace] = names[:-_SLICE]

    def _look_at(self, namespace: str, name: str) -> None:
        vm = self._cluster.get(VirtualMachine, namespace, name)
        self._put(_VM, namespace, name, self._of_vm(vm) if vm is not None and vm.deleting is None else None)

    def _put(self, kind: str, namespace: str, name: str, group: FeatureUsers | None) -> None:
        names = self._members[kind].get(namespace, {})
        before = names.pop(name, None)
        if group is not None:
            self._members[kind].setdefault(namespace, names)[name] = group
        elif not names:
            self._members[kind].pop(namespace, None)
        if group is not before:
            self._add(group, 1)
            self._add(before, -1)

    def _of_vm(self, vm: VirtualMachine) -> FeatureUsers | None:
        """None of one that asks for nothing and never will without a change of its own."""
        kubevirt = chosen(self._cluster.all(KubeVirt))
        requests = requests_of(vm, self._cluster.get, None if isinstance(kubevirt, str) else kubevirt)
        if not requests and not (vm.instancetype or vm.preference):
            return None
        vmi = self._cluster.get(VirtualMachineInstance, vm.namespace, vm.name)
        return self._group(_VM, "stopped" if owned(vmi, vm) is None else "running", requests)

    def _of_vmi(self, record: Record | None) -> FeatureUsers | None:
        if not isinstance(record, VirtualMachineInstance) or not record.asks or record.final:
            return None
        return self._group(_VMI, phase_of(record), record.asks)

    def _group(self, kind: str, phase: str, requests: tuple[Request, ...]) -> FeatureUsers:
        key = kind, phase, requests
        return self._groups.get(key) or self._groups.setdefault(key, FeatureUsers(*key))

    def _add(self, group: FeatureUsers | None, number: int) -> None:
        if group is None:
            return
        group.members += number
        for rule in group.rules:
            self._counts[rule, group.kind, group.phase] += number
        if not group.members:
            del self._groups[group.kind, group.phase, group.requests]


# How many VMs and VMIs ask for each feature, whether the cluster allows it or not.


def _samples(usage: FeatureUsage) -> Iterator[list[Sample]]:
    for rule in RULES:
        yield [
            ((rule.id, kind, phase), usage.count(rule.id, kind, phase))
            for kind, phases in PHASES.items()
            for phase in phases
        ]


STATE = State(
    keep=FeatureUsage,
    gauges=(
        Gauge(
            "kubevirt_feature_requests",
            "VMs, with their instancetype and preference applied, and VMIs that ask for a feature: VMs by whether they "
            "are running or stopped, VMIs by their phase.",
            ("feature", "kind", "phase"),
            _samples,
            sparse=True,
        ),
    ),
    reads=(
        virtual_machine.KIND,
        virtual_machine_instance.KIND,
        *INSTANCETYPES,
        controller_revision.KIND,
        kube_virt.KIND,
    ),
    indexes=FeatureUsage.INDEXES,
    requires=(virtual_machine.KIND,),
)
