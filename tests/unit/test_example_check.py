"""The example of docs/architecture.md: copied into place it is found, runs through its cases, and is complete."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import exporter.checks
from exporter.checks.advice import advised
from exporter.checks.base import Check
from exporter.evaluate import Outcome, evaluate
from tests.evaluation import Evaluation
from tests.rows import full
from tests.rules import blocks, rules_of, selectors

EXAMPLE = Path(__file__).parents[2] / "docs" / "example_check"
MODULE = "exporter.checks.paused_vms"
CASES: dict[str, dict[str, Any]] = yaml.safe_load(
    (EXAMPLE / "tests/checks/paused_vms.yaml").read_text(encoding="utf-8")
)
RUNBOOK = EXAMPLE / "rules/runbooks/VMPaused.md"


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch) -> Iterator[Check]:
    """The check, found as it would be in exporter/checks."""
    folder = str(EXAMPLE / "exporter" / "checks")
    monkeypatch.setattr(exporter.checks, "__path__", [*exporter.checks.__path__, folder])
    found = {each.id: each for each in exporter.checks.all_checks.__wrapped__()}
    yield found["paused_vms"]
    sys.modules.pop(MODULE, None)
    vars(exporter.checks).pop("paused_vms", None)


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
    assert finding.runbook.endswith("/rules/runbooks/VMPaused.md")


def test_its_rules_and_runbook_belong_to_its_reasons(check: Check) -> None:
    rules = {rule.name: rule for rule in rules_of(EXAMPLE / "rules" / f"{check.id}.yaml")}
    headings = re.findall(r"^## (.+)$", RUNBOOK.read_text(encoding="utf-8"), re.MULTILINE)
    shell = "".join(block.text for block in blocks(RUNBOOK, "sh"))
    tried = yaml.safe_load((EXAMPLE / "rules" / "tests" / f"{check.id}.yaml").read_text(encoding="utf-8"))

    for name, reason in check.reasons.items():
        alert = rules[reason.alert]
        assert alert.alerts
        assert any(selector.takes("reason", name) for selector in selectors(alert.expr))
        assert {each.metric for rule in rules.values() for each in selectors(rule.expr)} >= {reason.family.name}
        assert alert.annotations["runbook_url"].endswith(f"/{reason.alert}.md")
        assert all(command in shell for command in reason.commands)
        fired = [
            each for test in tried["tests"] for each in test["alert_rule_test"] if each["alertname"] == reason.alert
        ]
        assert any(each["exp_alerts"] for each in fired)
        assert any(not each["exp_alerts"] for each in fired)
    assert headings == ["Meaning", "Impact", "Diagnosis", "Mitigation", "Remediation"]


def test_the_architecture_page_names_each_of_its_files() -> None:
    text = (EXAMPLE.parent / "architecture.md").read_text(encoding="utf-8")
    files = [path.relative_to(EXAMPLE) for path in EXAMPLE.rglob("*.*") if path.suffix in (".py", ".yaml", ".md")]
    assert len(files) == 5
    assert {str(path) for path in files if str(path) not in text} == set()
