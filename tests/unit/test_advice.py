"""What to do about a finding: its next step, its commands and its runbook, which say the same."""

from __future__ import annotations

import re
from typing import Any

import pytest

from exporter.checks import all_checks
from exporter.checks.advice import filled, values_of
from exporter.checks.base import Check
from exporter.findings import Severity
from tests.rules import RULES, blocks
from tests.unit.test_checks import ALL, evaluated
from tests.unit.test_rules import alerting

# The checks that give advice; the others are still without.
ADVISING = {
    "eviction_pdbs",
    "eviction_stack",
    "firmware_across_clusters",
    "firmware_duplicates",
    "firmware_serials",
    "firmware_templates",
    "firmware_vms",
    "node_identity",
    "sources",
}
REASONS = [
    pytest.param(check, name, id=f"{check.id}-{name}")
    for check in all_checks()
    if check.id in ADVISING
    for name in check.reasons
]
CASES = [case for case in ALL if case.values[0].id in ADVISING]  # type: ignore[union-attr]


def commands_of(alert: str) -> list[str]:
    return [block.text for block in blocks(RULES / "runbooks" / f"{alert}.md", "sh")]


def test_the_checks_that_advise_exist() -> None:
    assert {check.id for check in all_checks()} >= ADVISING


@pytest.mark.parametrize(("check", "name"), REASONS)
def test_a_reason_has_the_alert_that_fires_for_it(check: Check, name: str) -> None:
    reason = check.reasons[name]
    firing = {alert.name for severity in reason.severities for alert in alerting(check, name, severity)}

    assert firing == ({reason.alert} if reason.alert else set())
    assert bool(reason.alert) is any(severity is not Severity.INFO for severity in reason.severities)


@pytest.mark.parametrize(("check", "name"), REASONS)
def test_the_commands_of_a_reason_stand_in_its_runbook(check: Check, name: str) -> None:
    reason = check.reasons[name]
    texts = commands_of(reason.alert) if reason.alert else []

    assert [command for command in reason.commands if not any(command in text for text in texts)] == []


@pytest.mark.parametrize(("check", "case"), CASES)
def test_a_finding_says_what_to_do_next(check: Check, case: dict[str, Any]) -> None:
    for finding in evaluated(check, case).engine.findings():
        reason, values = check.reasons[finding.reason], values_of(finding)
        texts = [filled(text, values) for text in commands_of(reason.alert)] if reason.alert else []

        assert finding.next[:1].isupper()
        assert finding.next.endswith(".")
        assert finding.next not in finding.message
        assert "next" not in finding.evidence
        assert finding.runbook.endswith(f"/rules/runbooks/{reason.alert}.md" if reason.alert else "")
        assert bool(finding.commands) is bool(reason.alert), "who is alerted gets a command"
        assert [command for command in finding.commands if not any(command in text for text in texts)] == []
        text = "\n".join((finding.next, *finding.commands))
        assert not re.search(r"\b(NAMESPACE|NAME|VMNAME|UID|NODE|KIND|RESOURCE)\b", text)
        assert finding.evidence.get("uuid", "no UUID at all") not in text
