"""What a spec asks for, by all rules. Equal answers are shared: VMs that look alike have one."""

from __future__ import annotations

from sys import intern

from .rule import Asking, Request
from .rules import RULES

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
