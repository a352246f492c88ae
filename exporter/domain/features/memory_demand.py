"""How much memory a launcher pod asks of its node at the least, by the spec of its VM: as much as its guest has.

As virt-api and pkg/virt-controller/services of kubevirt/kubevirt have it: a request that is written counts as it is;
else a part of the guest's memory, by the overcommit of the cluster or of the instancetype; with hugepages those of the
size. What virt-launcher and QEMU take beside, and the guest's CPUs, are not counted.
"""

from __future__ import annotations

from typing import Any

from ...store.kinds.common.vm_spec import WireDomain, WireMemory, WireResources
from ...store.text.quantity import Amounts, amount
from ..instancetypes import specs

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
