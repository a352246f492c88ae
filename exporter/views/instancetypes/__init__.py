"""Instancetypes and preferences: which VMs refer to each and how, how their copies differ, and who fails without it."""

from __future__ import annotations

from .report import CopyReport, InstancetypeReport, Instancetypes
from .view import READER, steps, take

__all__ = ["READER", "CopyReport", "InstancetypeReport", "Instancetypes", "steps", "take"]
