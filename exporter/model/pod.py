"""Pods: the launcher pods of machines, and every other pod that holds an address of an OVN-Kubernetes network.

Completed pods are left out by the selector: they hold no address any more (ipamclaims part 0). Kept is nothing of a
pod that is neither.
"""

from __future__ import annotations

from sys import intern

import msgspec
from msgspec import field

from .addresses import host
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
    addresses: tuple[tuple[str, str], ...]  # (`namespace/name` of the attachment's definition, canonical address)

    @property
    def machines(self) -> tuple[str, ...]:
        return (self.domain,) if self.domain else ()


_SELECTIONS = msgspec.json.Decoder(list[_Selection | None])
_POD_NETWORKS = msgspec.json.Decoder(dict[str, _PodNetwork | None])


def _claims(namespace: str, notes: _Annotations) -> tuple[str, ...]:
    """The claims it refers to, by any of the three annotations (ipamclaims B.4).

    The comma form of a selection, and a bare name, never carry a reference; text that is no JSON list is one.
    """
    found: dict[str, None] = {}
    for text in (notes.networks, notes.default_network):
        if not text or "ipam-claim-reference" not in text:
            continue
        try:
            selections = _SELECTIONS.decode(text)
        except msgspec.DecodeError:
            continue
        for selection in selections:
            if selection and selection.claim:
                # The default network's claim lives with the pod; its element names the definition's namespace.
                home = namespace if text is notes.default_network else selection.namespace or namespace
                found[f"{home}/{selection.claim}"] = None
    if notes.primary_claim:
        found[f"{namespace}/{notes.primary_claim}"] = None
    return tuple(found)


def _addresses(text: str | None) -> tuple[tuple[str, str], ...]:
    """What the network gave. Raises ValueError for an annotation that can't be read."""
    if not text:
        return ()
    try:
        networks = _POD_NETWORKS.decode(text)
    except msgspec.DecodeError as error:
        raise ValueError(f"annotation k8s.ovn.org/pod-networks: {error}") from error
    return tuple(
        (intern("/".join(attachment.split("/")[:2])), host(ip) or ip)
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
        addresses=addresses,
    )


KIND = ApiKind(
    Pod,
    plural="pods",
    wire=_Pod,
    reduce=_reduce,
    selectors=(("fieldSelector", "status.phase!=Succeeded,status.phase!=Failed"),),
)
