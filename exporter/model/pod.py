"""Pods: the launcher pods of machines, and every other pod that holds an address of an OVN-Kubernetes network.

Completed pods are left out by the selector: they hold no address any more (ipamclaims part 0). Kept is nothing of a
pod that is neither.
"""

from __future__ import annotations

from sys import intern

import msgspec
from msgspec import field

from .addresses import host, prefix
from .cidr import number
from .kind import ApiKind
from .record import Record, Wire, WireMeta, epoch, identity

__all__ = ["KIND", "Pod"]


class _Labels(Wire, frozen=True, gc=False):
    role: str | None = field(name="kubevirt.io", default=None)
    created_by: str | None = field(name="kubevirt.io/created-by", default=None)


class _Annotations(Wire, frozen=True, gc=False):
    domain: str | None = field(name="kubevirt.io/domain", default=None)
    networks: str | None = field(name="k8s.v1.cni.cncf.io/networks", default=None)
    default_network: str | None = field(name="v1.multus-cni.io/default-network", default=None)
    primary_claim: str | None = field(name="k8s.ovn.org/primary-udn-ipamclaim", default=None)
    pod_networks: str | None = field(name="k8s.ovn.org/pod-networks", default=None)


class _Meta(WireMeta, frozen=True, gc=False):
    labels: _Labels | None = None
    annotations: _Annotations | None = None


class _Spec(Wire, frozen=True, gc=False):
    node_name: str | None = None


class _Status(Wire, frozen=True, gc=False):
    phase: str | None = None


class _Pod(Wire, frozen=True, gc=False):
    metadata: _Meta = _Meta()
    spec: _Spec | None = None
    status: _Status | None = None


class _Selection(msgspec.Struct, frozen=True, gc=False):
    """One element of a network selection annotation."""

    name: str | None = None
    namespace: str | None = None
    claim: str | None = field(name="ipam-claim-reference", default=None)


class _PodNetwork(msgspec.Struct, frozen=True, gc=False):
    ip_addresses: list[str] | None = None
    ip_address: str | None = None


class Pod(Record, frozen=True, gc=False):
    created: float | None
    deleting: float | None
    phase: str
    node: str
    domain: str  # the VMI's name, of a launcher pod; empty of any other
    vmi_uid: str
    claims: tuple[str, ...]  # `namespace/name` of the IPAMClaims that it refers to
    selections: tuple[tuple[str, str], ...]  # (`namespace/name` of a definition it attaches to, claim or empty)
    # (`namespace/name` of the attachment's definition, canonical address, prefix length or -1)
    addresses: tuple[tuple[str, str, int], ...]
    numbers: tuple[int, ...]  # the addresses as integers (cidr.py), in their order

    @property
    def machines(self) -> tuple[str, ...]:
        return (self.domain,) if self.domain else ()


_SELECTIONS = msgspec.json.Decoder(list[_Selection | None])
_POD_NETWORKS = msgspec.json.Decoder(dict[str, _PodNetwork | None])


def _selections(text: str | None) -> list[_Selection]:
    """The elements of a network selection; the comma form and a bare name carry no reference, and are left out."""
    if not text or not text.lstrip().startswith("["):
        return []
    try:
        return [selection for selection in _SELECTIONS.decode(text) if selection]
    except msgspec.DecodeError:
        return []


def _selected(namespace: str, notes: _Annotations) -> tuple[tuple[str, str], ...]:
    return tuple(
        (intern(f"{each.namespace or namespace}/{each.name}"), each.claim or "")
        for each in _selections(notes.networks)
        if each.name
    )


def _claims(namespace: str, notes: _Annotations) -> tuple[str, ...]:
    """The claims it refers to, by any of the three annotations (ipamclaims B.4).

    A claim is looked for in the namespace that the selection names; the default network's lives with the pod.
    """
    found = {f"{each.namespace or namespace}/{each.claim}": None for each in _selections(notes.networks) if each.claim}
    found |= {f"{namespace}/{each.claim}": None for each in _selections(notes.default_network) if each.claim}
    if notes.primary_claim:
        found[f"{namespace}/{notes.primary_claim}"] = None
    return tuple(found)


def _addresses(text: str | None) -> tuple[tuple[str, str, int], ...]:
    """What the network gave. Raises ValueError for an annotation that can't be read."""
    if not text:
        return ()
    try:
        networks = _POD_NETWORKS.decode(text)
    except msgspec.DecodeError as error:
        raise ValueError(f"annotation k8s.ovn.org/pod-networks: {error}") from error
    return tuple(
        (intern("/".join(attachment.split("/")[:2])), host(ip) or ip, prefix(ip))
        for attachment, network in networks.items()
        if network and attachment != "default"
        for ip in network.ip_addresses or ([network.ip_address] if network.ip_address else ())
    )


def _reduce(wire: _Pod) -> Pod | None:
    meta = wire.metadata
    notes, labels = meta.annotations or _Annotations(), meta.labels or _Labels()
    launcher = labels.role == "virt-launcher"
    addresses = _addresses(notes.pod_networks)
    fields = identity(meta)
    claims = _claims(fields[0], notes)
    phase = (wire.status and wire.status.phase) or ""
    if phase in ("Succeeded", "Failed") or not (launcher or addresses or claims):
        return None
    return Pod(
        *fields,
        created=epoch(meta.creation_timestamp),
        deleting=epoch(meta.deletion_timestamp),
        phase=intern(phase),
        node=intern((wire.spec and wire.spec.node_name) or ""),
        domain=(notes.domain or "") if launcher else "",
        vmi_uid=labels.created_by or "",
        claims=claims,
        selections=_selected(fields[0], notes) if launcher else (),
        addresses=addresses,
        numbers=tuple(number(host) for _, host, _ in addresses),
    )


KIND = ApiKind(
    Pod,
    plural="pods",
    wire=_Pod,
    reduce=_reduce,
    selectors=(("fieldSelector", "status.phase!=Succeeded,status.phase!=Failed"),),
)
