"""The networks of a VM, as far as persistent addresses go."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from sys import intern

from .addresses import comparable, host
from .record import Wire
from .vm_spec import WireDevices, WireInterface, WireVMSpec

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


# The addresses of a VM's interfaces, as far as others on the same network can meet them.
#
# Kept are short texts: the NAD (`namespace/name`; empty for the pod network), a space, the address. Of the pod network
# only a MAC address that the spec sets counts, and only where the guest itself is on it: with masquerade and passt all
# guests may have the same. An IP address counts if the guest agent reports it, as the one of its family on an interface
# of the spec: of several one may be a virtual IP, which another guest has at the same time or will have.

_BRIDGED = ("l2bridge", "managedtap")  # binding plugins by which the guest has an interface on the network itself
_LOCAL_SIX = ("fe8", "fe9", "fea", "feb", "ff")  # link-local, multicast


class WireGuestInterface(Wire, frozen=True, gc=False):
    """One of `status.interfaces` of a VMI; without a name it is one that the guest made for itself."""

    name: str | None = None
    mac: str | None = None
    ip_address: str | None = None
    ip_addresses: list[str | None] | None = None
    info_source: str | None = None


Status = Sequence[WireGuestInterface | None] | None


def macs_of(spec: WireVMSpec, networks: Sequence[VMNetwork], status: Status = ()) -> tuple[str, ...]:
    """`networks` as `networks_of` gives them. What a VMI reports comes before what its spec asks for."""
    nads = {name: nad for name, nad, absent in networks if not absent}
    reported = {each.name or "": each.mac for each in status or () if each and each.name}
    devices = (spec.domain and spec.domain.devices) or _NO_DEVICES
    found: dict[str, None] = {}
    for each in devices.interfaces or ():
        name = (each.name or "") if each else ""
        nad = nads.get(name)
        if each is None or nad is None or (not nad and not _bridged(each)):
            continue
        mac = (comparable(reported.get(name)) if nad else "") or comparable(each.mac_address)
        if mac:
            found[f"{nad} {mac}"] = None
    return tuple(found)


def tapped(spec: WireVMSpec, networks: Sequence[VMNetwork]) -> bool:
    """Whether its interface on the pod network is of a binding plugin by which the guest has the pod's address."""
    names = {name for name, nad, absent in networks if not nad and not absent}
    devices = (spec.domain and spec.domain.devices) or _NO_DEVICES
    return any(
        each is not None and each.name in names and each.binding is not None and _bridged(each)
        for each in devices.interfaces or ()
    )


def _bridged(interface: WireInterface) -> bool:
    if interface.binding is not None:
        return interface.binding.name in _BRIDGED
    return interface.bridge is not None


def addresses_of(networks: Sequence[VMNetwork], status: Status) -> tuple[str, ...]:
    """The IP addresses, canonical, of interfaces with a NAD."""
    nads = {name: nad for name, nad, absent in networks if nad and not absent}
    if not nads or not status:
        return ()
    reported = [each for each in status if each and each.name in nads and "guest-agent" in (each.info_source or "")]
    if not reported:
        return ()
    # VLANs and bridges in the guest have the MAC address of the interface below, and the addresses may be theirs.
    alike = Counter(comparable(each.mac) for each in status if each)
    found: dict[str, None] = {}
    for each in reported:
        mac = comparable(each.mac)
        if mac and alike[mac] == 1:
            found |= {f"{nads[each.name or '']} {address}": None for address in _single(each)}
    return tuple(found)


def _single(interface: WireGuestInterface) -> Iterator[str]:
    """Of each family the address, where there is one alone that others can see."""
    texts = interface.ip_addresses or ([interface.ip_address] if interface.ip_address else [])
    hosts = {address for text in texts if text and (address := host(text)) and _global(address)}
    for family in (True, False):
        of_family = [each for each in hosts if (":" in each) is family]
        if len(of_family) == 1:
            yield of_family[0]


def _global(address: str) -> bool:
    """Whether it is neither loopback, link-local, multicast, nor no address."""
    if ":" in address:
        return address not in ("::", "::1") and not address.startswith(_LOCAL_SIX)
    first, _, rest = address.partition(".")
    return first not in ("0", "127") and int(first) < 224 and not (first == "169" and rest.startswith("254."))


def parted(text: str) -> tuple[str, str]:
    """The NAD and the address."""
    nad, _, address = text.rpartition(" ")
    return nad, address
