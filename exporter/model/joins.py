"""The values by which objects of a fleet belong together."""

from __future__ import annotations

from collections.abc import Iterable

from .cluster_user_defined_network import ClusterUserDefinedNetwork
from .index import Index, Lookup
from .ipam_claim import IPAMClaim
from .machine_networks import claim_name
from .network_attachment_definition import NetworkAttachmentDefinition
from .pod import Pod
from .record import Record
from .user_defined_network import UserDefinedNetwork
from .virtual_machine import VirtualMachine
from .virtual_machine_instance import VirtualMachineInstance

__all__ = [
    "ADDRESS",
    "ATTACHMENT",
    "CLAIM",
    "CLAIM_NAME",
    "DEFINITION",
    "MACHINE",
    "NETWORK",
    "REFERENCE",
    "address",
    "machine",
    "primary",
    "unreadable",
]


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
    attached = ((_network(definition, lookup), host) for definition, host, _ in record.addresses)
    return {address(network, host) for network, host in attached if network}


def _network(definition: str, lookup: Lookup) -> str:
    """The network that a definition, by its `namespace/name`, stands for."""
    namespace, _, name = definition.partition("/")
    found = lookup(NetworkAttachmentDefinition, namespace, name)
    return found.network if isinstance(found, NetworkAttachmentDefinition) else ""


def _networks(record: Record, lookup: Lookup) -> Iterable[str]:
    if isinstance(record, Pod):
        return {network for definition, _, _ in record.addresses if (network := _network(definition, lookup))}
    if isinstance(record, IPAMClaim | NetworkAttachmentDefinition | UserDefinedNetwork | ClusterUserDefinedNetwork):
        return (record.network,) if record.network else ()
    return ()


def _claims(record: Record, _: Lookup) -> Iterable[str]:
    if isinstance(record, IPAMClaim):
        return (f"{record.namespace}/{record.name}",)
    return record.claims if isinstance(record, Pod) else ()


def _definitions(record: Record, _: Lookup) -> Iterable[str]:
    if isinstance(record, NetworkAttachmentDefinition):
        return (record.network,) if record.readable else (unreadable(record.namespace),)
    if isinstance(record, UserDefinedNetwork | ClusterUserDefinedNetwork):
        return (record.network,)
    return (record.network, unreadable(record.namespace)) if isinstance(record, IPAMClaim) else ()


def _references(record: Record, _: Lookup) -> Iterable[str]:
    if isinstance(record, NetworkAttachmentDefinition):
        own = f"{record.namespace}/{record.name}"
        return (own, primary(record.namespace)) if record.role == "primary" else (own,)
    if isinstance(record, VirtualMachine | VirtualMachineInstance):
        return {definition or primary(record.namespace) for _, definition, _ in record.networks}
    return {definition for definition, _ in record.selections} if isinstance(record, Pod) else ()


def _claim_names(record: Record, _: Lookup) -> Iterable[str]:
    if isinstance(record, IPAMClaim):
        return (f"{record.namespace}/{record.name}",)
    if isinstance(record, VirtualMachine | VirtualMachineInstance):
        return {f"{record.namespace}/{claim_name(record.name, network)}" for network, _, _ in record.networks}
    return ()


def unreadable(namespace: str) -> str:
    """The key of the definitions of a namespace that can't be read: each may be of any network."""
    return f"?{namespace}"


def primary(namespace: str) -> str:
    """The key of a namespace's primary network, to which the pod network of its machines goes."""
    return f"{namespace}/"


MACHINE = Index("machine", _machines)
ATTACHMENT = Index("attachment", _attachments)
ADDRESS = Index("address", _addresses, through=(NetworkAttachmentDefinition, ATTACHMENT))
CLAIM = Index("claim", _claims)
# Of what network a definition is, and which definitions machines refer to; machines and claims only listen.
DEFINITION = Index("definition", _definitions, quiet=(IPAMClaim,))
REFERENCE = Index("reference", _references, quiet=(VirtualMachine, VirtualMachineInstance, Pod))
CLAIM_NAME = Index("claim name", _claim_names)
NETWORK = Index("network", _networks, through=(NetworkAttachmentDefinition, ATTACHMENT))
