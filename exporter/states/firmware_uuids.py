"""Who has which firmware UUID: what Prometheus needs to find VMs of different clusters that share one.

A raw UUID tells apart every VM there is, so this is off until somebody asks for it: a series for each VM.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..domain.identity.identified import Identified, identified
from ..store.change import Change
from ..store.cluster import Cluster
from ..store.kinds import virtual_machine, virtual_machine_instance
from .base import Gauge, Sample, State
from .firmware_origins import origin

__all__ = ["STATE", "UUIDs"]

_SLICE = 250  # VMs, which take a few milliseconds


class UUIDs:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._requested: dict[tuple[str, str], None] = {}
        self._samples: dict[tuple[str, str], tuple[Sample, ...]] = {}  # by namespace and name

    def changed(self, change: Change) -> None:
        record = change.after or change.before
        if record is not None and change.kind in _KINDS:
            self._requested[record.namespace, record.name] = None

    def settle(self) -> Iterator[None]:
        done = 0
        while self._requested:
            (namespace, name), _ = self._requested.popitem()
            # A VM and a VMI of its name that is not its own may look alike: that is one series.
            samples = tuple(dict.fromkeys(map(_sample, identified(self._cluster, namespace, name))))
            if samples:
                self._samples[namespace, name] = samples
            else:
                self._samples.pop((namespace, name), None)
            done += 1
            if done % _SLICE == 0:
                yield

    def samples(self) -> Sequence[Sequence[Sample]]:
        return tuple(self._samples.values())


_KINDS = (virtual_machine.KIND.record, virtual_machine_instance.KIND.record)


def _sample(vm: Identified) -> Sample:
    return (vm.ref.namespace, vm.ref.name, vm.uuid, origin(vm).value, str(vm.running).lower()), 1


STATE = State(
    keep=UUIDs,
    gauges=(
        Gauge(
            "kubevirt_vm_firmware_uuid_info",
            "The firmware UUID that a VM has, or starts with; of origin legacy where it follows from its name.",
            ("namespace", "name", "uuid", "origin", "running"),
            UUIDs.samples,
        ),
    ),
    reads=(virtual_machine.KIND, virtual_machine_instance.KIND),
    option="firmware_uuid_info",
)
