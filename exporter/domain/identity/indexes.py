"""What VMs share by their firmware."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...facts.firmware import legacy, serial_key
from ...facts.record import Record
from ...facts.vm_networks import parted
from ...store.index import ByName, Index
from ...store.indexes.networks import INTERFACE, VM, primary, vm_key
from ...store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from ...store.kinds.snapshots import (
    VirtualMachineClone,
    VirtualMachineRestore,
    VirtualMachineSnapshot,
    VirtualMachineSnapshotContent,
)
from ...store.kinds.templates import VirtualMachinePool
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from .identity import identities, owned


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
