"""VMs by the firmware UUID that they have: a VirtualMachine with its VMI is one, a lone VMI another."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ...store.cluster import Cluster
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from ...store.record import Ref
from .firmware import legacy
from .identity import effective, owned

__all__ = ["Identified", "identified", "vms"]

_RECEIVING = "WaitingForSync"  # the far end of a migration between clusters, that runs nothing yet


class Identified(msgspec.Struct, frozen=True, gc=False):
    """A VM with a UUID that identifies it."""

    ref: Ref
    uuid: str  # the effective one, comparable (firmware.py)
    running: bool

    @property
    def legacy(self) -> bool:
        """Whether the UUID is the one that KubeVirt derives from its name."""
        return self.uuid == legacy(self.ref.name)


def identified(cluster: Cluster, namespace: str, name: str) -> Iterator[Identified]:
    """The VMs of that name: at most one, or a VirtualMachine and a VMI that is not its own."""
    vm = cluster.get(VirtualMachine, namespace, name)
    vmi = cluster.get(VirtualMachineInstance, namespace, name)
    own = owned(vmi, vm) if vm is not None else None
    if vm is not None and (uuid := effective(vm, own)):
        yield Identified(vm.ref, uuid, vm.deleting is None and _runs(own))
    if vmi is not None and own is None and not vmi.final and vmi.identity:
        yield Identified(vmi.ref, vmi.identity, _runs(vmi))


def vms(cluster: Cluster) -> Iterator[Identified]:
    """All of a cluster."""
    for vm in cluster.all(VirtualMachine):
        yield from identified(cluster, vm.namespace, vm.name)
    for vmi in cluster.all(VirtualMachineInstance):
        if cluster.get(VirtualMachine, vmi.namespace, vmi.name) is None:
            yield from identified(cluster, vmi.namespace, vmi.name)


def _runs(vmi: VirtualMachineInstance | None) -> bool:
    return vmi is not None and vmi.deleting is None and vmi.phase != _RECEIVING
