"""The CNI configuration of a NAD, as OVN-Kubernetes and ipam-extensions read it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from sys import intern
from typing import Any

import msgspec

from ...facts.addresses import NONE, Block, blocks, covered, number, overlap, parse_block
from ...facts.nesting import whole
from ...facts.pool import Ranges, by_family, implicit

_ANY = msgspec.json.Decoder()
OVN = "ovn-k8s-cni-overlay"
_JOIN = "100.65.0.0/16,fd99::/64"


@dataclass(frozen=True, slots=True)
class NetConf:
    network: str = ""
    readable: bool = True
    ovn: bool = False
    topology: str = ""
    role: str = "secondary"
    persistent: bool = False  # allowPersistentIPs as ipam-extensions reads it
    kept: bool = False  # allowPersistentIPs as OVN-Kubernetes reads it
    subnets: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    infrastructure: tuple[str, ...] = ()
    reserved: tuple[str, ...] = ()
    gateways: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    raw: dict[str, Any] = field(default_factory=dict)


def read(text: str, home: str) -> NetConf:
    """`home` is the `namespace/name` of the NAD."""
    if not text:
        return NetConf()
    try:
        loaded = whole(text, _ANY)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return NetConf(readable=False, problems=("BadJson",))
    if loaded is None:
        return NetConf()
    if not isinstance(loaded, dict):
        return NetConf(readable=False, problems=("BadJson",))
    return _conf(_folded(loaded), home)


def _folded(loaded: dict[str, Any]) -> dict[str, Any]:
    """Go finds a field by its name in any case, and null leaves it as it was."""
    return {key.lower(): value for key, value in loaded.items() if value is not None}


def _conf(top: dict[str, Any], home: str) -> NetConf:
    plugins = top.get("plugins")
    first = plugins[0] if isinstance(plugins, list) and plugins else None
    inner = {**_folded(first), "name": top.get("name", "")} if isinstance(first, dict) else top
    subnets = tuple(dict.fromkeys(blocks(_listed(inner, "subnets"))))
    conf = NetConf(
        network=_string(top, "name"),
        ovn=_string(inner, "type") == OVN,
        topology=_string(inner, "topology"),
        role=_string(inner, "role") or "secondary",
        persistent=top.get("allowpersistentips") is True,
        kept=inner.get("allowpersistentips") is True,
        subnets=_texts(subnets),
        excludes=_texts(blocks(_listed(inner, "excludesubnets"))),
        infrastructure=_texts(blocks(_listed(inner, "infrastructuresubnets"))),
        reserved=_texts(blocks(_listed(inner, "reservedsubnets"))),
        gateways=tuple(text for text in _listed(inner, "defaultgatewayips") if number(text) != NONE),
        raw=inner,
    )
    found = (*_misread(top), *_unpersisted(conf, inner is not top), *(_refused(conf, home) if conf.ovn else ()))
    return replace(conf, problems=tuple(map(intern, found)))


def _misread(top: dict[str, Any]) -> list[str]:
    """What ipam-extensions can't decode although it is JSON; it then rejects every launcher pod of the namespace."""
    found = []
    if not isinstance(top.get("subnets", ""), str):
        found.append("SubnetsNotString")
    strings = all(isinstance(top.get(key, ""), str) for key in ("name", "role"))
    if not strings or not isinstance(top.get("allowpersistentips", False), bool):
        found.append("BadJson")
    return found


def _unpersisted(conf: NetConf, conflist: bool) -> list[str]:
    """Where persistent IPs are requested and do not work."""
    if not (conf.persistent or conf.kept):
        return []
    if not conf.ovn:
        return ["NotOvn"] if conf.persistent else []
    if conf.persistent != conf.kept:
        return ["Conflist"] if conflist else []
    if conf.topology == "layer3":
        return ["PersistentLayer3"]
    if conf.subnets or _listed(conf.raw, "subnets"):
        return []
    by_topology = {"layer2": ["PersistentWithoutSubnets"], "localnet": ["PersistentLocalnetWithoutSubnets"]}
    return by_topology.get(conf.topology, [])


