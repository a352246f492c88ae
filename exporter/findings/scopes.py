"""Scopes that several checks have; a check of its own kind makes its own."""

from __future__ import annotations

from ..store.indexes.networks import NAD, NETWORK, SEVERAL_VMS, VM
from .check import PER_CLUSTER, PER_NAMESPACE, Scope

__all__ = ["PER_CLUSTER", "PER_NAMESPACE", "PER_NETWORK", "PER_VM"]

PER_VM = Scope("one VM", VM, several=SEVERAL_VMS)
PER_NETWORK = Scope("one network", NETWORK, (NAD,))
