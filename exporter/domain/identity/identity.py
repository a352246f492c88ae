"""The identity of a VM, from its VirtualMachine and its VMI together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from ...facts.firmware import legacy
from ...facts.record import Ref
from ...store.cluster import Cluster
from ...store.kinds.namespace import Namespace
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from ...store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration


def owned(vmi: VirtualMachineInstance | None, vm: VirtualMachine) -> VirtualMachineInstance | None:
    """The VMI of that name, where it is this VM's and has not ended."""
    return vmi if vmi is not None and vmi.vm_uid == vm.uid and not vmi.final else None


def next_boot(vm: VirtualMachine) -> str:
    """The comparable UUID that it starts with next time: its own, or the one that KubeVirt derives from its name.

    Empty where its own is invalid.
    """
    return vm.identity if vm.uuid.strip() else legacy(vm.name)


def effective(vm: VirtualMachine, vmi: VirtualMachineInstance | None) -> str:
    """The comparable UUID that it has: the running one, else that of its next start. `vmi` as `owned` gives it."""
    return (vmi.identity if vmi is not None else "") or next_boot(vm)


def identities(vm: VirtualMachine, vmi: VirtualMachineInstance | None) -> tuple[str, ...]:
    """All UUIDs that it has or will have: the effective one, then that of its next start, if that differs."""
    return tuple(dict.fromkeys(each for each in (effective(vm, vmi), next_boot(vm)) if each))


# VMs by the firmware UUID that they have: a VirtualMachine with its VMI is one, a lone VMI another.

_RECEIVING = "WaitingForSync"  # the far end of a migration between clusters, that runs nothing yet
_SYSTEM = "kube-system"


class Identified(msgspec.Struct, frozen=True, gc=False):
    """A VM with a UUID that identifies it."""

    ref: Ref
    uuid: str  # the effective one, comparable (firmware.py)
    running: bool

    @property
    def legacy(self) -> bool:
        """Whether the UUID is the one that KubeVirt derives from its name."""
        return self.uuid == legacy(self.ref.name)


class MigrationEnd(NamedTuple):
    """One end of a migration between clusters or namespaces; both have the same `pairing`. `left` is of an end that was
    migrated away, and where nothing was started since.
    """

    pairing: str
    sends: bool
    finished: bool
    left: bool


class InCluster(Identified, frozen=True, gc=False):
    """One as it is compared with those of other clusters. `cluster` is by what its cluster is known, empty where that
    is not seen. `awaits`: a guest of another cluster is to be migrated to it, and it runs nothing yet.
    """

    cluster: str = ""
    awaits: bool = False
    ends: tuple[MigrationEnd, ...] = ()


def uid_of(cluster: Cluster) -> str:
    """What tells clusters apart: the UID of kube-system; empty where that is not seen."""
    system = cluster.get(Namespace, _SYSTEM, _SYSTEM)
    return system.uid if system is not None else ""


def in_cluster(cluster: Cluster) -> Iterator[InCluster]:
    """All of a cluster."""
    uid = uid_of(cluster)
    migrations = defaultdict[tuple[str, str], list[VirtualMachineInstanceMigration]](list)
    for each in cluster.all(VirtualMachineInstanceMigration):
        if each.pairing:
            migrations[each.namespace, each.vmi].append(each)
    for found in vms(cluster):
        key = found.ref.namespace, found.ref.name
        vm, vmi = cluster.get(VirtualMachine, *key), cluster.get(VirtualMachineInstance, *key)
        made = (
            MigrationEnd(each.pairing, each.sends, each.finished, each.sends and migrated_away(vm, vmi, each))
            for each in migrations.get(key, ())
        )
        yield InCluster(found.ref, found.uuid, found.running, cluster=uid, awaits=awaited(vm, vmi), ends=tuple(made))


def migrated_away(
    vm: VirtualMachine | None, vmi: VirtualMachineInstance | None, out: VirtualMachineInstanceMigration
) -> bool:
    """Whether nothing was started there since it migrated away: it is halted, or its VMI is the old one."""
    if out.phase != "Succeeded":
        return False
    if vmi is None:
        return vm is not None and vm.run_strategy == "Halted"
    return vmi.created is not None and out.created is not None and vmi.created <= out.created


def awaited(vm: VirtualMachine | None, vmi: VirtualMachineInstance | None) -> bool:
    """Whether it is the target of a migration that has not arrived yet, with the identity of its source."""
    if vmi is not None and vmi.phase == _RECEIVING:
        return True
    arrived = vmi is not None and vmi.phase == "Running"
    return vm is not None and vm.run_strategy == "WaitAsReceiver" and not arrived


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