def _refused(conf: NetConf, home: str) -> list[str]:
    """Why OVN-Kubernetes rejects the NAD, or can't create the network."""
    found = []
    named = _string(conf.raw, "netattachdefname")
    if named != home if named or conf.topology else False:
        found.append("NameMismatch")
    if conf.topology not in ("layer2", "localnet"):
        return found
    subnets, excludes = blocks(conf.subnets), blocks(conf.excludes)
    own, reserved = blocks(conf.infrastructure), blocks(conf.reserved)
    if overlap((*excludes, *reserved, *own)):
        found.append("OverlappingExcludes")
    if not covered(excludes, subnets):
        found.append("ExcludeOutsideSubnets")
    if _exclude_gateway(conf, subnets, excludes, own):
        found.append("ExcludesGateway")
    return found


def _exclude_gateway(
    conf: NetConf, subnets: tuple[Block, ...], excludes: tuple[Block, ...], own: tuple[Block, ...]
) -> bool:
    gateways, excluded = by_family(conf.gateways), Ranges((each.first, each.last) for each in excludes)
    return any(
        value in excluded for subnet in subnets for value in implicit(subnet, gateways, conf.role, conf.topology, own)
    )


# -- what the NADs of one network must agree on

SIGNATURE = (
    "topology",
    "role",
    "allowPersistentIPs",
    "mtu",
    "vlanID",
    "physicalNetworkName",
    "transport",
    "uplink",
    "evpn",
    "outboundSNAT",
    "subnets",
    "joinSubnet",
    "excludeSubnets",
    "reservedSubnets",
    "infrastructureSubnets",
    "transitSubnet",
)
_IF_BOTH = ("mtu", "transitSubnet")  # left out, they get a default that we can't know
_ORDERED = ("excludeSubnets", "reservedSubnets", "infrastructureSubnets", "transitSubnet")


def signature_of(conf: NetConf) -> tuple[str, ...]:
    """One text for each entry of SIGNATURE: parsed, so that spelling does not matter. Empty for other than OVN."""
    return tuple(intern(_signed(conf, key)) for key in SIGNATURE) if conf.ovn else ()


def _signed(conf: NetConf, key: str) -> str:
    value = conf.raw.get(key.lower())
    if key == "role":
        return "primary" if conf.role == "primary" else "secondary"
    if key == "allowPersistentIPs":
        return "true" if conf.kept else "false"
    if key == "subnets":
        return ",".join(sorted(_listed(conf.raw, "subnets") if conf.topology == "layer3" else conf.subnets))
    if key == "joinSubnet":
        return ",".join(sorted(_canonical(conf.raw.get("joinsubnet") or _JOIN)))
    if key in _ORDERED:
        return ",".join(_canonical(value))
    if value in (None, 0, "", False):
        return ""
    if isinstance(value, str):
        return value
    try:
        return msgspec.json.encode(value, order="sorted").decode()
    except RecursionError:
        return "nested too deep to be compared"


def differing(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """The keys in which two signatures do not agree."""
    return tuple(key for key, a, b in zip(SIGNATURE, one, other, strict=True) if a != b and not _agree(key, a, b, one))


def _agree(key: str, a: str, b: str, signature: tuple[str, ...]) -> bool:
    if key in _IF_BOTH:
        return not (a and b)
    if key == "subnets" and signature[0] == "layer3":
        one, other = set(a.split(",")), set(b.split(","))
        return one <= other or other <= one  # subnets may be added to a network of layer 3
    return False


def _string(conf: dict[str, Any], key: str) -> str:
    value = conf.get(key)
    return value if isinstance(value, str) else ""


def _listed(conf: dict[str, Any], key: str) -> list[str]:
    value = conf.get(key)
    texts = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
    return [text.strip() for text in texts if isinstance(text, str) and text.strip()]


def _texts(found: tuple[Block, ...]) -> tuple[str, ...]:
    return tuple(intern(str(block)) for block in found)


def _canonical(value: Any) -> list[str]:
    texts = _listed({"value": value}, "value")
    return [str(block) if (block := parse_block(text)) else text for text in texts]
