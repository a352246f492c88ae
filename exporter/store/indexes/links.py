"""The addresses that interfaces have on a link: a layer-2 network, over NADs and namespaces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...domain.networks.guest_interfaces import parted
from ..index import ByName, Index
from ..kinds.network_attachment_definition import NetworkAttachmentDefinition
from ..kinds.virtual_machine import VirtualMachine
from ..kinds.virtual_machine_instance import VirtualMachineInstance
from ..record import Record
from .networks import INTERFACE, primary

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
