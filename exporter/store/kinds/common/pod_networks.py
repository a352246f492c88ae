"""What the annotations of a pod say of its networks: which it is attached to, which IPAMClaims it refers to, and which
addresses it has.
"""

from __future__ import annotations

from sys import intern
from typing import NamedTuple

import msgspec
from msgspec import field

from ....domain.networks.addresses import host, prefix
from ...annotations import Faults, Note, read, text
from ...record import Wire

_NETWORKS = "k8s.v1.cni.cncf.io/networks"
_DEFAULT_NETWORK = "v1.multus-cni.io/default-network"
_PRIMARY_CLAIM = "k8s.ovn.org/primary-udn-ipamclaim"
_POD_NETWORKS = "k8s.ovn.org/pod-networks"

GIVEN = (_POD_NETWORKS,)
"""The annotation that says which addresses a pod has."""

SELECTED = (_NETWORKS,)
"""The annotation that says which NADs a pod attaches to."""

REFERRED = (_NETWORKS, _DEFAULT_NETWORK, _PRIMARY_CLAIM)
"""The annotations that say which claims a pod refers to."""


class WireNetworks(Wire, frozen=True, gc=False):
    networks: Note = field(name=_NETWORKS, default=None)
    default_network: Note = field(name=_DEFAULT_NETWORK, default=None)
    primary_claim: Note = field(name=_PRIMARY_CLAIM, default=None)
    pod_networks: Note = field(name=_POD_NETWORKS, default=None)


class PodNetworks(NamedTuple):
    claims: tuple[str, ...]  # `namespace/name`
    selections: tuple[tuple[str, str], ...]  # (`namespace/name` of a NAD, claim or empty)
    addresses: tuple[tuple[str, str, int], ...]  # (`namespace/name` of a NAD, canonical address, prefix length or -1)


class _Selection(msgspec.Struct, frozen=True, gc=False):
    """One element of a network selection annotation."""

    name: str | None = None
    namespace: str | None = None
    claim: str | None = field(name="ipam-claim-reference", default=None)


class _PodNetwork(msgspec.Struct, frozen=True, gc=False):
    ip_addresses: list[str] | None = None
    ip_address: str | None = None


_SELECTIONS = msgspec.json.Decoder(list[_Selection | None])
_GIVEN = msgspec.json.Decoder(dict[str, _PodNetwork | None])


def networks_of(namespace: str, notes: WireNetworks, faults: Faults) -> PodNetworks:
    """What can't be read is added to `faults`, and is empty here."""
    addresses = _addresses(notes.pod_networks, faults)
    selections = _selections(_NETWORKS, notes.networks, faults)
    return PodNetworks(
        _claims(namespace, selections, notes, faults),
        tuple(
            (intern(f"{each.namespace or namespace}/{each.name}"), intern(each.claim or ""))
            for each in selections
            if each.name
        ),
        addresses,
    )


def _selections(name: str, note: Note, faults: Faults) -> list[_Selection]:
    """The elements of a network selection; the comma form and a bare name carry no reference, and are left out.

    Multus takes any other text for JSON.
    """
    if note is None or (isinstance(note, str) and not ("[" in note or "{" in note or '"' in note)):
        return []
    return [each for each in read(name, note, _SELECTIONS, faults) or () if each]


def _claims(namespace: str, selections: list[_Selection], notes: WireNetworks, faults: Faults) -> tuple[str, ...]:
    """The claims it refers to, by any of the three annotations.

    A claim is looked for in the namespace that the selection names; the default network's lives with the pod.
    """
    found = {f"{each.namespace or namespace}/{each.claim}": None for each in selections if each.claim}
    default = _selections(_DEFAULT_NETWORK, notes.default_network, faults)
    found |= {f"{namespace}/{each.claim}": None for each in default if each.claim}
    primary = text(_PRIMARY_CLAIM, notes.primary_claim, faults)
    if primary:
        found[f"{namespace}/{primary}"] = None
    return tuple(found)


def _addresses(note: Note, faults: Faults) -> tuple[tuple[str, str, int], ...]:
    """What the network gave."""
    networks = read(_POD_NETWORKS, note, _GIVEN, faults)
    return tuple(
        (intern("/".join(attachment.split("/")[:2])), host(ip) or ip, prefix(ip))
        for attachment, network in (networks or {}).items()
        if network and attachment != "default"
        for ip in network.ip_addresses or ([network.ip_address] if network.ip_address else ())
    )
