"""What a preference requires of the VM's CPU, memory and architecture, which its webhook only checks at a VM's edit.

As pkg/instancetype/preference/{requirements,validation} of kubevirt/kubevirt check it, with their words.
"""

from __future__ import annotations

from ...store.text.quantity import amount
from ...store.text.text_cache import remembered
from . import specs
from .conflicts import conflicts
from .shape import Shape

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
def unmet(shape: Shape, preference: str, instancetype: str | None) -> str:
    """The first requirement that is not met, as KubeVirt's webhook words it; empty where all are. Both texts are
    canonical specs. Where the template conflicts with the instancetype the webhook gets no further than its spread.
    """
    wants = specs.preference(preference)
    gives = specs.instancetype(instancetype) if instancetype is not None else None
    if spread := _spread(wants, gives):
        return spread
    if instancetype is not None and conflicts(shape, instancetype):
        return ""
    return _cpu(shape, wants, gives) or _memory(shape, wants, gives) or _arch(shape, wants)


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


def _cpu(shape: Shape, wants: specs.Preference, gives: specs.Instancetype | None) -> str:
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


def _memory(shape: Shape, wants: specs.Preference, gives: specs.Instancetype | None) -> str:
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
