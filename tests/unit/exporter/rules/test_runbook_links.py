"""An alert leads to what its runbook says of its reason."""

from __future__ import annotations

import re

from exporter.checks import all_checks
from exporter.findings.check import PER_FLEET
from exporter.runbook import anchor, headed
from tests.alerting_reasons import ALERTS
from tests.all_of import all_of, named, whole
from tests.rules import Rule, alternatives, selectors

OF_THE_LABEL = "{{$labels.reason|toLower}}"
ABOUT: dict[str, set[str]] = {}
for _check in all_checks():
    for _name, _reason in _check.reasons.items():
        if _reason.alert and _check.scope is not PER_FLEET:
            ABOUT.setdefault(_reason.alert, set()).add(_name)
OF_REASONS = [alert for alert in ALERTS if alert.name in ABOUT]


def id_of(alert: Rule) -> str:
    return f"{alert.name}-{alert.labels['severity']}-{alert.labels.get('per', 'object')}"


def section(alert: Rule) -> str:
    return alert.annotations["runbook_url"].partition("#")[2]


def reasons(alert: Rule) -> set[str]:
    """Those for which the alert fires."""
    matchers = (matcher for each in selectors(alert.expr) for matcher in each.matchers if matcher.name == "reason")
    return {reason for matcher in matchers for reason in alternatives(matcher)} or ABOUT[alert.name]


@all_of(named(OF_REASONS, id_of), whole)
def test_the_link_of_an_alert_leads_to_its_reason(alert: Rule) -> None:
    about, headings = reasons(alert), {anchor(reason) for reason in headed(alert.name)}
    outermost = re.search(r"\bby \(([^)]*)\)", alert.expr)
    assert outermost
    says_reason = "reason" in outermost[1].split(", ")

    assert {anchor(reason) for reason in about} <= headings
    if len(about) == 1:
        assert section(alert) in headings
        assert section(alert) == anchor(min(about))
    else:
        assert section(alert) == (OF_THE_LABEL if says_reason else "")


@all_of(named(sorted(ABOUT), str), whole)
def test_a_runbook_has_no_heading_for_a_reason_that_its_alert_does_not_have(alert: str) -> None:
    assert set(headed(alert)) <= ABOUT[alert]


def test_what_prometheus_makes_of_a_reason_is_its_heading() -> None:
    """Its templates have `toLower` and no function of ours."""
    assert {reason for about in ABOUT.values() for reason in about if anchor(reason) != reason.lower()} == set()


def test_few_alerts_have_a_reason_and_do_not_say_it() -> None:
    """Those go on when the reason of their object changes."""
    assert {alert.name for alert in OF_REASONS if not section(alert)} == {
        "VMEvictionMigrationStuck",
        "VMFirmwareUUIDDuplicate",
        "VMMigrationStuck",
    }
