"""Who has which firmware UUID: what Prometheus needs to find VMs of different clusters that share one.

A raw UUID tells apart every VM there is, so this is off until somebody asks for it: a series for each VM, or, of
`copied`, for each that may be in another cluster too. Left out is then a VM whose UUID is random (version 4), as
KubeVirt's webhook makes them since 1.6 (pkg/virt-api/webhooks/mutating-webhook/mutators), and of which nothing in this
cluster tells that it was copied. How many these are is a gauge of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from ..config.settings import MetricsSettings
from ..domain.identity import IDENTITY, SAVED_IDENTITY, Identified, identified
from ..facts.firmware import random
from ..facts.record import Record
from ..store.cluster import Change, Cluster
from ..store.kinds.snapshots import VirtualMachineSnapshotContent
from ..store.kinds.virtual_machine import VirtualMachine
from ..store.kinds.virtual_machine_instance import VirtualMachineInstance
from ..store.source import UNREADABLE, Source, Undecodable, unseen
from .base import Gauge, Sample, State
from .firmware_origins import origin

_SLICE = 250  # VMs, which take a few milliseconds
_FEW = 8  # that share a UUID: of more, one that comes or goes makes no difference to the others
_SAVED = VirtualMachineSnapshotContent
_V = TypeVar("_V")


class UUIDs:
    def __init__(self, cluster: Cluster, *, copied: bool = False) -> None:
        """Of all VMs, or of those that may have been `copied`."""
        self._cluster, self._copied = cluster, copied
        self._requested: dict[tuple[str, str], None] = {}
        self._samples: dict[tuple[str, str], tuple[Sample, ...]] = {}  # by namespace and name
        self._left_out: dict[tuple[str, str], int] = {}

    def changed(self, change: Change) -> None:
        record = change.after or change.before
        if record is not None and change.kind in _KINDS:
            self._requested[record.namespace, record.name] = None
            if self._copied:
                self._request_sharers(change)
        elif self._copied and change.kind is _SAVED:
            for key in change.touched.get(SAVED_IDENTITY, ()):
                self._request(self._cluster.sharing(IDENTITY, key))
        elif self._copied and record is not None and _is_of_saved(record):
            for kind in _KINDS:
                self._request(self._cluster.all(kind))

    def _request_sharers(self, change: Change) -> None:
        for key in change.touched.get(IDENTITY, ()):
            if self._cluster.shared_by(IDENTITY, key) <= _FEW:
                self._request(self._cluster.sharing(IDENTITY, key))

    def _request(self, records: Iterable[Record]) -> None:
        self._requested |= dict.fromkeys((each.namespace, each.name) for each in records)

    def settle(self) -> Iterator[None]:
        done = 0
        while self._requested:
            key, _ = self._requested.popitem()
            # A VM and a VMI of its name that is not its own may look alike: that is one series.
            found = list(identified(self._cluster, *key))
            # Two of one name, a VM and a VMI that is not its own, may share it.
            served = [vm for vm in found if not self._copied or len(found) > 1 or self._may_be_elsewhere(vm)]
            samples = tuple(dict.fromkeys(map(_sample, served)))
            _keep(self._samples, key, samples)
            _keep(self._left_out, key, len(found) - len(served))
            done += 1
            if done % _SLICE == 0:
                yield

    def _may_be_elsewhere(self, vm: Identified) -> bool:
        """Whether its UUID was not made at random for it alone, as far as this cluster can tell."""
        place = vm.ref.namespace, vm.ref.name
        record = self._cluster.get(VirtualMachine, *place)
        if not random(vm.uuid) or record is None or vm.ref.kind != VirtualMachine.__name__:
            return True  # where a VMI alone has it from, nothing tells
        if record.origin or vm.uuid != record.identity:  # what it runs with is of an earlier spec
            return True
        if self._cluster.shared_by(IDENTITY, vm.uuid) > _FEW or any(
            (each.namespace, each.name) != place for each in self._cluster.sharing(IDENTITY, vm.uuid)
        ):
            return True
        if self._cluster.first(SAVED_IDENTITY, vm.uuid) is not None:
            return True
        return bool(unseen(self._cluster, (_SAVED,)) or self._cluster.first(UNREADABLE, _SAVED.__name__))

    def samples(self) -> Sequence[Sequence[Sample]]:
        return tuple(self._samples.values())

    def left_out(self) -> Sequence[Sequence[Sample]]:
        return [[((), sum(self._left_out.values()))]]


_KINDS = (VirtualMachine, VirtualMachineInstance)


def _is_of_saved(record: Record) -> bool:
    """Whether it says how well snapshots can be seen."""
    return (isinstance(record, Source) and record.name == _SAVED.__name__) or (
        isinstance(record, Undecodable) and record.kind == _SAVED.__name__
    )


def _keep(kept: dict[tuple[str, str], _V], key: tuple[str, str], value: _V) -> None:
    """In its place, so that a VM that changes does not change which series are served where not all fit."""
    if value:
        kept[key] = value
    else:
        kept.pop(key, None)


def _sample(vm: Identified) -> Sample:
    return (vm.ref.namespace, vm.ref.name, vm.uuid, origin(vm).value, str(vm.running).lower()), 1


def _kept(settings: MetricsSettings) -> Callable[[Cluster], UUIDs]:
    return partial(UUIDs, copied=settings.firmware_uuid_info == "copied")


STATE = State(
    keep=UUIDs,
    gauges=(
        Gauge(
            "kubevirt_vm_firmware_uuids_left_out",
            "VMs that kubevirt_vm_firmware_uuid_info leaves out because their firmware UUID is random and nothing in "
            "the cluster tells that they were copied; 0 where it has all VMs.",
            (),
            UUIDs.left_out,
        ),
        Gauge(
            "kubevirt_vm_firmware_uuid_info",
            "The firmware UUID that a VM has, or starts with; of origin legacy where it follows from its name.",
            ("namespace", "name", "uuid", "origin", "running"),
            UUIDs.samples,
        ),
    ),
    reads=(VirtualMachine.KIND, VirtualMachineInstance.KIND),
    indexes=(IDENTITY, SAVED_IDENTITY),
    option="firmware_uuid_info",
    by=_kept,
)
