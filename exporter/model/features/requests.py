"""What a VM asks for with its instancetype and preference applied, as pkg/instancetype/apply of kubevirt/kubevirt does.

An instancetype gives what the template must not set; a preference fills in what was left open. What the two add is made
into a spec of its own, which the same rules look at. Preferences add video and panic devices only in releases in which
both are no feature any more.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ..instancetypes import specs
from ..instancetypes.contributions import contributions
from ..instancetypes.resolving import Find
from ..instancetypes.shape import Shape
from ..kinds.kube_virt import KubeVirt
from ..kinds.virtual_machine import VirtualMachine
from ..remembered import remembered
from ..vm_spec import WireVMSpec
from .asks import asks_of, shared
from .rule import IGNITION, SIDECARS, Asking, Request

__all__ = ["requests_of"]


def requests_of(vm: VirtualMachine, find: Find, kubevirt: KubeVirt | None = None) -> tuple[Request, ...]:
    """As far as KubeVirt can tell what its instancetype and preference say; of one that is missing, without it."""
    if vm.shape is None or not (vm.instancetype or vm.preference):
        return vm.asks
    added = contributions(vm, find, kubevirt)
    if added.instancetype is None and added.preference is None:
        return vm.asks
    return _together(vm.asks, vm.shape, added.texts)


@remembered(20_000)
def _together(own: tuple[Request, ...], shape: Shape, texts: tuple[str | None, str | None]) -> tuple[Request, ...]:
    sized, tuned = texts
    instancetype = specs.instancetype(sized) if sized is not None else None
    preference = specs.preference(tuned) if tuned is not None else None
    more = asks_of(_added(shape, instancetype, preference))
    kept = own if preference is None else _placed(own, shape, preference.preferred_architecture or "")
    # What the template says of its networks it says alone: a spec without any has the default ones.
    return shared(tuple(sorted({*kept, *(request for request in more if request[0] not in _OF_TEMPLATE)})))


_OF_TEMPLATE = ("bridge_on_pod_network", "default_network_interface")


def _placed(own: tuple[Request, ...], shape: Shape, architecture: str) -> tuple[Request, ...]:
    """A hardware type is one of an architecture, which the preference may give."""
    if shape.architecture or not architecture:
        return own
    return tuple((rule, f"{architecture} {kind}" if rule == "emulated_machines" else kind) for rule, kind in own)


def _added(shape: Shape, gives: specs.Instancetype | None, prefers: specs.Preference | None) -> Asking:
    gives, prefers = gives or specs.Instancetype(), prefers or specs.Preference()
    notes = {**(prefers.annotations or {}), **(gives.annotations or {})}
    own = dict(shape.annotations)
    return Asking(
        msgspec.convert(_spec(shape, gives, prefers), WireVMSpec),
        ignition=bool(notes.get(IGNITION)) and IGNITION not in own,
        sidecars=bool(notes.get(SIDECARS)) and SIDECARS not in own,
    )


def _spec(shape: Shape, gives: specs.Instancetype, prefers: specs.Preference) -> dict[str, Any]:
    taken = frozenset(shape.taken)
    firmware, machine = prefers.firmware, prefers.machine
    devices = prefers.devices
    tpm = devices.preferred_tpm if devices is not None and "tpm" not in taken else None
    efi = firmware.preferred_efi if firmware is not None and "bootloader" not in taken else None
    hyperv = (prefers.features and prefers.features.preferred_hyperv) or {}
    security = gives.launch_security if gives.launch_security is not None else prefers.preferred_launch_security
    if "domain.launchSecurity" in shape.set:
        security = {}  # the template's own, whatever it says
    return {
        "architecture": shape.architecture or prefers.preferred_architecture,
        "domain": {
            "cpu": {
                "model": gives.cpu.model,
                "dedicatedCpuPlacement": gives.cpu.dedicated_cpu_placement,
                "isolateEmulatorThread": gives.cpu.isolate_emulator_thread,
                "numa": gives.cpu.numa,
                "realtime": gives.cpu.realtime,
            },
            "devices": {
                "gpus": gives.gpus,
                "hostDevices": gives.host_devices,
                "tpm": {"persistent": tpm.persistent, "enabled": tpm.enabled} if tpm is not None else None,
            },
            "firmware": {"bootloader": {"efi": {"persistent": efi.persistent}}} if efi is not None else None,
            "machine": {"type": machine.preferred_machine_type} if machine and "machine" not in taken else None,
            "features": {"hyperv": {k: v for k, v in hyperv.items() if f"hyperv {k}" not in taken}},
            "launchSecurity": security,
        },
    }
