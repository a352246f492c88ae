"""Features of devices: those of the node, and those that KubeVirt makes up."""

from __future__ import annotations

from collections.abc import Iterable

from ..rule import Asking, Ground, Migrates, Rule, Severities, Stage, once
from ..vm_spec import WireDevice


def _claimed(devices: list[WireDevice | None] | None) -> bool:
    """Whether one of them comes by dynamic resource allocation: it has no name of its own."""
    return any(
        each is not None and not each.device_name and (each.claim_name is not None or each.request_name is not None)
        for each in devices or ()
    )


def _names(vm: Asking) -> Iterable[str]:
    both = (*(vm.devices.gpus or ()), *(vm.devices.host_devices or ()))
    return {each.device_name for each in both if each is not None and each.device_name}


def _host_devices(vm: Asking) -> Iterable[str]:
    return once(bool(vm.devices.host_devices))


def _gpus(vm: Asking) -> Iterable[str]:
    return once(vm.devices.gpus is not None)


def _claimed_gpus(vm: Asking) -> Iterable[str]:
    return once(_claimed(vm.devices.gpus))


def _claimed_devices(vm: Asking) -> Iterable[str]:
    return once(_claimed(vm.devices.host_devices))


def _one_vgpu(vm: Asking) -> Iterable[str]:
    gpus = [each for each in vm.devices.gpus or () if each is not None]
    return (gpus[0].device_name,) if len(gpus) == 1 and gpus[0].device_name else ()


def _vsock(vm: Asking) -> Iterable[str]:
    return once(vm.devices.autoattach_vsock is True)


def _video(vm: Asking) -> Iterable[str]:
    return once(vm.devices.video is not None)


def _panic(vm: Asking) -> Iterable[str]:
    return once(bool(vm.devices.panic_devices))


def _unlisted(ground: Ground, device: str) -> str:
    permitted = ground.configuration.permitted_devices
    if permitted is None or device in permitted:
        return ""
    near = ground.configuration.permitted_like(device)
    known = f" ({'permitted are' if len(near) > 1 else 'permitted is'} {' and '.join(near)})" if near else ""
    return f"{device} is not in permittedHostDevices{known}"


def _vgpu(ground: Ground, device: str) -> str:
    configuration = ground.configuration
    if device not in configuration.mediated_devices or configuration.on("VGPULiveMigration"):
        return ""
    return configuration.gates.off("VGPULiveMigration")


_GRACE = frozenset(("10de:2342", "10de:2348", "10de:2941"))  # pkg/util/hardware/grace.go of kubevirt/kubevirt
_GRACE_GATES = ("GraceIOVirtualization", "IOMMUFD", "PCINUMAAwareTopology")


def _grace(ground: Ground, device: str) -> str:
    configuration = ground.configuration
    off = [gate for gate in _GRACE_GATES if not configuration.on(gate)]
    if not off or not _GRACE.intersection(configuration.pci_vendors.get(device, ())):
        return ""
    return configuration.gates.off(off[0])


RULES = (
    Rule(
        "host_devices",
        "devices of the node",
        _host_devices,
        "HostDevices",
        migrates=Migrates.NEVER,
        message="Host Devices feature gate is not enabled in kubevirt-config",
    ),
    Rule("gpu", "GPUs", _gpus, "GPU", migrates=Migrates.NEVER, message="GPU feature gate is not enabled"),
    Rule(
        "gpu_dra",
        "GPUs by dynamic resource allocation",
        _claimed_gpus,
        "GPUsWithDRA",
        migrates=Migrates.NEVER,
        since=(1, 6),
        message="vmi.spec.domain.devices.gpus contains DRA enabled GPUs but feature gate is not enabled",
    ),
    Rule(
        "hostdev_dra",
        "devices by dynamic resource allocation",
        _claimed_devices,
        "HostDevicesWithDRA",
        migrates=Migrates.NEVER,
        since=(1, 8),  # before, nobody asks at admission
        message="vmi.spec.domain.devices.hostDevices contains DRA enabled HostDevices but feature gate is not enabled",
    ),
    Rule(
        "permitted_host_devices",
        "named devices of the node",
        _names,
        stage=Stage.POD,
        # Only one vGPU alone can migrate, and its target would not be rendered.
        migrates=Migrates.UNRENDERED,
        refused=_unlisted,
        decides=("permittedHostDevices",),
        allows="Add {} to permittedHostDevices of KubeVirt.",
        value="device",
        message="is not permitted in permittedHostDevices configuration",
        severities=Severities(halted="warning"),
        nodes=lambda device: (f"resource {device}",),
    ),
    Rule(
        "vgpu_migration",
        "live migration with a vGPU",
        _one_vgpu,
        stage=Stage.LIVE,
        migrates=Migrates.NEVER,
        refused=_vgpu,
        decides=("VGPULiveMigration",),
        value="device",
        since=(1, 9),
        severities=Severities(halted="info", blocked="info", migratable=None, running="info", pending=None),
    ),
    Rule(
        "grace_io",
        "PCI devices, among them NVIDIA Grace GPUs",
        _names,
        migrates=Migrates.NEVER,
        refused=_grace,
        decides=("GraceIOVirtualization", "IOMMUFD", "PCINUMAAwareTopology"),
        allows="Add GraceIOVirtualization, IOMMUFD and PCINUMAAwareTopology to featureGates of KubeVirt.",
        value="device",
        since=(1, 9),
        message="feature gate must be enabled for NVIDIA Grace GPU passthrough resource",
    ),
    Rule(
        "vsock",
        "VSOCK",
        _vsock,
        "VSOCK",
        migrates=Migrates.UNSCHEDULABLE,
        message="VSOCK feature gate is not enabled in kubevirt-config",
        nodes=lambda _: ("resource devices.kubevirt.io/vhost-vsock",),
    ),
    Rule(
        "video",
        "a chosen video device",
        _video,
        "VideoConfig",
        since=(1, 6),
        message="VideoConfig feature gate is not enabled",
    ),
    Rule(
        "panic_devices",
        "panic devices",
        _panic,
        "PanicDevices",
        since=(1, 6),
        message="Panic Devices feature gate is not enabled in kubevirt-config",
    ),
)
