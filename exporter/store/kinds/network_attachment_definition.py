"""NetworkAttachmentDefinitions: which network a `namespace/name` that pods attach to stands for, and how it is set up.

OVN-Kubernetes and KubeVirt's ipam-extensions each parse `spec.config` in their own way: OVN-Kubernetes takes the first
entry of `plugins` where there is such a list, ipam-extensions the top level alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from sys import intern

from msgspec import field

from ...facts.annotations import Note
from ...facts.pool import Pool, link_of
from ...facts.record import Record, Wire, WireMeta, WireOwner, epoch, identity
from ..kind import ApiKind
from .net_conf import NetConf, differing, read, signature_of

__all__ = ["KIND", "NetworkAttachmentDefinition", "differing", "pool_of", "ruling"]


class _Annotations(Wire, frozen=True, gc=False):
    network_id: Note = field(name="k8s.ovn.org/network-id", default=None)
    resource: Note = field(name="k8s.v1.cni.cncf.io/resourceName", default=None)


class _Labels(Wire, frozen=True, gc=False):
    user_defined: str | None = field(name="k8s.ovn.org/user-defined-network", default=None)


class _Meta(WireMeta, frozen=True, gc=False):
    annotations: _Annotations | None = None
    labels: _Labels | None = None
    owner_references: list[WireOwner | None] | None = None
    finalizers: list[str | None] | None = None


class _Spec(Wire, frozen=True, gc=False):
    config: str | None = None


class _NetworkAttachmentDefinition(Wire, frozen=True, gc=False):
    metadata: _Meta = _Meta()
    spec: _Spec | None = None


class NetworkAttachmentDefinition(Record, frozen=True, gc=False):
    network: str  # `name` inside spec.config: the identity of the network; empty where it has none or is unreadable
    readable: bool  # the configuration is empty, or a JSON object
    ovn: bool  # of the type ovn-k8s-cni-overlay
    topology: str
    role: str  # primary or secondary
    persistent: bool  # allowPersistentIPs as ipam-extensions reads it: it creates IPAMClaims
    effective: bool  # OVN-Kubernetes honours IPAMClaims, as far as this NAD says
    subnets: tuple[str, ...]  # these and the following ranges in canonical form, in their order
    excludes: tuple[str, ...]
    infrastructure: tuple[str, ...]
    reserved: tuple[str, ...]
    gateways: tuple[str, ...]
    accepted: bool  # OVN-Kubernetes wrote the network's ID here
    made_by: str  # UserDefinedNetwork, ClusterUserDefinedNetwork, or empty
    problems: tuple[str, ...]  # reasons of the check ipam_namespaces that this NAD alone shows
    signature: tuple[str, ...]  # what NADs of one network must agree on; compare with `differing`
    link: str  # the layer-2 network that it attaches to (pool.py); empty where it does not tell
    deleting: float | None
    finalizers: tuple[str, ...]
    ipam: str  # the plugin that gives out its addresses; empty for none, and for OVN-Kubernetes
    resource: str  # that a node has to offer to pods on it, such as a device; empty for none

    @property
    def shared(self) -> bool:
        """Whether its network is one of OVN-Kubernetes that may have other NADs too."""
        return self.ovn and bool(self.network and self.topology) and self.network not in _RESERVED

    @property
    def rejected(self) -> bool:
        """Whether OVN-Kubernetes rejects it, and may still run its earlier configuration."""
        return not _REJECTING.isdisjoint(self.problems)


_RESERVED = ("default", "ovn-kubernetes")
_REJECTING = frozenset(("NameMismatch", "ExcludeOutsideSubnets", "PersistentLayer3"))
_MAKERS = ("UserDefinedNetwork", "ClusterUserDefinedNetwork")


def pool_of(nad: NetworkAttachmentDefinition) -> Pool:
    return _pool(nad.subnets, nad.excludes, nad.infrastructure, nad.reserved, nad.gateways, nad.role, nad.topology)


def ruling(nads: Iterable[NetworkAttachmentDefinition]) -> NetworkAttachmentDefinition | None:
    """Of several NADs of one network the one that is most likely in effect.

    One that OVN-Kubernetes has accepted and does not reject, configured like most of those; else the first by name.
    """
    shared = [each for each in nads if each.shared]
    accepted = [each for each in shared if each.accepted and not each.rejected] or shared
    if not accepted:
        return None
    alike = Counter(each.signature for each in accepted)
    return min(accepted, key=lambda each: (-alike[each.signature], each.namespace, each.name))


@lru_cache(maxsize=4096)  # NADs of one network share it
def _pool(
    subnets: tuple[str, ...],
    excludes: tuple[str, ...],
    infrastructure: tuple[str, ...],
    reserved: tuple[str, ...],
    gateways: tuple[str, ...],
    role: str,
    topology: str,
) -> Pool:
    return Pool(subnets, excludes, infrastructure, reserved, gateways, role=role, topology=topology)


def _reduce(wire: _NetworkAttachmentDefinition) -> NetworkAttachmentDefinition:
    meta = wire.metadata
    fields = identity(meta)
    conf = read((wire.spec and wire.spec.config) or "", f"{fields[0]}/{fields[1]}")
    return NetworkAttachmentDefinition(
        *fields,
        network=intern(conf.network),
        readable=conf.readable,
        ovn=conf.ovn,
        topology=intern(conf.topology),
        role=intern(conf.role),
        persistent=conf.persistent,
        effective=_effective(conf),
        subnets=conf.subnets,
        excludes=conf.excludes,
        infrastructure=conf.infrastructure,
        reserved=conf.reserved,
        gateways=conf.gateways,
        accepted=bool(meta.annotations and meta.annotations.network_id),
        made_by=_made_by(meta),
        problems=conf.problems,
        signature=signature_of(conf),
        link=intern(link_of(conf.network, conf.raw, f"{fields[0]}/{fields[1]}")),
        deleting=epoch(meta.deletion_timestamp),
        finalizers=tuple(intern(each) for each in meta.finalizers or () if each),
        ipam=intern(_ipam(conf)),
        resource=intern(resource)
        if meta.annotations and isinstance(resource := meta.annotations.resource, str)
        else "",
    )


def _ipam(conf: NetConf) -> str:
    ipam = conf.raw.get("ipam")
    plugin = ipam.get("type") if isinstance(ipam, dict) else None
    return plugin if isinstance(plugin, str) else ""


def _effective(conf: NetConf) -> bool:
    kept = conf.topology == "layer2" or (conf.topology == "localnet" and conf.role != "primary")
    return (
        conf.ovn
        and conf.persistent
        and conf.kept
        and kept
        and bool(conf.subnets)
        and _REJECTING.isdisjoint(conf.problems)
    )


def _made_by(meta: _Meta) -> str:
    owners = [owner.kind or "" for owner in meta.owner_references or () if owner and _of_ovn(owner)]
    made = [kind for kind in owners if kind in _MAKERS]
    if made:
        return intern(made[0])
    labelled = meta.labels is not None and meta.labels.user_defined is not None
    return "UserDefinedNetwork" if labelled else ""


def _of_ovn(owner: WireOwner) -> bool:
    return (owner.api_version or "").partition("/")[0] == "k8s.ovn.org"


KIND = ApiKind(
    NetworkAttachmentDefinition,
    group="k8s.cni.cncf.io",
    plural="network-attachment-definitions",
    wire=_NetworkAttachmentDefinition,
    reduce=_reduce,
    optional=True,
)
NetworkAttachmentDefinition.KIND = KIND
