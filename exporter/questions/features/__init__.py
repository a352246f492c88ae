"""Features: what the cluster allows, who asks for it, and what the next version changes."""

from __future__ import annotations

from .report import FeatureReport, Features, GateReport, ValueReport
from .view import READER, NoSuchFeatureError, selected, steps, take

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
