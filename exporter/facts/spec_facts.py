"""What follows from the spec of a VM or VMI, made once for all whose specs are alike.

Specs are alike where they differ in nothing but what each VM has of its own: UUID and serial, MAC addresses, the NADs
of its networks, and the objects that its volumes come from. Of these no fact here is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import attrgetter
from sys import intern
from typing import Any, NamedTuple

import msgspec

from . import specs
from .demand import Demand, demand_of
from .quantity import Amounts, amount
from .rule import Asking, Request
from .rules import RULES
from .text_cache import TextMemo, remembered
from .vm_spec import (
    WireCPU,
    WireDevices,
    WireDomain,
    WireInterface,
    WireMemory,
    WireNetwork,
    WireResources,
    WireVMSpec,
    WireVolume,
)

# What a spec asks for, by all rules. Equal answers are shared: VMs that look alike have one.

_SHARED: dict[tuple[Request, ...], tuple[Request, ...]] = {}
_MOST = 50_000  # unlike ones of a fleet are kept; more would be held longer than their VMs
_LONGEST = 253  # characters of a parameter: more has no name in Kubernetes
_MOST_OF_A_RULE = 100  # devices, bindings or the like of one VM; QEMU takes fewer, and each of them costs


def asks_of(asking: Asking) -> tuple[Request, ...]:
    """In the order of the rules' ids and of the parameters."""
    found = []
    for rule in RULES:
        if parameters := rule.asked(asking):
            found += [(rule.id, intern(parameter[:_LONGEST])) for parameter in sorted(parameters)[:_MOST_OF_A_RULE]]
    return shared(tuple(found))


def shared(requests: tuple[Request, ...]) -> tuple[Request, ...]:
    if len(_SHARED) > _MOST:
        _SHARED.clear()
    return _SHARED.setdefault(requests, requests)


# What a spec says of CPU, memory and machine type, by its fields: KubeVirt gives these to the VMI as they are written,
# and fills in only what is not.

TOPOLOGY = ("cpu.sockets", "cpu.cores", "cpu.threads")


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


# How much memory a launcher pod asks of its node at the least, by the spec of its VM: as much as its guest has.
#
# As virt-api and pkg/virt-controller/services of kubevirt/kubevirt have it: a request that is written counts as it is;
# else a part of the guest's memory, by the overcommit of the cluster or of the instancetype; with hugepages those of
# the size. What virt-launcher and QEMU take beside, and the guest's CPUs, are not counted.

GUEST = "guest memory"
"""In place of `memory`: what the guest has, of which the overcommit decides how much is asked for."""


def memory_demand(domain: WireDomain) -> Amounts:
    """Empty where the spec does not say it, or not as a quantity."""
    memory, resources = domain.memory or WireMemory(), domain.resources or WireResources()
    asked = _amount((resources.requests or {}).get("memory"))
    guest = _amount(memory.guest) or _amount((resources.limits or {}).get("memory"))
    if memory.hugepages is not None:
        return _of_pages(memory.hugepages.get("pageSize"), guest or asked)
    return (("memory", asked),) if asked else (((GUEST, guest),) if guest else ())


def memory_asked(own: Amounts, gives: specs.Instancetype | None, overcommit: int) -> Amounts:
    """With what an instancetype gives; `overcommit` is the cluster's, in percent."""
    if gives is not None and (given := _amount(gives.memory.guest)):
        if gives.memory.hugepages is not None:
            return _of_pages(gives.memory.hugepages.get("pageSize"), given)
        spared = min(_amount(gives.memory.overcommit_percent), 100.0)
        return (("memory", given * (100 - spared) / 100),)
    return tuple(("memory", size * 100 / max(overcommit, 100)) if name == GUEST else (name, size) for name, size in own)


def _of_pages(size: Any, amount: float) -> Amounts:
    return ((f"hugepages-{size}", amount),) if isinstance(size, str) and amount else ()


def _amount(text: Any) -> float:
    """0 for what is no quantity."""
    try:
        return max(amount(text), 0.0) if isinstance(text, str | int | float) else 0.0
    except ValueError:
        return 0.0


class SpecFacts(NamedTuple):
    """As the fields of VirtualMachine."""

    asks: tuple[Request, ...]
    demand: Demand
    hardware: tuple[tuple[str, str], ...]
    memory: Amounts


_KEPT = TextMemo[SpecFacts]()


def spec_facts(asking: Asking) -> SpecFacts:
    try:
        text = _common(asking)
    except (RecursionError, ValueError, OverflowError):  # nested without end, or with numbers without end
        return _made(asking)
    found = _KEPT.get(text)
    if found is None:
        found = _made(asking)
        _KEPT.keep(text, found)
    return found


def _made(asking: Asking) -> SpecFacts:
    domain = asking.domain
    return SpecFacts(asks_of(asking), demand_of(asking.spec), hardware_of(domain), memory_demand(domain))


def _all_but(fields: Iterable[str], *own: str) -> attrgetter[tuple[Any, ...]]:
    """Of a part of the spec, without what each VM has of its own and what is a part in itself."""
    return attrgetter(*(name for name in fields if name not in own))


_AROUND = _all_but(Asking.__slots__, "spec", "domain", "devices", "cpu", "interfaces", "volumes")
_SPEC = _all_but(WireVMSpec.__struct_fields__, "domain", "networks", "volumes")
_NETWORK = _all_but(WireNetwork.__struct_fields__, "multus")
_DOMAIN = _all_but(WireDomain.__struct_fields__, "devices", "firmware")
_DEVICES = _all_but(WireDevices.__struct_fields__, "interfaces")
_INTERFACE = _all_but(WireInterface.__struct_fields__, "mac_address")
_SOURCES = _all_but(WireVolume.__struct_fields__, "name")
_ENCODE = msgspec.json.Encoder().encode


def _common(asking: Asking) -> bytes:
    """What alike ones have in common, as text: all that the facts are made of. JSON, since numbers and booleans that
    are equal in Python differ in it.
    """
    firmware = asking.domain.firmware
    boot = firmware.kernel_boot if firmware is not None else None
    return _ENCODE(
        (
            _AROUND(asking),
            _SPEC(asking.spec),
            _DOMAIN(asking.domain),
            _DEVICES(asking.devices),
            firmware.bootloader if firmware is not None else None,
            boot is not None and boot.container is not None,
            [each and _NETWORK(each) for each in asking.spec.networks or ()],
            [_INTERFACE(each) for each in asking.interfaces],
            [(each.name, [source and _source(source) for source in _SOURCES(each)]) for each in asking.volumes],
        )
    )


def _source(source: Any) -> Any:
    """Without the name of an object: whether it says anything at all, and may be plugged. A mapping stays one, or a
    list that stands in its place would look like it.
    """
    return {"keys": len(source), "plugged": source.get("hotpluggable")} if isinstance(source, dict) else source
