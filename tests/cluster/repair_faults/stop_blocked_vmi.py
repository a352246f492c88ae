"""Shuts a guest down, of which there is none here: tests/kubevirt/test_eviction_remediations.py."""

from __future__ import annotations

from ._fault import Fault

__all__ = ["FAULTS"]

FAULTS: tuple[Fault, ...] = ()
