"""Features: what the cluster allows, who asks for it, and what the next version changes."""

from __future__ import annotations

from collections.abc import Generator

from ...counts.features import FeatureUsage
from ...engine.engine import Engine
from ..asked import FeaturesQuery
from ..question import Question
from .report import FeatureReport, Features, GateReport, ValueReport
from .view import READER, selected, steps

__all__ = ["QUESTION", "READER", "FeatureReport", "Features", "GateReport", "ValueReport", "selected", "steps", "take"]


def _answered(engine: Engine, usage: FeatureUsage, _: FeaturesQuery) -> Generator[None, None, Features]:
    yield from usage.settle()
    return (yield from steps(engine.cluster, usage, list(engine.findings()), engine.generation))


def _narrowed(found: Features, asked: FeaturesQuery) -> Features:
    return selected(found, asked.feature, unallowed=asked.unallowed)


QUESTION = Question("features", FeaturesQuery, Features, _answered, READER, FeatureUsage, _narrowed)
