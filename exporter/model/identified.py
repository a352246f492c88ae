"""Machines by the firmware UUID that they have: a VirtualMachine with its instance is one, a lone instance another."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from .cluster import Cluster
from .firmware import legacy
from .identity import effective, owned
from .record import Ref
from .virtual_machine import VirtualMachine
from .virtual_machine_instance import VirtualMachineInstance

__all__ = ["Identified", "identified", "machines"]

_RECEIVING = "WaitingForSync"  # the far end of a migration between clusters, that runs nothing yet


class Identified(msgspec.Struct, frozen=True, gc=False):
    """A machine that has a UUID which tells it from others."""

    ref: Ref
    uuid: str  # the effective one, comparable (firmware.py)
    running: bool

    @property
    def legacy(self) -> bool:
        """Whether the UUID is the one that KubeVirt derives from its name."""
        return self.uuid == legacy(self.ref.name)


def identified(cluster: Cluster, namespace: str, name: str) -> Iterator[Identified]:
    """The machines of that name: at most one, or a VirtualMachine and an instance that is not its own."""
    vm = cluster.get(VirtualMachine, namespace, name)
    vmi = cluster.get(VirtualMachineInstance, namespace, name)
    own = owned(vmi, vm) if vm is not None else None
    if vm is not None and (uuid := effective(vm, own)):
        yield Identified(vm.ref, uuid, vm.deleting is None and _runs(own))
    if vmi is not None and own is None and not vmi.final and vmi.identity:
        yield Identified(vmi.ref, vmi.identity, _runs(vmi))


def machines(cluster: Cluster) -> Iterator[Identified]:
    """All of a cluster."""
    for vm in cluster.all(VirtualMachine):
        yield from identified(cluster, vm.namespace, vm.name)
    for vmi in cluster.all(VirtualMachineInstance):
        if cluster.get(VirtualMachine, vmi.namespace, vmi.name) is None:
            yield from identified(cluster, vmi.namespace, vmi.name)


def _runs(vmi: VirtualMachineInstance | None) -> bool:
    return vmi is not None and vmi.deleting is None and vmi.phase != _RECEIVING
