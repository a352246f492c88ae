"""The fields that are read of the spec of a VMI, or of a VM's template.

What only matters by being there is taken as whatever it is.
"""

from __future__ import annotations

from sys import intern
from typing import Any

from msgspec import Raw, field

from .firmware import WireFirmware, WireTPM
from .record import Wire

Quantity = str | int | float | None
Anything = Any


class _Multus(Wire, frozen=True, gc=False):
    network_name: str | None = None
    default: bool | None = None


class WireNetwork(Wire, frozen=True, gc=False):
    name: str | None = None
    multus: _Multus | None = None
    pod: dict[str, object] | None = None
    resource_claim: Anything = None


class WireBinding(Wire, frozen=True, gc=False):
    name: str | None = None


class WireInterface(Wire, frozen=True, gc=False):
    name: str | None = None
    state: str | None = None
    mac_address: str | None = None
    bridge: Anything = None
    masquerade: Anything = None
    sriov: Anything = None
    slirp: Anything = None
    passt: Anything = None
    macvtap: Anything = None
    binding: WireBinding | None = None
    passt_binding: Anything = None
    port_ranges: Anything = None


class WireDevice(Wire, frozen=True, gc=False):
    """A GPU or another device of the node."""

    device_name: str | None = None
    claim_name: str | None = None
    request_name: str | None = None


class _Lun(Wire, frozen=True, gc=False):
    reservation: bool | None = None


class WireDisk(Wire, frozen=True, gc=False):
    name: str | None = None
    cdrom: Anything = None
    lun: _Lun | None = None


class _Filesystem(Wire, frozen=True, gc=False):
    name: str | None = None


class WireDevices(Wire, frozen=True, gc=False):
    interfaces: list[WireInterface | None] | None = None
    autoattach_pod_interface: bool | None = None
    autoattach_vsock: bool | None = field(name="autoattachVSOCK", default=None)
    tpm: WireTPM | None = None
    disks: list[WireDisk | None] | None = None
    filesystems: list[_Filesystem | None] | None = None
    gpus: list[WireDevice | None] | None = None
    host_devices: list[WireDevice | None] | None = None
    downward_metrics: Anything = None
    video: Anything = None
    panic_devices: list[Anything] | None = None


class WireNUMA(Wire, frozen=True, gc=False):
    guest_mapping_passthrough: Anything = None


class WireCPUFeature(Wire, frozen=True, gc=False):
    name: str | None = None
    policy: str | None = None


class WireCPU(Wire, frozen=True, gc=False):
    model: str | None = None
    features: list[WireCPUFeature | None] | None = None
    sockets: int | None = None
    cores: int | None = None
    threads: int | None = None
    dedicated_cpu_placement: bool | None = None
    isolate_emulator_thread: bool | None = None
    numa: WireNUMA | None = None
    realtime: Anything = None


class WireMemory(Wire, frozen=True, gc=False):
    guest: Quantity = None
    max_guest: Quantity = None
    hugepages: dict[str, Any] | None = None
    reserved_overhead: Anything = None


class WireResources(Wire, frozen=True, gc=False):
    requests: dict[str, Quantity] | None = None
    limits: dict[str, Quantity] | None = None


class _IOThreads(Wire, frozen=True, gc=False):
    supplemental_pool_thread_count: int | None = None


class _Machine(Wire, frozen=True, gc=False):
    type: str | None = None


class WireFeatures(Wire, frozen=True, gc=False):
    hyperv: dict[str, Any] | None = None


class WireDomain(Wire, frozen=True, gc=False):
    devices: WireDevices | None = None
    firmware: WireFirmware | None = None
    cpu: WireCPU | None = None
    memory: WireMemory | None = None
    resources: WireResources | None = None
    machine: _Machine | None = None
    features: WireFeatures | None = None
    reboot_policy: str | None = None
    io_threads_policy: str | None = None
    io_threads: _IOThreads | None = None
    launch_security: dict[str, Any] | None = None


class WireVolume(Wire, frozen=True, gc=False):
    name: str | None = None
    downward_metrics: Anything = None
    host_disk: Anything = None
    container_disk: Anything = None
    ephemeral: Anything = None
    empty_disk: Anything = None
    persistent_volume_claim: Anything = None
    data_volume: Anything = None
    config_map: Anything = None
    secret: Anything = None
    service_account: Anything = None
    downward_api: Anything = field(name="downwardAPI", default=None)
    container_path: Anything = None


class WireVMSpec(Wire, frozen=True, gc=False):
    networks: list[WireNetwork | None] | None = None
    volumes: list[WireVolume | None] | None = None
    utility_volumes: list[Anything] | None = None
    domain: WireDomain | None = None
    architecture: str | None = None
    node_selector: dict[str, Any] | None = None
    affinity: Raw = Raw()
    tolerations: Raw = Raw()
    scheduler_name: str | None = None
    eviction_strategy: str | None = None
    priority_class_name: str | None = None
    termination_grace_period_seconds: int | None = None


_NO_FIRMWARE, _NO_DEVICES = WireFirmware(), WireDevices()


def sealed_by(domain: WireDomain) -> str:
    """What keeps state of the guest beside its disks; empty if nothing does.

    The state of a TPM is stored under the VM's UUID, so that a new UUID loses it; that of EFI under its name.
    """
    firmware, devices = domain.firmware or _NO_FIRMWARE, domain.devices or _NO_DEVICES
    if devices.tpm is not None and devices.tpm.persistent:
        return "persistent TPM"
    loader = firmware.bootloader
    return "persistent EFI" if loader is not None and loader.efi is not None and loader.efi.persistent else ""


# Volumes that end with the VMI: KubeVirt keeps what the guest writes to them beside the launcher pod
# (docs/storage/disks_and_volumes.md of kubevirt/user-guide). A live migration takes it along.

_FLEETING = (("containerDisk", "container_disk"), ("ephemeral", "ephemeral"), ("emptyDisk", "empty_disk"))


def fleeting_disks(spec: WireVMSpec) -> str:
    """The writable disks whose contents end with the VMI: `root (containerDisk), tmp (emptyDisk)`; empty for none."""
    devices = spec.domain.devices if spec.domain is not None else None
    disks = {each.name: each for each in (devices.disks if devices is not None else None) or () if each is not None}
    found = list[str]()
    for volume in spec.volumes or ():
        disk = disks.get(volume.name) if volume is not None else None
        if volume is not None and disk is not None and disk.cdrom is None:
            found += (f"{disk.name} ({source})" for source, one in _FLEETING if getattr(volume, one) is not None)
    return intern(", ".join(sorted(found)[:_MOST]))


# The PersistentVolumeClaims that the spec of a VMI, or of a VM's template, names.

_MOST = 200  # of one VM: QEMU takes fewer disks, and each of them costs
_LONGEST = 253  # characters of a name: no object has a longer one


def pvcs_of(spec: WireVMSpec) -> str:
    """By their names, in order, with spaces between, which no name has: one text, since each VM has its own, and many;
    a VM and its VMI share it. That of a DataVolume has the DataVolume's name.
    """
    found = set[str]()
    for volume in spec.volumes or ():
        if volume is not None:
            if volume.persistent_volume_claim is not None:
                found.add(_named(volume.persistent_volume_claim, "claimName"))
            if volume.data_volume is not None:
                found.add(_named(volume.data_volume, "name"))
    found.discard("")
    return intern(" ".join(sorted(found)[:_MOST]))


def _named(source: Any, field: str) -> str:
    name = source.get(field) if isinstance(source, dict) else None
    return name if isinstance(name, str) and len(name) <= _LONGEST else ""
