"""Which reasons have an alert, and what each rule reads."""

from __future__ import annotations

import re
from functools import cache

from exporter.findings.check import PER_FLEET, Check
from exporter.findings.severity import Severity
from tests.rules import FILES, Rule, rules_of, selectors

EVERY_RULE = [rule for file in FILES for rule in rules_of(file)]


ALERTS = [rule for rule in EVERY_RULE if rule.alerts]


RECORDED: dict[str, list[Rule]] = {}
for _recorded in (rule for rule in EVERY_RULE if not rule.alerts):
    RECORDED.setdefault(_recorded.name, []).append(_recorded)


@cache
def read_by(metric: str) -> frozenset[str]:
    """The families behind a series: of a recorded one, those that its rule reads; not by what only says when."""
    found, left = set(), [metric]
    while left:
        metric = left.pop()
        if metric not in found and not metric.startswith("rules:"):
            found.add(metric)
            left += [each.metric for rule in RECORDED.get(metric, ()) for each in selectors(rule.expr)]
    return frozenset(metric.removesuffix("_since_timestamp_seconds") for metric in found)


def alerting(check: Check, reason: str, severity: Severity) -> list[Rule]:
    """The alerts that name the reason, where series have one, and select those of its family with this severity."""
    family = check.reasons[reason].family
    return [
        alert
        for alert in ALERTS
        if severity is not Severity.INFO
        and any(
            family.name in read_by(each.metric)
            and (check.scope is PER_FLEET or each.names("reason", reason))
            and each.takes("finding_severity", severity.value)
            for each in selectors(alert.expr)
        )
    ]


def kept(expr: str) -> set[str]:
    """The labels that the aggregations of an expression keep by name."""
    return {label.strip() for labels in re.findall(r"\bby \(([^)]*)\)", expr) for label in labels.split(",")}
