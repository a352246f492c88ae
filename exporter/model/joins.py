"""The values by which objects of a fleet belong together."""

from __future__ import annotations

from collections.abc import Iterable

from .index import Index, Lookup
from .ipam_claim import IPAMClaim
from .network_attachment_definition import NetworkAttachmentDefinition
from .pod import Pod
from .record import Record

__all__ = ["ADDRESS", "ATTACHMENT", "CLAIM", "MACHINE", "address", "machine"]


def machine(namespace: str, name: str) -> str:
    """The key of a machine: what belongs to one VirtualMachine or stand-alone VirtualMachineInstance."""
    return f"{namespace}/{name}"


def address(network: str, host: str) -> str:
    """The key of an address: networks are isolated from each other, so it counts within one."""
    return f"{network} {host}"


def _machines(record: Record, _: Lookup) -> Iterable[str]:
    return [machine(record.namespace, name) for name in record.machines]


def _attachments(record: Record, _: Lookup) -> Iterable[str]:
    return {definition for definition, _, _ in record.addresses} if isinstance(record, Pod) else ()


def _addresses(record: Record, lookup: Lookup) -> Iterable[str]:
    if isinstance(record, IPAMClaim):
        return {address(record.network, host) for host in record.hosts} if record.network else ()
    if not isinstance(record, Pod):
        return ()
    keys = set()
    for definition, host, _ in record.addresses:
        namespace, _, name = definition.partition("/")
        found = lookup(NetworkAttachmentDefinition, namespace, name)
        if isinstance(found, NetworkAttachmentDefinition) and found.network:
            keys.add(address(found.network, host))
    return keys


def _claims(record: Record, _: Lookup) -> Iterable[str]:
    if isinstance(record, IPAMClaim):
        return (f"{record.namespace}/{record.name}",)
    return record.claims if isinstance(record, Pod) else ()


MACHINE = Index("machine", _machines)
ATTACHMENT = Index("attachment", _attachments)
ADDRESS = Index("address", _addresses, through=(NetworkAttachmentDefinition, ATTACHMENT))
CLAIM = Index("claim", _claims)
