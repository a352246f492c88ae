"""How many VMs have a firmware UUID of which origin: no series for a VM, so this is always there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum

from ..domain.identity import Identified, identified
from ..facts.firmware import invalid
from ..store.cluster import Change, Cluster
from ..store.kinds.virtual_machine import VirtualMachine
from ..store.kinds.virtual_machine_instance import VirtualMachineInstance
from .base import Gauge, Sample, State

_SLICE = 250  # VMs, which take a few milliseconds


class Origin(StrEnum):
    SET = "set"
    LEGACY = "legacy"  # what KubeVirt derives from the VM's name
    INVALID = "invalid"  # set, and it identifies no VM


def origin(vm: Identified) -> Origin:
    return Origin.LEGACY if vm.legacy else Origin.SET


class Origins:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._changed: dict[tuple[str, str], None] = {}
        self._origins: dict[tuple[str, str], tuple[Origin, ...]] = {}  # by namespace and name
        self._counts: Counter[Origin] = Counter()

    def changed(self, change: Change) -> None:
        record = change.after or change.before
        if record is not None and change.kind in _KINDS:
            self._changed[record.namespace, record.name] = None

    def settle(self) -> Iterator[None]:
        done = 0
        while self._changed:
            key, _ = self._changed.popitem()
            self._counts.subtract(self._origins.pop(key, ()))
            if origins := _origins(self._cluster, *key):
                self._origins[key] = origins
                self._counts.update(origins)
            done += 1
            if done % _SLICE == 0:
                yield

    def samples(self) -> Iterator[Sequence[Sample]]:
        yield [((each.value,), self._counts[each]) for each in Origin]


_KINDS = (VirtualMachine.KIND.record, VirtualMachineInstance.KIND.record)


def _origins(cluster: Cluster, namespace: str, name: str) -> tuple[Origin, ...]:
    """Of the VMs of that name: at most one, or a VirtualMachine and a VMI that is not its own."""
    found = list(identified(cluster, namespace, name))
    origins = tuple(map(origin, found))
    if cluster.get(VirtualMachine, namespace, name) is None:
        vmi = cluster.get(VirtualMachineInstance, namespace, name)
        unidentified = vmi is not None and not vmi.final and invalid(vmi.uuid) is not None
    else:
        unidentified = all(each.ref.kind != VirtualMachine.__name__ for each in found)
    return (*origins, Origin.INVALID) if unidentified else origins


STATE = State(
    keep=Origins,
    gauges=(
        Gauge(
            "kubevirt_vm_firmware_uuids",
            "VMs, and VMIs without one, by the origin of the firmware UUID that they have, or start with: set, legacy "
            "where it follows from the name, or invalid.",
            ("origin",),
            Origins.samples,
        ),
    ),
    reads=(VirtualMachine.KIND, VirtualMachineInstance.KIND),
    requires=(VirtualMachine.KIND,),
)
