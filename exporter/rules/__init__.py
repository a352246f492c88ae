"""The alert pack as data, and what makes Prometheus rules of it.

    alerts (one module per area) ─> held.py, by_cause.py, findings.py ─> groups ─> formats.py ─> rules/*.yaml, CLI

An area that is added is one module in `alerts`. Nothing here reads a cluster.
"""

from .areas import all_areas, rule_files
from .model import Alerting, Area, FindingAlert, Recording, Rule, RuleFile, RuleGroup
from .values import Values

__all__ = [
    "Alerting",
    "Area",
    "FindingAlert",
    "Recording",
    "Rule",
    "RuleFile",
    "RuleGroup",
    "Values",
    "all_areas",
    "rule_files",
]
