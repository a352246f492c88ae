"""The example of docs/architecture.md: copied into place it is found, runs through its cases, and is complete."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import exporter.checks
from exporter.checks import drains
from exporter.engine.evaluate import Outcome, evaluate
from exporter.findings.advice import advised
from exporter.findings.check import Check
from exporter.rules import Values, areas, findings
from tests.case_files import read_yaml
from tests.evaluation import Evaluation
from tests.pages import known_pages
from tests.rows import full
from tests.rules import blocks, plain
from tests.shared import REPO

EXAMPLE = REPO / "docs" / "example_check"
MODULE = "exporter.checks.drains.paused_vms"
CASES: dict[str, dict[str, Any]] = read_yaml((EXAMPLE / "tests/checks/paused_vms.yaml").read_text(encoding="utf-8"))
RUNBOOK = EXAMPLE / "rules/runbooks/VMPaused.md"


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch) -> Iterator[Check]:
    """The check, found as it would be in exporter/checks."""
    folder = str(EXAMPLE / "exporter" / "checks" / "drains")
    known_pages(monkeypatch, EXAMPLE / "exporter")
    monkeypatch.setattr(drains, "__path__", [*drains.__path__, folder])
    found = {each.id: each for each in exporter.checks.all_checks.__wrapped__()}
    yield found["paused_vms"]
    sys.modules.pop(MODULE, None)
    vars(drains).pop("paused_vms", None)


@pytest.mark.parametrize("name", CASES)
def test_case(name: str, check: Check) -> None:
    case = CASES[name]
    evaluation = Evaluation([check], case.get("unsynced", ()))
    for row in case["given"]:
        evaluation.seen(full(row))

    answer = evaluate(check, evaluation.engine.cluster, "ns/db")
    if case["finds"] == "unknown":
        assert answer.outcome is Outcome.UNKNOWN
        return
    assert [(f.reason, f.subject.name, f.severity.value) for f in answer.findings] == [
        (f["reason"], f["subject"], f["severity"]) for f in case["finds"]
    ]
    assert answer.outcome is (Outcome.FINDINGS if case["finds"] else Outcome.NONE)


def test_its_advice_has_the_names_filled_in(check: Check) -> None:
    evaluation = Evaluation([check])
    evaluation.seen(full(CASES["guest_is_paused"]["given"][0]))
    (finding,) = evaluate(check, evaluation.engine.cluster, "ns/db").findings
    finding = advised(finding, check.reasons[finding.reason])

    assert finding.next
    assert finding.commands == ("virtctl unpause vmi db -n ns",)
    assert finding.runbook.endswith("/rules/runbooks/VMPaused.md#paused")


def test_its_alert_is_found_and_made_into_rules(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings, "all_checks", lambda: (check,))
    area = next(each for each in areas.all_areas.__wrapped__() if each.name == "paused_vms")

    alert, of_causes = (rule for each in area.findings for rule in findings.alerts_of(each, area.name, Values()))

    assert alert.alert == check.reasons["Paused"].alert == RUNBOOK.stem
    assert 'finding:kubevirt_vmi_paused:alone{reason="Paused"' in alert.expr
    assert 'cause:kubevirt_vmi_paused:together{reason="Paused"' in of_causes.expr
    assert {alert.severity, of_causes.severity} == {"warning"}


def test_its_runbook_has_its_commands(check: Check) -> None:
    headings = re.findall(r"^## (.+)$", RUNBOOK.read_text(encoding="utf-8"), re.MULTILINE)
    shell = "".join(plain(block.text) for block in blocks(RUNBOOK, "sh"))

    assert all(command in shell for reason in check.reasons.values() for command in reason.commands)
    assert headings == ["Meaning", "Impact", "Diagnosis", "Mitigation", "Verification"]
