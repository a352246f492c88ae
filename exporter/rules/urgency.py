"""How urgent an alert is, and who gets it: what the first lines of its runbook say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..checks import all_checks
from ..findings.check import PER_FLEET
from ..findings.severity import Severity
from ..questions.urgency import Urgency
from .areas import all_areas, rule_files
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


# Which findings page where they are critical, and why the others do not.


@dataclass(frozen=True)
class Paging:
    """`why_not` is one line, empty where it pages."""

    check: str
    reason: str
    why_not: str = ""

    @property
    def pages(self) -> bool:
        return not self.why_not


def paging() -> Iterator[Paging]:
    """One for each reason that has critical findings. Raises LookupError where nothing says why one does not."""
    alerts = {alert.name: alert for area in all_areas() for alert in area.findings}
    for check in all_checks():
        for name, reason in check.reasons.items():
            if check.scope is PER_FLEET or Severity.CRITICAL not in reason.severities or not reason.alert:
                continue
            alert = alerts.get(reason.alert)
            if alert is None or reason.pages:
                yield Paging(check.id, name)
            elif why := reason.not_paging or alert.not_paging:
                yield Paging(check.id, name, why)
            else:
                raise LookupError(f"{check.id}/{name} does not page, and neither it nor {alert.name} says why")


def why_not_paging() -> dict[str, str]:
    """Why critical findings of a reason, CHECK/REASON, do not page; empty where they do."""
    return {f"{each.check}/{each.reason}": each.why_not for each in paging()}
