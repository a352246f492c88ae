"""What a VM's template sets itself, beside its instancetype and preference.

The paths are those that KubeVirt reports (pkg/instancetype/conflict of kubevirt/kubevirt).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from sys import intern
from typing import Any

import msgspec

from .firmware import WireFirmware
from .naming import shortened
from .quantity import amount
from .record import Wire
from .text_cache import remembered
from .vm_spec import WireCPU, WireDevices, WireDomain, WireMemory, WireResources, WireVMSpec

Quantity = str | int | float | None


class _Meta(Wire, frozen=True, gc=False):
    annotations: dict[str, Any] | None = None


class WireShapeTemplate(Wire, frozen=True, gc=False):
    """The template of a VM, with what an instancetype may provide as well."""

    metadata: _Meta | None = None
    spec: WireVMSpec | None = None


class Shape(msgspec.Struct, frozen=True, gc=False):
    """Equal ones are shared. Topology and memory (in bytes, 0 for none, None for what can't be read) are as KubeVirt
    defaults them where no instancetype gives them (pkg/defaults of kubevirt/kubevirt).
    """

    set: tuple[str, ...]  # paths of fields that an instancetype may provide as well
    sockets: int
    cores: int
    threads: int
    memory: float | None
    architecture: str
    annotations: tuple[tuple[str, str], ...]
    taken: tuple[str, ...] = ()  # what a preference would fill in and the template has


_NOTHING = Shape((), 1, 1, 1, 0.0, "", ())


def shape_of(template: WireShapeTemplate | None) -> Shape:
    if template is None:
        return _NOTHING
    spec, meta = template.spec or WireVMSpec(), template.metadata or _Meta()
    domain = spec.domain or WireDomain()
    made = Shape(
        tuple(_set(spec, domain)),
        *_topology(domain),
        _memory(domain),
        shortened(spec.architecture or ""),
        tuple(sorted((key, str(value)) for key, value in (meta.annotations or {}).items())),
        tuple(_taken(domain)),
    )
    return _shared(made)


@remembered(50_000)
def _shared(made: Shape) -> Shape:
    return made


def _taken(domain: WireDomain) -> Iterator[str]:
    """As in pkg/instancetype/preference/apply, as far as features go."""
    devices, firmware = domain.devices or WireDevices(), domain.firmware or WireFirmware()
    loader = firmware.bootloader
    if devices.tpm is not None:
        yield "tpm"
    if devices.autoattach_pod_interface is not None:
        yield "autoattachPodInterface"
    if loader is not None and (loader.efi is not None or loader.bios is not None):
        yield "bootloader"
    hyperv = (domain.features and domain.features.hyperv) or {}
    yield from (f"hyperv {intern(name)}" for name, flag in sorted(hyperv.items()) if flag is not None)


def _topology(domain: WireDomain) -> tuple[int, int, int]:
    """Sockets, cores and threads."""
    cpu, resources = domain.cpu or WireCPU(), domain.resources or WireResources()
    if cpu.sockets or cpu.cores or cpu.threads:
        return cpu.sockets or 0, cpu.cores or 0, cpu.threads or 0
    limits, requests = resources.limits or {}, resources.requests or {}
    wanted = next((each["cpu"] for each in (limits, requests) if each.get("cpu") is not None), 1)
    return math.ceil(_amount(wanted) or 0.0), 1, 1


def _memory(domain: WireDomain) -> float | None:
    memory, resources = domain.memory or WireMemory(), domain.resources or WireResources()
    if memory.guest is not None:
        return _amount(memory.guest)
    asked = _amount((resources.requests or {}).get("memory")) or _amount((resources.limits or {}).get("memory"))
    pages = (memory.hugepages or {}).get("pageSize")
    return asked or (_amount(pages) if isinstance(pages, str) else 0.0)


def _amount(text: Quantity) -> float | None:
    """None for what is no quantity, which only a dump can hold: that must not cost the VM's other facts."""
    try:
        return amount(text)
    except ValueError:
        return None


def _set(spec: WireVMSpec, domain: WireDomain) -> Iterator[str]:
    """What is there, whoever else provides it; names are those of conflicts.py."""
    cpu, memory = domain.cpu or WireCPU(), domain.memory or WireMemory()
    resources, devices = domain.resources or WireResources(), domain.devices or WireDevices()
    requests, limits = resources.requests or {}, resources.limits or {}
    there = {
        "domain.cpu.sockets": cpu.sockets,
        "domain.cpu.cores": cpu.cores,
        "domain.cpu.threads": cpu.threads,
        "domain.resources.requests.cpu": requests.get("cpu") is not None,
        "domain.resources.limits.cpu": limits.get("cpu") is not None,
        "domain.memory": domain.memory is not None,
        "domain.memory.guest": memory.guest is not None,
        "domain.resources.requests.memory": requests.get("memory") is not None,
        "domain.resources.limits.memory": limits.get("memory") is not None,
        "domain.cpu.model": cpu.model,
        "domain.cpu.dedicatedCPUPlacement": cpu.dedicated_cpu_placement,
        "domain.cpu.isolateEmulatorThread": cpu.isolate_emulator_thread,
        "domain.cpu.numa": cpu.numa is not None,
        "domain.cpu.realtime": cpu.realtime is not None,
        "domain.memory.hugepages": memory.hugepages is not None,
        "domain.memory.maxGuest": memory.max_guest is not None,
        "domain.devices.gpus": devices.gpus,
        "domain.devices.hostDevices": devices.host_devices,
        "domain.ioThreadsPolicy": domain.io_threads_policy is not None,
        "domain.ioThreads.supplementalPoolThreadCount": domain.io_threads is not None
        and domain.io_threads.supplemental_pool_thread_count is not None,
        "domain.launchSecurity": domain.launch_security is not None,
        "nodeSelector": spec.node_selector is not None,
        "schedulerName": spec.scheduler_name,
    }
    return (path for path, given in there.items() if given)
