"""`spec.configuration` of a KubeVirt object as it is written: the settings by which VMs can be refused or fail.

Fields as in staging/src/kubevirt.io/api/core/v1/types.go of kubevirt/kubevirt. An empty list, text or map is as good as
absent, as it is for most of them in there. KubeVirt ignores a configuration as a whole in which one value is invalid
(`validateConfig` in pkg/virt-config/configuration.go), and goes on with the last valid one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
from msgspec import field

from ...facts.record import Wire
from ...facts.text_cache import remembered


class Developer(Wire, frozen=True):
    feature_gates: list[str | None] | None = None
    disabled_feature_gates: list[str | None] | None = None
    memory_overcommit: int | None = None
    cpu_allocation_ratio: int | None = None
    pvc_tolerance: int | None = field(name="pvcTolerateLessSpaceUpToPercent", default=None)
    cluster_profiler: bool | None = None
    node_selectors: dict[str, Any] | None = None
    use_emulation: bool | None = None


class NetworkSettings(Wire, frozen=True):
    default_network_interface: str | None = None
    permit_bridge_interface_on_pod_network: bool | None = None
    permit_slirp_interface: bool | None = None
    binding: dict[str, dict[str, Any] | None] | None = None


class Device(Wire, frozen=True):
    resource_name: str | None = None
    pci_vendor_selector: str | None = None
    mdev_name_selector: str | None = None
    external_resource_provider: bool | None = None


class Devices(Wire, frozen=True):
    pci_host_devices: list[Device | None] | None = None
    mediated_devices: list[Device | None] | None = None
    usb: list[Device | None] | None = None


class Switch(Wire, frozen=True):
    enabled: bool | None = None


class Architecture(Wire, frozen=True):
    emulated_machines: list[str | None] | None = None
    machine_type: str | None = None


class _Architectures(Wire, frozen=True):
    amd64: Architecture | None = None
    arm64: Architecture | None = None
    s390x: Architecture | None = None


class _Profile(Wire, frozen=True):
    localhost_profile: str | None = None


class _VMProfile(Wire, frozen=True):
    custom_profile: _Profile | None = None


class _Seccomp(Wire, frozen=True):
    virtual_machine_instance_profile: _VMProfile | None = None


class Selectors(Wire, frozen=True):
    namespace_label_selector: dict[str, Any] | None = None
    virtual_machine_label_selector: dict[str, Any] | None = None


class _Hypervisor(Wire, frozen=True):
    name: str | None = None


class Settings(Wire, frozen=True):
    """What is not set is None, or the default of its section."""

    developer: Developer | None = field(name="developerConfiguration", default=None)
    network: NetworkSettings | None = None
    permitted_host_devices: Devices | None = None
    mediated_devices_configuration: Switch | None = None
    persistent_reservation_configuration: Switch | None = None
    common_instancetypes_deployment: Switch | None = None
    virt_template_deployment: Switch | None = None
    architecture_configuration: _Architectures | None = None
    emulated_machines: list[str | None] | None = None
    machine_type: str | None = None
    cpu_model: str | None = None
    obsolete_cpu_models: dict[str, bool | None] | None = field(name="obsoleteCPUModels", default=None)
    vm_state_storage_class: str | None = None
    image_pull_policy: str | None = None
    seccomp_configuration: _Seccomp | None = None
    hypervisors: list[_Hypervisor | None] | None = None
    changed_block_tracking_label_selectors: Selectors | None = None


_SETTINGS = msgspec.json.Decoder(Settings)


@remembered(most=64)
def settings(configuration: str) -> Settings:
    """Of canonical text. Raises msgspec.DecodeError where a field has another type than KubeVirt's."""
    return _SETTINGS.decode(configuration or "{}")


class Problem(NamedTuple):
    """A value with which KubeVirt ignores the whole configuration: its path below spec.configuration, and why."""

    path: str
    why: str


_INTERFACES = ("", "bridge", "slirp", "masquerade")
_PULL_POLICIES = ("", "Always", "IfNotPresent", "Never")


def problems(of: Settings) -> tuple[Problem, ...]:
    """All of them; a 0 is lost before KubeVirt looks at it and becomes the default."""
    return tuple(_problems(of))


def _problems(of: Settings) -> Iterator[Problem]:
    developer, network = of.developer or Developer(), of.network or NetworkSettings()
    if (ratio := developer.memory_overcommit or 0) < 0:
        yield Problem("developerConfiguration.memoryOvercommit", f"{ratio} is below 0")
    if (ratio := developer.cpu_allocation_ratio or 0) < 0:
        yield Problem("developerConfiguration.cpuAllocationRatio", f"{ratio} is below 0")
    if not 0 <= (percent := developer.pvc_tolerance or 0) <= 100:
        yield Problem("developerConfiguration.pvcTolerateLessSpaceUpToPercent", f"{percent} is not from 0 to 100")
    if (policy := of.image_pull_policy or "") not in _PULL_POLICIES:
        yield Problem("imagePullPolicy", f'"{policy[:60]}" is not one of {", ".join(_PULL_POLICIES[1:])}')
    if (interface := network.default_network_interface or "") not in _INTERFACES:
        yield Problem(
            "network.defaultNetworkInterface", f'"{interface[:60]}" is not one of {", ".join(_INTERFACES[1:])}'
        )
