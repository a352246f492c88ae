"""How urgent an alert is, and who gets it: what the first lines of its runbook say."""

from __future__ import annotations

from collections.abc import Mapping

from ..questions.urgency import Urgency
from .areas import rule_files
from .model import Alerting
from .routing import Route, routes
from .values import Values


def urgencies() -> Mapping[str, Urgency]:
    """By the name of the alert, as it is routed by default."""
    values = Values()
    found: dict[str, list[Alerting]] = {}
    for file in rule_files(values):
        for rule in file.rules:
            if isinstance(rule, Alerting):
                found.setdefault(rule.alert, []).append(rule)
    return {name: _urgency(rules, routes(values)) for name, rules in found.items()}


def _urgency(rules: list[Alerting], route: Route) -> Urgency:
    severities = {each.severity for each in rules}
    receivers = dict.fromkeys(each for rule in rules for each in _receivers(rule, route))
    return Urgency(pages="critical" in severities, always="warning" not in severities, receivers=tuple(receivers))


def _receivers(rule: Alerting, route: Route) -> tuple[str, ...]:
    """Those of the routes below which take it."""
    tenants = ("tenants",) if rule.alert.startswith("VM") and not rule.own else ()
    if rule.severity == "critical":
        return ("pager", *tenants)
    return tenants if tenants and rule.area != "evictions" else (route.receiver, *tenants)
