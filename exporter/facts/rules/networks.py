"""Features of interfaces and networks; messages as in pkg/network/admitter of kubevirt/kubevirt."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import TYPE_CHECKING

from ..rule import Asking, Ground, Migrates, Rule, Severities, Stage
from ..vm_spec import WireInterface

if TYPE_CHECKING:  # who makes a ground stands above
    from ...domain.features.configuration import Effective

IMPLICIT = "implicit"
"""The parameter of a VM that has neither networks nor interfaces, and so gets KubeVirt's default."""
ON_POD_NETWORK = "on the pod network"
"""The parameter of an interface without any binding that a preference can bring one to."""

_BINDINGS = attrgetter("bridge", "masquerade", "sriov", "passt_binding", "binding")
_DISCONTINUED = attrgetter("slirp", "passt", "macvtap")


def _by_default(vm: Asking) -> bool:
    return not vm.interfaces and not vm.spec.networks and vm.devices.autoattach_pod_interface is not False


def _bridge(vm: Asking) -> Iterable[str]:
    if _by_default(vm):
        return (IMPLICIT,)
    bridges = {each.name for each in vm.interfaces if each.bridge is not None}
    if not bridges:
        return ()
    on_pod = {each.name for each in vm.spec.networks or () if each is not None and each.pod is not None}
    return () if bridges.isdisjoint(on_pod) else ("",)


def _default(vm: Asking) -> Iterable[str]:
    return ("",) if _by_default(vm) else ()


def _bindings(vm: Asking) -> Iterable[str]:
    return {each.binding.name for each in vm.interfaces if each.binding is not None and each.binding.name}


def _bound_wrongly(vm: Asking) -> Iterable[str]:
    """Where not exactly one binding is given; those that are discontinued have rules of their own."""
    return {_where(vm, each) for each in vm.interfaces if not _bound(each)}


def _bound(interface: WireInterface) -> bool:
    given = sum(each is not None for each in _BINDINGS(interface))
    return given == 1 or (not given and any(each is not None for each in _DISCONTINUED(interface)))


def _where(vm: Asking, interface: WireInterface) -> str:
    if any(each is not None for each in _BINDINGS(interface)):
        return ""
    network = next((each for each in vm.spec.networks or () if each is not None and each.name == interface.name), None)
    return ON_POD_NETWORK if network is not None and network.pod is not None else ""


def _claimed(vm: Asking) -> Iterable[str]:
    for each in vm.spec.networks or ():
        if each is not None and each.resource_claim is not None:
            return ("",)
    return ()


def _having(field: str) -> Callable[[Asking], Iterable[str]]:
    """Of an interface with this field."""
    get = attrgetter(field)

    def asked(vm: Asking) -> Iterable[str]:
        for each in vm.interfaces:
            if get(each) is not None:
                return ("",)
        return ()

    return asked


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


def _until_listed(gate: str) -> Callable[[Effective], Stage]:
    """Where KubeVirt refuses what it has discontinued: before 1.8 an edit too while the gate is not listed, in 1.8 only
    a create, and later an edit again, since such an interface has no binding any more (pkg/network/admitter). Of slirp,
    which has no gate, up to 1.5 a setting decides about edits.
    """

    def stage(configuration: Effective) -> Stage:
        release = configuration.version.release
        if release >= (1, 9) or (release < (1, 8) and gate and gate not in configuration.gates.enabled):
            return Stage.ADMISSION
        slirp = not gate and release < (1, 6) and not configuration.slirp_interface  # network.permitSlirpInterface
        return Stage.ADMISSION if slirp else Stage.CREATION

    return stage


def _not_one(_ground: Ground, _parameter: str) -> str:
    return "KubeVirt takes exactly one binding of each interface since release 1.9"


def _discontinued(_ground: Ground, _parameter: str) -> str:
    return "KubeVirt discontinued it in release 1.3"


# Of bridge-marker and OVS CNI: only the scheduler needs them, and a launcher pod starts without them.
_BRIDGES = ("bridge.network.kubevirt.io/", "ovs-cni.network.kubevirt.io/")


def _not_injected(ground: Ground, resource: str) -> str:
    if ground.injected is not False or resource.startswith(_BRIDGES):
        return ""
    return f"no network resources injector requests {resource} for its launcher pod"


OF_NETWORKS = (
    # Multus or the CNI plugin fails for want of a device, on whichever node the launcher pod comes to (VEP 106).
    Rule(
        "ext_net_inject",
        "a device of its network",
        gate="ExternalNetResourceInjection",
        stage=Stage.SCHEDULING,
        migrates=Migrates.UNSCHEDULABLE,
        refused=_not_injected,
        value="device",
        since=(1, 8),
        severities=Severities(halted="warning"),
        inverted=True,
    ),
)
"""By what VMs ask through their NADs, which no spec shows: `network_requests`."""

RULES = (
    Rule(
        "bridge_on_pod_network",
        "bridge on the pod network",
        _bridge,
        refused=_no_bridge,
        decides=("network.permitBridgeInterfaceOnPodNetwork",),
        allows="Set network.permitBridgeInterfaceOnPodNetwork of KubeVirt to true.",
        message="is not enabled",
        common=True,
    ),
    Rule(
        "default_network_interface",
        "the default interface",
        _default,
        refused=_slirp_by_default,
        decides=("network.defaultNetworkInterface",),
        allows="Set network.defaultNetworkInterface of KubeVirt to masquerade.",
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
        decides=("network.binding",),
        allows="Register {} in network.binding of KubeVirt.",
        value="binding",
        message="couldn't find configuration for network bind",  # up to 1.5 misspelled
        severities=Severities(halted="warning"),
        since=(1, 1),
    ),
    Rule(
        "binding_plugin",
        "network binding plugins at all",
        _having("binding"),
        "NetworkBindingPlugins",
        message="NetworkBindingPlugins feature gate is not enabled",
    ),
    Rule(
        "passt_binding",
        "passt",
        _having("passt_binding"),
        "PasstBinding",
        migrates=Migrates.DEGRADED,
        since=(1, 8),
        message="PasstBinding feature gate is not enabled",
    ),
    Rule(
        "port_ranges",
        "ranges of ports",
        _having("port_ranges"),
        "PortRangesSpec",
        migrates=Migrates.DEGRADED,
        since=(1, 9),
        message="portRanges is specified on interface but the PortRangesSpec feature gate is not enabled",
    ),
    Rule(
        "interface_binding",
        "an interface with no binding or several",
        _bound_wrongly,
        refused=_not_one,
        since=(1, 9),
        message="must have exactly one binding method or binding plugin",
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
        _having("passt"),
        stage=_until_listed("Passt"),
        refused=_discontinued,
        since=(1, 3),
    ),
    Rule(
        "macvtap",
        "the old macvtap binding",
        _having("macvtap"),
        stage=_until_listed("Macvtap"),
        refused=_discontinued,
        since=(1, 3),
    ),
    Rule(
        "slirp",
        "the slirp binding",
        _having("slirp"),
        stage=_until_listed(""),
        refused=_discontinued,
        since=(1, 3),
        message="has been discontinued since v1.3",
    ),
)
