"""What a spec says of CPU, memory and machine type, by its fields: KubeVirt gives these to the VMI as they are written,
and fills in only what is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from sys import intern

from ...store.kinds.common.vm_spec import WireCPU, WireDomain, WireMemory
from ...store.text.quantity import amount
from ...store.text.text_cache import remembered

TOPOLOGY = ("cpu.sockets", "cpu.cores", "cpu.threads")

_LONGEST = 253  # characters of a value: no name has more


def hardware_of(domain: WireDomain) -> tuple[tuple[str, str], ...]:
    """Equal ones are shared."""
    return _shared(tuple((field, intern(value[:_LONGEST])) for field, value in _written(domain) if value))


def _written(domain: WireDomain) -> Iterator[tuple[str, str]]:
    cpu, memory = domain.cpu or WireCPU(), domain.memory or WireMemory()
    yield "cpu.model", cpu.model or ""
    yield from zip(TOPOLOGY, (str(each or "") for each in (cpu.sockets, cpu.cores, cpu.threads)), strict=True)
    yield from (("memory.guest", _size(memory.guest)), ("memory.maxGuest", _size(memory.max_guest)))
    yield "machine.type", (domain.machine and domain.machine.type) or ""


def _size(written: str | int | float | None) -> str:
    """The same text for the same size; as it is written where it is no quantity."""
    if written is None:
        return ""
    try:
        return f"{amount(written):.0f}"
    except ValueError:
        return str(written)


@remembered(50_000)
def _shared(made: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    return made
