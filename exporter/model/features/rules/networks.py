"""Features of interfaces and networks; messages as in pkg/network/admitter of kubevirt/kubevirt."""

from __future__ import annotations

from collections.abc import Iterable

from ...vm_spec import WireDevices, WireDomain, WireInterface, WireNetwork
from ..rule import Asking, Ground, Migrates, Rule, Severities, Stage

__all__ = ["RULES"]

IMPLICIT = "implicit"
"""The parameter of a VM that has neither networks nor interfaces, and so gets KubeVirt's default."""


def _devices(vm: Asking) -> WireDevices:
    return (vm.spec.domain or WireDomain()).devices or WireDevices()


def _interfaces(vm: Asking) -> Iterable[WireInterface]:
    return [each for each in _devices(vm).interfaces or () if each is not None]


def _networks(vm: Asking) -> Iterable[WireNetwork]:
    return [each for each in vm.spec.networks or () if each is not None]


def _once(asked: bool) -> Iterable[str]:
    return ("",) if asked else ()


def _by_default(vm: Asking) -> bool:
    devices = _devices(vm)
    return not devices.interfaces and not vm.spec.networks and devices.autoattach_pod_interface is not False


def _bridge(vm: Asking) -> Iterable[str]:
    if _by_default(vm):
        return (IMPLICIT,)
    on_pod = {each.name for each in _networks(vm) if each.pod is not None}
    return _once(any(each.bridge is not None and each.name in on_pod for each in _interfaces(vm)))


def _default(vm: Asking) -> Iterable[str]:
    return _once(_by_default(vm))


def _bindings(vm: Asking) -> Iterable[str]:
    return {each.binding.name for each in _interfaces(vm) if each.binding is not None and each.binding.name}


def _any_binding(vm: Asking) -> Iterable[str]:
    return _once(any(each.binding is not None for each in _interfaces(vm)))


def _passt_binding(vm: Asking) -> Iterable[str]:
    return _once(any(each.passt_binding is not None for each in _interfaces(vm)))


def _port_ranges(vm: Asking) -> Iterable[str]:
    return _once(any(each.port_ranges is not None for each in _interfaces(vm)))


def _claimed(vm: Asking) -> Iterable[str]:
    return _once(any(each.resource_claim is not None for each in _networks(vm)))


def _passt(vm: Asking) -> Iterable[str]:
    return _once(any(each.passt is not None for each in _interfaces(vm)))


def _macvtap(vm: Asking) -> Iterable[str]:
    return _once(any(each.macvtap is not None for each in _interfaces(vm)))


def _slirp(vm: Asking) -> Iterable[str]:
    return _once(any(each.slirp is not None for each in _interfaces(vm)))


def _no_bridge(ground: Ground, parameter: str) -> str:
    configuration = ground.configuration
    if configuration.bridge_on_pod_network:
        return ""
    if parameter == IMPLICIT and configuration.default_interface != "bridge":
        return ""
    return "network.permitBridgeInterfaceOnPodNetwork is false"


def _slirp_by_default(ground: Ground, _: str) -> str:
    return "network.defaultNetworkInterface is slirp" if ground.configuration.default_interface == "slirp" else ""


def _no_plugin(ground: Ground, binding: str) -> str:
    return "" if binding in ground.configuration.bindings else f"{binding} is not in network.binding"


def _discontinued(_ground: Ground, _parameter: str) -> str:
    return "KubeVirt discontinued it in release 1.3"


RULES = (
    Rule(
        "bridge_on_pod_network",
        "bridge on the pod network",
        _bridge,
        refused=_no_bridge,
        message="Bridge on pod network configuration is not enabled under kubevirt-config",
        common=True,
    ),
    Rule(
        "default_network_interface",
        "the default interface",
        _default,
        refused=_slirp_by_default,
        since=(1, 3),
        message="slirp interface is deprecated as of v1.3",
        common=True,
    ),
    Rule(
        "network_binding",
        "network binding plugins",
        _bindings,
        stage=Stage.POD,
        migrates=Migrates.UNRENDERED,
        refused=_no_plugin,
        message="couldn't find configuration for network binding",
        severities=Severities(halted="warning"),
        since=(1, 1),
    ),
    Rule(
        "binding_plugin",
        "network binding plugins at all",
        _any_binding,
        "NetworkBindingPlugins",
        until=(1, 4),
        message="NetworkBindingPlugins feature gate is not enabled",
    ),
    Rule(
        "passt_binding",
        "passt",
        _passt_binding,
        "PasstBinding",
        migrates=Migrates.DEGRADED,
        since=(1, 8),
        message="PasstBinding feature gate is not enabled",
    ),
    Rule(
        "port_ranges",
        "ranges of ports",
        _port_ranges,
        "PortRangesSpec",
        migrates=Migrates.DEGRADED,
        since=(1, 9),
        message="portRanges is specified on interface but the PortRangesSpec feature gate is not enabled",
    ),
    Rule(
        "net_dra",
        "networks by dynamic resource allocation",
        _claimed,
        "NetworkDevicesWithDRA",
        migrates=Migrates.UNKNOWN,
        since=(1, 9),
        message="contains DRA networks but NetworkDevicesWithDRA feature gate is not enabled",
    ),
    Rule(
        "passt_legacy",
        "the old passt binding",
        _passt,
        stage=Stage.CREATION,
        refused=_discontinued,
        since=(1, 3),
        message="has been discontinued since v1.3",
    ),
    Rule(
        "macvtap",
        "the old macvtap binding",
        _macvtap,
        stage=Stage.CREATION,
        refused=_discontinued,
        since=(1, 3),
        message="has been discontinued since v1.3",
    ),
    Rule(
        "slirp",
        "the slirp binding",
        _slirp,
        stage=Stage.CREATION,
        refused=_discontinued,
        since=(1, 3),
        message="slirp interface is deprecated as of v1.3",
    ),
)
