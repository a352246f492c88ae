"""Fields that a VM's template sets and its instancetype provides: KubeVirt refuses to start or version such a VM.

As pkg/instancetype/apply of kubevirt/kubevirt decides it, in its order. Preferences never conflict: they only fill in.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from ...facts import specs
from ...facts.naming import shortened
from ...facts.quantity import amount
from ...facts.shape import Shape
from ...facts.text_cache import remembered

# How far an instancetype or preference has drifted from the copy that a VM has of it.

_MAPS = ("nodeSelector", "annotations")  # where an empty one, unlike a missing one, conflicts, and a copy has neither
_QUANTITIES = ("memory.guest", "memory.maxGuest", "memory.hugepages.pageSize", "requirements.memory.guest")
LONGEST_PATH = 120  # characters
MOST_PATHS = 100


@remembered()
def differing(before: str, after: str) -> tuple[str, ...]:
    """The paths of the fields that differ between two canonical specs, in order; memory is compared as an amount.

    Of very many the first ones, one more than MOST_PATHS.
    """
    if before == after:
        return ()
    return tuple(islice(_differing(specs.tree(before), specs.tree(after), ""), MOST_PATHS + 1))


def _differing(before: Any, after: Any, path: str) -> Iterator[str]:
    if isinstance(before, dict | type(None)) and isinstance(after, dict | type(None)) and (before or after):
        old, new = before or {}, after or {}
        for key in sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key)):
            below = f"{path}.{key}" if path else key
            yield from _differing(old.get(key), new.get(key), shortened(below, LONGEST_PATH))
    elif path in _MAPS and not before and not after:
        return
    elif before != after and not (path in _QUANTITIES and _equal(before, after)):
        yield path


def _equal(before: Any, after: Any) -> bool:
    try:
        return before is not None and after is not None and amount(before) == amount(after)
    except (ValueError, TypeError):
        return False


_SPEC = "spec.template.spec"
_BY_FIELD = (1, 7)  # before, all of a VM's memory conflicts, and I/O threads are not provided (kubevirt/kubevirt#14685)


@remembered()
def conflicts(shape: Shape, text: str, release: tuple[int, int]) -> tuple[str, ...]:
    """The paths of the fields; `text` is the instancetype's canonical spec. Of an unknown release, which is (0, 0),
    those that conflict in every one.
    """
    gives, early = specs.instancetype(text), (0, 0) < release < _BY_FIELD
    threads = release >= _BY_FIELD
    present = frozenset(shape.set)
    memory = _MEMORY_EARLY if early else _memory(gives)
    found = (*_cpu(gives), *[path for path in memory if path in present][:1], *_rest(gives, threads=threads))
    paths = (f"{_SPEC}.{path}" for path in found if path in present)
    given = gives.annotations or {}
    notes = (
        shortened(f"annotations.{key}", LONGEST_PATH)
        for key, value in shape.annotations
        if given.get(key, value) != value
    )
    return (*paths, *notes)


def _cpu(gives: specs.Instancetype) -> Iterator[str]:
    yield from (
        "domain.resources.requests.cpu",
        "domain.resources.limits.cpu",
        "domain.cpu.sockets",
        "domain.cpu.cores",
        "domain.cpu.threads",
    )
    cpu = gives.cpu
    provided = {
        "domain.cpu.model": cpu.model,
        "domain.cpu.dedicatedCPUPlacement": cpu.dedicated_cpu_placement,
        "domain.cpu.isolateEmulatorThread": cpu.isolate_emulator_thread,
        "domain.cpu.numa": cpu.numa,
        "domain.cpu.realtime": cpu.realtime,
    }
    yield from (path for path, value in provided.items() if value is not None)


# KubeVirt reports only the first one of them.
_REQUESTED = ("domain.resources.requests.memory", "domain.resources.limits.memory")
_MEMORY_EARLY = ("domain.memory", *_REQUESTED)


def _memory(gives: specs.Instancetype) -> tuple[str, ...]:
    memory = gives.memory
    return (
        "domain.memory.guest",
        *(("domain.memory.hugepages",) if memory.hugepages is not None else ()),
        *(("domain.memory.maxGuest",) if memory.max_guest is not None else ()),
        *_REQUESTED,
    )


def _rest(gives: specs.Instancetype, *, threads: bool) -> Iterator[str]:
    pool = gives.io_threads
    provided = {
        "domain.devices.gpus": bool(gives.gpus),
        "domain.devices.hostDevices": bool(gives.host_devices),
        "domain.ioThreadsPolicy": gives.io_threads_policy is not None,
        "domain.ioThreads.supplementalPoolThreadCount": threads
        and pool is not None
        and pool.supplemental_pool_thread_count is not None,
        "domain.launchSecurity": gives.launch_security is not None,
        "nodeSelector": gives.node_selector is not None,
        "schedulerName": bool(gives.scheduler_name),
    }
    return (path for path, value in provided.items() if value)


# What a preference requires of the VM's CPU, memory and architecture, which its webhook only checks at a VM's edit.
#
# As pkg/instancetype/preference/{requirements,validation} of kubevirt/kubevirt check it, with their words.

_ALL = "cores, sockets and threads"
_COUNTED = {
    "threads": ("threads",),
    "cores": ("cores",),
    "sockets": ("sockets",),
    "any": ("cores", "sockets", "threads"),
}
_ACROSS = {
    "SocketsCores": ("sockets", "cores"),
    "CoresThreads": ("cores", "threads"),
    "SocketsCoresThreads": ("sockets", "cores", "threads"),
}
_THREADS_PER_CORE = 2


@remembered()
def unmet(shape: Shape, preference: str, instancetype: str | None, release: tuple[int, int]) -> str:
    """The first requirement that is not met, as KubeVirt's webhook words it; empty where all are. Both texts are
    canonical specs. Where the template conflicts with the instancetype the webhook gets no further than its spread.
    """
    wants = specs.preference(preference)
    gives = specs.instancetype(instancetype) if instancetype is not None else None
    if spread := _spread(wants, gives):
        return spread
    if instancetype is not None and conflicts(shape, instancetype, release):
        return ""
    return _required_cpu(shape, wants, gives) or _required_memory(shape, wants, gives) or _arch(shape, wants)


def topology(wants: specs.Preference) -> str:
    """One of sockets, cores, threads, spread, any; the deprecated names mean the same."""
    written = (wants.cpu and wants.cpu.preferred_cpu_topology) or "sockets"
    return written.removeprefix("prefer").lower()


def _options(wants: specs.Preference) -> tuple[int, str]:
    """Ratio and what the vCPUs are spread across."""
    options = wants.cpu.spread_options if wants.cpu is not None else None
    ratio = wants.prefer_spread_socket_to_core_ratio or 2
    if options is None:
        return ratio, "SocketsCores"
    return ratio if options.ratio is None else options.ratio, options.across or "SocketsCores"


def _spread(wants: specs.Preference, gives: specs.Instancetype | None) -> str:
    if gives is None or topology(wants) != "spread":
        return ""
    ratio, across = _options(wants)
    given = gives.cpu.guest or 0
    threads = across == "SocketsCoresThreads"
    divisors = _THREADS_PER_CORE * ratio if threads else ratio
    if divisors <= 0 or given % divisors == 0:
        return ""
    by = {
        "SocketsCores": f"the spread ratio of {ratio}",
        "CoresThreads": f"the number of threads per core {ratio}",
        "SocketsCoresThreads": f"the number of threads per core {_THREADS_PER_CORE} and the spread ratio of {ratio}",
    }
    return f"{given} vCPUs provided by the instance type are not divisible by {by[across]}" if across in by else ""


def _required_cpu(shape: Shape, wants: specs.Preference, gives: specs.Instancetype | None) -> str:
    required = wants.requirements.cpu if wants.requirements is not None else None
    if required is None:
        return ""
    least = required.guest or 0
    if gives is not None:
        given = gives.cpu.guest or 0
        short = (
            f"insufficient CPU resources of {given} vCPU provided by instance type, preference requires {least} vCPU"
        )
        return short if given < least else ""
    kind = topology(wants)
    across = _options(wants)[1]
    counted = _ACROSS.get(across, ()) if kind == "spread" else _COUNTED.get(kind, ())
    if not counted:
        return ""
    given = 1
    for name in counted:
        given *= getattr(shape, name)
    where = across if kind == "spread" else _ALL if kind == "any" else kind
    short = f"insufficient CPU resources of {given} vCPU provided by VirtualMachine, preference requires {least} vCPU"
    return f"{short} provided as {where}" if given < least else ""


def _required_memory(shape: Shape, wants: specs.Preference, gives: specs.Instancetype | None) -> str:
    required = wants.requirements.memory if wants.requirements is not None else None
    if required is None:
        return ""
    given = amount(gives.memory.guest) if gives is not None and not shape.memory else shape.memory
    if given is None or given >= amount(required.guest):
        return ""
    if gives is None:
        return f"insufficient Memory resources provided by VirtualMachine, preference requires {required.guest}"
    return f"insufficient Memory resources provided by instance type, preference requires {required.guest}"


def _arch(shape: Shape, wants: specs.Preference) -> str:
    """A VM without an architecture gets KubeVirt's default from the webhook, which is not known here."""
    required = wants.requirements.architecture if wants.requirements is not None else None
    if required is None or shape.architecture in ("", required):
        return ""
    return f"preference requires architecture {required} but {shape.architecture} is being requested"
