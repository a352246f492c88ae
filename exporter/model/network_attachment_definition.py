"""NetworkAttachmentDefinitions: which network a `namespace/name` that pods attach to stands for."""

from __future__ import annotations

from sys import intern

import msgspec

from .kind import ApiKind
from .record import Record, Wire, WireMeta, identity

__all__ = ["KIND", "NetworkAttachmentDefinition"]


class _Config(msgspec.Struct, frozen=True, gc=False):
    name: str | None = None


class _Spec(Wire, frozen=True, gc=False):
    config: str | None = None


class _NetworkAttachmentDefinition(Wire, frozen=True, gc=False):
    metadata: WireMeta = WireMeta()
    spec: _Spec | None = None


class NetworkAttachmentDefinition(Record, frozen=True, gc=False):
    network: str  # `name` inside spec.config: the identity of the network; empty where it has none or is unreadable


_CONFIG = msgspec.json.Decoder(_Config)


def _reduce(wire: _NetworkAttachmentDefinition) -> NetworkAttachmentDefinition:
    text = wire.spec.config if wire.spec else None
    try:
        network = _CONFIG.decode(text).name or "" if text else ""
    except msgspec.DecodeError:
        network = ""  # the API accepts any text here, and OVN-Kubernetes ignores such a definition too
    return NetworkAttachmentDefinition(*identity(wire.metadata), network=intern(network))


KIND = ApiKind(
    NetworkAttachmentDefinition,
    group="k8s.cni.cncf.io",
    plural="network-attachment-definitions",
    wire=_NetworkAttachmentDefinition,
    reduce=_reduce,
    optional=True,
)
