"""The alert pack as data, and what makes Prometheus rules of it.

    alerts (one module per area) ─> held.py, findings.py ─> groups of rules ─> formats.py ─> rules/*.yaml, CLI

An area that is added is one module in `alerts`. Nothing here reads a cluster.
"""

from .areas import all_areas, groups
from .model import Alerting, Area, FindingAlert, Recording, Rule, RuleGroup
from .values import Values

__all__ = ["Alerting", "Area", "FindingAlert", "Recording", "Rule", "RuleGroup", "Values", "all_areas", "groups"]
