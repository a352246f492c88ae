"""Features: what the cluster allows, who asks for it, and what the next version changes."""

from __future__ import annotations

from .report import FeatureReport, Features, GateReport, ValueReport
from .selecting import NoSuchFeatureError, selected
from .view import READER, steps, take

__all__ = [
    "READER",
    "FeatureReport",
    "Features",
    "GateReport",
    "NoSuchFeatureError",
    "ValueReport",
    "selected",
    "steps",
    "take",
]
