"""The networks of a VM, as far as persistent addresses go."""

from __future__ import annotations

import re
from functools import lru_cache
from sys import intern

from ...store.kinds.common.vm_spec import WireDevices, WireVMSpec

VMNetwork = tuple[str, str, bool]
"""Logical name, `namespace/name` of its NAD (empty for the pod network), whether its unplug was requested."""

_TOKEN = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_LONGEST_NAME = 253


# VMs that look alike share one tuple; it is emptied when a fleet of unlike VMs fills it.
_SHARED: dict[tuple[VMNetwork, ...], tuple[VMNetwork, ...]] = {}
_MOST_SHARED = 50_000

_NO_SPEC, _NO_DEVICES = WireVMSpec(), WireDevices()


def networks_of(spec: WireVMSpec | None, namespace: str, *, autoattach: bool = False) -> tuple[VMNetwork, ...]:
    """The networks that can have a claim: Multus ones but the default, and the pod network.

    With `autoattach` a VM without networks and interfaces has the pod network `default`, which KubeVirt adds
    to the VMI alone.
    """
    spec = spec or _NO_SPEC
    devices = (spec.domain and spec.domain.devices) or _NO_DEVICES
    unplugged = {each.name for each in devices.interfaces or () if each and each.state == "absent"}
    found: list[VMNetwork] = []
    for network in spec.networks or ():
        if network is None or not network.name:
            continue
        if network.multus is not None and network.multus.network_name and not network.multus.default:
            nad = network.multus.network_name
            nad = nad if "/" in nad else f"{namespace}/{nad}"
            found.append((intern(network.name), intern(nad), network.name in unplugged))
        elif network.pod is not None:
            found.append((intern(network.name), "", network.name in unplugged))
    if autoattach and not spec.networks and not devices.interfaces and devices.autoattach_pod_interface is not False:
        found.append(("default", "", False))
    if len(_SHARED) > _MOST_SHARED:
        _SHARED.clear()
    made = tuple(found)
    return _SHARED.setdefault(made, made)


@lru_cache(maxsize=1024)  # it is asked for several times while one VM is looked at
def claim_name(vm: str, network: str) -> str:
    """The name of the IPAMClaim of a VM's logical network (`ComposeKey` in ipam-extensions)."""
    return whole_claim_name(vm, network)[:_LONGEST_NAME]


def whole_claim_name(vm: str, network: str) -> str:
    """The same before it is cut to the length that a name may have."""
    return ".".join(_TOKEN.findall(f"{vm}.{network}".lower()))
