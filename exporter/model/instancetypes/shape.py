"""What a VM's template sets itself, beside its instancetype and preference.

The paths are those that KubeVirt reports (pkg/instancetype/conflict of kubevirt/kubevirt).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import msgspec

from ..quantity import amount
from ..record import Wire
from ..vm_spec import WireCPU, WireDevices, WireDomain, WireVMSpec

__all__ = ["Shape", "WireTemplate", "shape_of"]

Quantity = str | int | float | None
Amounts = dict[str, Quantity]


class _CPU(WireCPU, frozen=True, gc=False):
    sockets: int | None = None
    cores: int | None = None
    threads: int | None = None
    dedicated_cpu_placement: bool | None = None
    isolate_emulator_thread: bool | None = None
    numa: dict[str, Any] | None = None
    realtime: dict[str, Any] | None = None


class _Memory(Wire, frozen=True, gc=False):
    guest: Quantity = None
    max_guest: Quantity = None
    hugepages: dict[str, Any] | None = None


class _Resources(Wire, frozen=True, gc=False):
    requests: Amounts | None = None
    limits: Amounts | None = None


class _Devices(WireDevices, frozen=True, gc=False):
    gpus: list[Any] | None = None
    host_devices: list[Any] | None = None


class _IOThreads(Wire, frozen=True, gc=False):
    supplemental_pool_thread_count: int | None = None


class _Domain(WireDomain, frozen=True, gc=False):
    cpu: _CPU | None = None
    memory: _Memory | None = None
    resources: _Resources | None = None
    devices: _Devices | None = None
    io_threads_policy: str | None = None
    io_threads: _IOThreads | None = None
    launch_security: dict[str, Any] | None = None


class _Spec(WireVMSpec, frozen=True, gc=False):
    domain: _Domain | None = None
    architecture: str | None = None
    node_selector: dict[str, Any] | None = None
    scheduler_name: str | None = None


class _Meta(Wire, frozen=True, gc=False):
    annotations: dict[str, Any] | None = None


class WireTemplate(Wire, frozen=True, gc=False):
    """The template of a VM, with what an instancetype may provide as well."""

    metadata: _Meta | None = None
    spec: _Spec | None = None


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


_NOTHING = Shape((), 1, 1, 1, 0.0, "", ())
_SHARED: dict[Shape, Shape] = {}
_MOST_SHARED = 50_000


def shape_of(template: WireTemplate | None) -> Shape:
    if template is None:
        return _NOTHING
    spec, meta = template.spec or _Spec(), template.metadata or _Meta()
    domain = spec.domain or _Domain()
    made = Shape(
        tuple(_set(spec, domain)),
        *_topology(domain),
        _memory(domain),
        spec.architecture or "",
        tuple(sorted((key, str(value)) for key, value in (meta.annotations or {}).items())),
    )
    if len(_SHARED) > _MOST_SHARED:
        _SHARED.clear()
    return _SHARED.setdefault(made, made)


def _topology(domain: _Domain) -> tuple[int, int, int]:
    """Sockets, cores and threads."""
    cpu, resources = domain.cpu or _CPU(), domain.resources or _Resources()
    if cpu.sockets or cpu.cores or cpu.threads:
        return cpu.sockets or 0, cpu.cores or 0, cpu.threads or 0
    limits, requests = resources.limits or {}, resources.requests or {}
    wanted = next((each["cpu"] for each in (limits, requests) if each.get("cpu") is not None), 1)
    return math.ceil(_amount(wanted) or 0.0), 1, 1


def _memory(domain: _Domain) -> float | None:
    memory, resources = domain.memory or _Memory(), domain.resources or _Resources()
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


def _set(spec: _Spec, domain: _Domain) -> Iterator[str]:
    """What is there, whoever else provides it; names are those of conflicts.py."""
    cpu, memory = domain.cpu or _CPU(), domain.memory or _Memory()
    resources, devices = domain.resources or _Resources(), domain.devices or _Devices()
    requests, limits = resources.requests or {}, resources.limits or {}
    there = {
        "domain.cpu.sockets": cpu.sockets,
        "domain.cpu.cores": cpu.cores,
        "domain.cpu.threads": cpu.threads,
        "domain.resources.requests.cpu": requests.get("cpu") is not None,
        "domain.resources.limits.cpu": limits.get("cpu") is not None,
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
