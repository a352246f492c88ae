"""Writes nothing: it only proposes."""

from __future__ import annotations

from ._fault import Fault

__all__ = ["FAULTS"]

FAULTS: tuple[Fault, ...] = ()
