"""What a VMI runs with, in the terms of an instancetype: pure.

KubeVirt writes what an instancetype gives into the VMI's spec at its start, and lets nobody else change that spec
(vmi-update-admitter.go in pkg/virt-api/webhooks/validating-webhook/admitters of kubevirt/kubevirt). So a VMI is
evidence of what the instancetype said, as far as its fields can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from exporter.store.text.quantity import amount

from ...effects import ABSENT, at
from .._grounds import table

_PATHS = {
    "cpu/model": "domain/cpu/model",
    "cpu/maxSockets": "domain/cpu/maxSockets",
    "cpu/dedicatedCPUPlacement": "domain/cpu/dedicatedCpuPlacement",
    "cpu/isolateEmulatorThread": "domain/cpu/isolateEmulatorThread",
    "cpu/numa": "domain/cpu/numa",
    "cpu/realtime": "domain/cpu/realtime",
    "memory/guest": "domain/memory/guest",
    "memory/maxGuest": "domain/memory/maxGuest",
    "memory/hugepages": "domain/memory/hugepages",
    "gpus": "domain/devices/gpus",
    "hostDevices": "domain/devices/hostDevices",
    "ioThreadsPolicy": "domain/ioThreadsPolicy",
    "ioThreads": "domain/ioThreads",
    "launchSecurity": "domain/launchSecurity",
    "nodeSelector": "nodeSelector",
    "schedulerName": "schedulerName",
}
_CPUS = "cpu/guest"  # sockets, cores and threads of a VMI multiplied
_NEEDED = (_CPUS, "memory/guest")
_DEFAULTED = ("cpu/model", "cpu/maxSockets", "memory/maxGuest")  # KubeVirt sets these without an instancetype as well


def instancetype_of(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The spec of an instancetype that would give what is in the spec of a VMI, but for what KubeVirt sets anyway."""
    made: dict[str, Any] = {}
    for path, value in _set(spec).items():
        first, _, second = path.partition("/")
        if path not in _DEFAULTED:
            made[first] = {**table(made.get(first)), second: value} if second else value
    return made


def differs(given: Any, spec: Mapping[str, Any], template: Mapping[str, Any]) -> str:
    """Why the spec of an instancetype is none that the VMI can have been started with; empty where it is one.

    `spec` is that of the VMI, `template` that of its VM. What can't be compared differs.
    """
    gives, runs, own = dict(_given(table(given))), _set(spec), _set(template)
    for path in _NEEDED:
        if path not in gives or path not in runs:
            return f"there is no {path.replace('/', '.')} to compare"
    for path, value in gives.items():
        if path != _CPUS and path not in _PATHS:
            return f"its {path.replace('/', '.')} can't be seen in the VMI"
        if not _same(value, runs.get(path)):
            return f"the VMI does not run with its {path.replace('/', '.')}"
    for path in runs:
        if path not in gives and path not in own and path not in _DEFAULTED:
            return f"the VMI runs with a {path.replace('/', '.')} that it does not give"
    return ""


def _given(spec: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in spec.items():
        if name in ("cpu", "memory"):
            yield from ((f"{name}/{each}", found) for each, found in table(value).items() if found)
        elif value:
            yield name, value


def _set(spec: Mapping[str, Any]) -> dict[str, Any]:
    """What is there of all that an instancetype gives."""
    found = {path: at(spec, f"/{place}") for path, place in _PATHS.items()}
    cpus = [at(spec, f"/domain/cpu/{each}") for each in ("sockets", "cores", "threads")]
    counts = [each for each in cpus if isinstance(each, int)]
    if len(counts) == len(cpus):
        found[_CPUS] = counts[0] * counts[1] * counts[2]
    return {path: value for path, value in found.items() if value is not ABSENT and value}


def _same(value: Any, found: Any) -> bool:
    """Whether both are equal; a quantity may be written in two ways."""
    return bool(value == found) or _quantity(value) == _quantity(found) is not None


def _quantity(text: Any) -> float | None:
    try:
        return amount(text) if isinstance(text, str) else None
    except ValueError:
        return None
