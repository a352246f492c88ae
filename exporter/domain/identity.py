"""The firmware identity of a VM, from its VirtualMachine and its VMI together, and what VMs share by it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from ..facts.firmware import legacy, serial_key
from ..facts.record import Record, Ref
from ..facts.vm_networks import parted
from ..store.cluster import Cluster
from ..store.index import ByName, Index
from ..store.indexes.networks import INTERFACE, VM, primary, vm_key
from ..store.kinds.namespace import Namespace
from ..store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from ..store.kinds.snapshots import (
    VirtualMachineClone,
    VirtualMachineRestore,
    VirtualMachineSnapshot,
    VirtualMachineSnapshotContent,
)
from ..store.kinds.templates import VirtualMachinePool
from ..store.kinds.virtual_machine import VirtualMachine
from ..store.kinds.virtual_machine_instance import VirtualMachineInstance
from ..store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from ..store.source import Undecodable, unseen


def owned(vmi: VirtualMachineInstance | None, vm: VirtualMachine) -> VirtualMachineInstance | None:
    """The VMI of that name, where it is this VM's and has not ended."""
    return vmi if vmi is not None and vmi.vm_uid == vm.uid and not vmi.final else None


class Standing(NamedTuple):
    """What a stop of a VMI comes to. `alone`: no VM owns it, and there is none of its name, as far as VMs are seen;
    `fleeting` are the disks that are lost with it (facts/vm_spec.py).
    """

    alone: bool = False
    fleeting: str = ""


def standing(cluster: Cluster, namespace: str, name: str) -> Standing:
    vmi = cluster.get(VirtualMachineInstance, namespace, name)
    if vmi is None:
        return Standing()
    alone = (
        not vmi.vm_uid
        and cluster.get(VirtualMachine, namespace, name) is None
        and cluster.get(Undecodable, namespace, f"{VirtualMachine.__name__} {name}") is None
        and not unseen(cluster, (VirtualMachine,))
    )
    return Standing(alone, vmi.fleeting)


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


def _identities(record: Record, lookup: ByName) -> Iterable[str]:
    if isinstance(record, VirtualMachine):
        vmi = lookup(VirtualMachineInstance, record.namespace, record.name)
        return identities(record, owned(vmi, record) if isinstance(vmi, VirtualMachineInstance) else None)
    if isinstance(record, VirtualMachineInstance) and record.identity and not record.final:
        return (record.identity,)
    return ()


def _saved(record: Record, _: ByName) -> Iterable[str]:
    return (record.identity,) if isinstance(record, VirtualMachineSnapshotContent) and record.identity else ()


def _names(record: Record, _: ByName) -> Iterable[str]:
    if isinstance(record, VirtualMachine):
        return (legacy(record.name),)
    return (legacy(record.source),) if isinstance(record, VirtualMachineSnapshotContent) else ()


def _serials(record: Record, _: ByName) -> Iterable[str]:
    if isinstance(record, VirtualMachine) or (isinstance(record, VirtualMachineInstance) and not record.final):
        key = serial_key(record.serial)
        return (key,) if key else ()
    return ()


def _pools(record: Record, _: ByName) -> Iterable[str]:
    if isinstance(record, VirtualMachine):
        return (f"{record.namespace}/{record.pool}",) if record.pool else ()
    return (f"{record.namespace}/{record.name}",) if isinstance(record, VirtualMachinePool) else ()


# Comparable UUIDs that VMs have, or start with next time.
IDENTITY = Index(
    "firmware UUID", _identities, of=(VirtualMachine, VirtualMachineInstance), through=((VirtualMachineInstance, VM),)
)
# The UUIDs that snapshots would bring back.
SAVED_IDENTITY = Index("firmware UUID in a snapshot", _saved, of=(VirtualMachineSnapshotContent,))
# The UUID that KubeVirt derives from a VM's name, whichever it has; of VMs and of snapshots.
LEGACY_NAME = Index("UUID of a name", _names, of=(VirtualMachine, VirtualMachineSnapshotContent))
SERIAL = Index("serial", _serials, of=(VirtualMachine, VirtualMachineInstance))
# A pool and its VMs, which depend on it.
POOL = Index("pool", _pools, of=(VirtualMachine, VirtualMachinePool), dependents=(VirtualMachine,), namespaced=True)


# What a restore or a clone that has not run yet copies.


