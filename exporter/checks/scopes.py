"""Scopes that several checks have; a check of its own kind makes its own."""

from __future__ import annotations

from ..model.joins import DEFINITION, MACHINE, NETWORK
from .base import PER_CLUSTER, PER_NAMESPACE, Scope

__all__ = ["PER_CLUSTER", "PER_MACHINE", "PER_NAMESPACE", "PER_NETWORK"]

PER_MACHINE = Scope("one machine", MACHINE, bridged=True)
PER_NETWORK = Scope("one network", NETWORK, (DEFINITION,))
