"""What follows from the spec of a VM or VMI, made once for all whose specs are alike.

Specs are alike where they differ in nothing but what each VM has of its own: UUID and serial, MAC addresses, the NADs
of its networks, and the objects that its volumes come from. Of these no fact here is made.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from ...store.kinds.common.vm_spec import WireDevices, WireDomain, WireInterface, WireNetwork, WireVMSpec, WireVolume
from ...store.text.quantity import Amounts
from ...store.text.text_cache import TextMemo
from .asks import asks_of
from .demand import Demand, demand_of
from .hardware import hardware_of
from .memory_demand import memory_demand
from .rule import Asking, Request


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