def _copying(record: Record, _: ByName) -> Iterable[str]:
    if isinstance(record, VirtualMachineRestore):
        of = f"snapshot {record.snapshot}" if record.active and record.snapshot else ""
    elif isinstance(record, VirtualMachineClone):
        of = (f"snapshot {record.saved}" if record.saved else f"vm {record.source}") if record.active else ""
    else:
        saved = record.snapshot if isinstance(record, VirtualMachineSnapshotContent) else ""
        of = f"snapshot {saved}" if saved else ""
    return (f"{record.namespace}/{of}",) if of else ()


def _under_way(record: Record, lookup: ByName) -> Iterable[str]:
    return _copying(record, lookup) if isinstance(record, VirtualMachineRestore | VirtualMachineClone) else ()


# Restores and clones in progress by what they are made from, with the content of the snapshot that this is.
COPYING = Index(
    "what is copied",
    _copying,
    of=(VirtualMachineRestore, VirtualMachineClone, VirtualMachineSnapshotContent),
    namespaced=True,
)
UNDER_WAY = Index("what is being copied", _under_way, of=(VirtualMachineRestore, VirtualMachineClone), namespaced=True)


# The addresses that interfaces have on a link: a layer-2 network, over NADs and namespaces.

_VMS = (VirtualMachine, VirtualMachineInstance)

POD_NETWORK = "pod"
"""Stands for the link of interfaces on the pod network, which the primary network of their namespace decides."""


def link_in(key: str) -> str:
    """The link of a key."""
    return key.rpartition(" ")[0]


def _macs(record: Record, lookup: ByName) -> Iterable[str]:
    if isinstance(record, VirtualMachine):
        return dict.fromkeys(_on_links(record.macs, lookup))
    if isinstance(record, VirtualMachineInstance) and not record.final:
        return dict.fromkeys(_on_links(record.macs, lookup))
    return ()


def _ips(record: Record, lookup: ByName) -> Iterable[str]:
    if isinstance(record, VirtualMachineInstance) and record.addresses and not record.final:
        return dict.fromkeys(_on_links(record.addresses, lookup))
    return ()


def _on_links(texts: Iterable[str], lookup: ByName) -> Iterator[str]:
    for text in texts:
        nad, address = parted(text)
        link = _link(nad, lookup) if nad else POD_NETWORK
        if link:
            yield f"{link} {address}"


def _link(nad: str, lookup: ByName) -> str:
    namespace, _, name = nad.partition("/")
    found = lookup(NetworkAttachmentDefinition, namespace, name)
    return found.link if isinstance(found, NetworkAttachmentDefinition) else ""


def _primaries(record: Record, _: ByName) -> Iterable[str]:
    if isinstance(record, NetworkAttachmentDefinition):
        return (primary(record.namespace),) if record.role == "primary" else ()
    if isinstance(record, _VMS):
        return (primary(record.namespace),) if any(text.startswith(" ") for text in record.macs) else ()
    return ()


_OF = (VirtualMachine, VirtualMachineInstance)
_BY_NAD = ((NetworkAttachmentDefinition, INTERFACE),)
# MAC addresses of VMs, as they run and as they start next, and IP addresses that guests report.
MAC_ON_LINK = Index("MAC address on a network", _macs, of=_OF, through=_BY_NAD)
IP_ON_LINK = Index("IP address on a network", _ips, of=(VirtualMachineInstance,), through=_BY_NAD)
# The NADs of a namespace's primary network; VMs with an address on the pod network only listen.
PRIMARY = Index("primary network", _primaries, of=(NetworkAttachmentDefinition, *_OF), dependents=_OF, namespaced=True)


# VMs that are saved in a snapshot or restored from one.


def _saving(record: Record, _: ByName) -> Iterable[str]:
    if isinstance(record, VirtualMachineSnapshot):
        name = record.source if record.active else ""
    elif isinstance(record, VirtualMachineRestore):
        name = record.target if record.active else ""
    else:
        name = record.name if isinstance(record, VirtualMachine) and record.locked_by else ""
    return (vm_key(record.namespace, name),) if name else ()


def _restored_from(record: Record, _: ByName) -> Iterable[str]:
    if isinstance(record, VirtualMachineSnapshot):
        return (vm_key(record.namespace, record.name),)
    restores = isinstance(record, VirtualMachineRestore) and record.active and record.snapshot
    return (vm_key(record.namespace, restores),) if restores else ()


# Snapshots and restores that are in progress, by their VM, and VMs that are locked by one.
SAVING = Index(
    "VM that is saved or restored",
    _saving,
    of=(VirtualMachineSnapshot, VirtualMachineRestore, VirtualMachine),
    namespaced=True,
)
# Snapshots, and the restores in progress of each.
RESTORED_FROM = Index(
    "snapshot that is restored", _restored_from, of=(VirtualMachineSnapshot, VirtualMachineRestore), namespaced=True
)
