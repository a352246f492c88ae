"""The layer-2 network that a NAD attaches to: on one link, two interfaces with one address are in each other's way.

A link is a text of its type and what identifies it, so that NADs of different names and namespaces can be of one link.
Where the configuration does not say which network it is the link is empty: such interfaces are compared with nobody.

- OVN-Kubernetes, layer 2: the network by its name, which the NADs of a CUDN share. A localnet is its physical network
  and VLAN, which several networks may have (docs.ovn.org: a localnet port connects to the bridge mapped to
  `network_name`). Layer 3 has a subnet for each node: such interfaces never meet.
- The plugin `bridge`, KubeVirt's `cnv-bridge`, and `ovs`: a bridge of the node and a VLAN. Bridges of one name on two
  nodes are one network where they have uplinks to it, which no object says: `certain` is false. A trunk carries VLANs
  that the guest picks, and has no link here.
- `sriov` and `macvtap`: what the NAD's own resource is attached to, so the NAD itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_RESERVED = ("default", "ovn-kubernetes")
_BRIDGES = {"bridge": "bridge", "cnv-bridge": "bridge", "ovs": "ovs"}
_OWN = ("sriov", "macvtap")
_OVN = "ovn-k8s-cni-overlay"


def link_of(network: str, config: Mapping[str, Any], home: str) -> str:
    """`config` is that of the plugin, with its keys in lower case; `home` the `namespace/name` of the NAD."""
    plugin = config.get("type")
    if plugin == _OVN:
        return _of_ovn(network, config)
    if plugin in _OWN:
        return f"nad {home}"
    bridge = config.get("bridge")
    if plugin not in _BRIDGES or not _names(bridge) or config.get("vlantrunk") or config.get("trunk"):
        return ""
    vlan = _vlan(config.get("vlan"))
    return f"{_BRIDGES[plugin]} {bridge} {vlan}" if vlan >= 0 else ""


def _of_ovn(network: str, config: Mapping[str, Any]) -> str:
    if not _names(network) or network in _RESERVED:
        return ""
    topology = config.get("topology")
    if topology == "layer2":
        return f"layer2 {network}"
    if topology != "localnet":
        return ""
    physical, vlan = config.get("physicalnetworkname") or network, _vlan(config.get("vlanid"))
    return f"localnet {physical} {vlan}" if _names(physical) and vlan >= 0 else ""


def _names(text: Any) -> bool:
    """Whether it can be part of a link, in which a space divides."""
    return isinstance(text, str) and bool(text) and not any(each.isspace() for each in text)


def _vlan(number: Any) -> int:
    """0 for none, -1 for what is no VLAN."""
    if number is None:
        return 0
    return number if isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 4096 else -1


def certain(link: str) -> bool:
    """Whether what is attached to it meets on any node."""
    return link.startswith(("layer2 ", "localnet "))


def said(link: str) -> str:
    """As a message calls it."""
    kind, _, rest = link.partition(" ")
    if kind in ("layer2", "nad"):
        return f"{'network' if kind == 'layer2' else 'NAD'} {rest}"
    name, _, vlan = rest.rpartition(" ")
    what = {"localnet": "physical network", "bridge": "bridge", "ovs": "OVS bridge"}[kind]
    return f"{what} {name}" + (f", VLAN {vlan}" if vlan != "0" else "")
