"""The fields that are read of the spec of a VMI, or of a VM's template."""

from __future__ import annotations

from .firmware import WireFirmware, WireTPM
from .record import Wire

__all__ = ["WireCPU", "WireDevices", "WireDomain", "WireVMSpec", "sealed_by"]


class _Multus(Wire, frozen=True, gc=False):
    network_name: str | None = None
    default: bool | None = None


class _Network(Wire, frozen=True, gc=False):
    name: str | None = None
    multus: _Multus | None = None
    pod: dict[str, object] | None = None


class _Interface(Wire, frozen=True, gc=False):
    name: str | None = None
    state: str | None = None


class WireDevices(Wire, frozen=True, gc=False):
    interfaces: list[_Interface | None] | None = None
    autoattach_pod_interface: bool | None = None
    tpm: WireTPM | None = None


class WireCPU(Wire, frozen=True, gc=False):
    model: str | None = None


class WireDomain(Wire, frozen=True, gc=False):
    devices: WireDevices | None = None
    firmware: WireFirmware | None = None
    cpu: WireCPU | None = None
    reboot_policy: str | None = None


class WireVMSpec(Wire, frozen=True, gc=False):
    networks: list[_Network | None] | None = None
    domain: WireDomain | None = None
    eviction_strategy: str | None = None
    priority_class_name: str | None = None
    termination_grace_period_seconds: int | None = None


def sealed_by(domain: WireDomain) -> str:
    """What keeps state of the guest beside its disks; empty if nothing does.

    The state of a TPM is stored under the VM's UUID, so that a new UUID loses it; that of EFI under its name.
    """
    firmware, devices = domain.firmware or WireFirmware(), domain.devices or WireDevices()
    if devices.tpm is not None and devices.tpm.persistent:
        return "persistent TPM"
    loader = firmware.bootloader
    return "persistent EFI" if loader is not None and loader.efi is not None and loader.efi.persistent else ""
