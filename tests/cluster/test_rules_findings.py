"""Each reason of each check fires its alert: with its severity, after its time, once for two replicas, and no other.

The rules are evaluated by promtool, in every version that is here. What is expected is written down here anew where the
rules are generated from what the checks declare: which findings page (tests/pages).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from exporter.checks import all_checks
from exporter.findings.check import PER_FLEET, Family
from exporter.findings.severity import Severity
from tests.cluster.conftest import Tools
from tests.cluster.test_rules import promtool
from tests.rules import FILES, RULES, Rule, pages, recorded_first, rules_of

PAGES = pages()


@dataclass(frozen=True)
class Seeded:
    """A finding of one reason and severity, of an object of its own."""

    check: str
    reason: str
    severity: str
    family: Family
    alert: str

    @property
    def name(self) -> str:
        return f"{self.check}-{self.reason}-{self.severity}".lower().replace("_", "-")

    @property
    def expected(self) -> str:
        return "critical" if self.severity == "critical" and (self.alert, self.reason) in PAGES else "warning"

    def series(self, replica: str) -> str:
        suffix = "_since_timestamp_seconds" if self.family.aged else ""
        labels = {
            "check": self.check,
            "reason": self.reason,
            "severity": self.severity,
            "kind": self.name,
            "namespace": "ns",
            "name": self.name,
            "vm": "db",
            "node": "n1",
            "network": self.name,
            "feature": self.name,
            "group": self.name,
            "cause": self.name,
            "job": "s",
            "instance": replica,
            "pod": replica,
        }
        return f"{self.family.name}{suffix}{{{', '.join(f'{key}={json.dumps(text)}' for key, text in labels.items())}}}"


def seeded() -> Iterator[Seeded]:
    for check in all_checks():
        if check.scope is not PER_FLEET:
            for name, reason in check.reasons.items():
                for severity in reason.severities:
                    yield Seeded(check.id, name, severity.value, reason.family, reason.alert)


def minutes(duration: str) -> int:
    found = re.fullmatch(r"(\d+)([mh])", duration)
    assert found, duration
    return int(found[1]) * {"m": 1, "h": 60}[found[2]]


ALERTS = [rule for file in FILES for rule in rules_of(file) if rule.alerts]
FINDINGS = list(seeded())
OF_FINDINGS = {each.alert for each in FINDINGS if each.alert}
END = 10 + max(minutes(rule.waits) for rule in ALERTS if rule.name in OF_FINDINGS)  # then everything is repaired
FLAP = 3  # minutes for which what is not reported is still there
AREAS = sorted({rule.stem for rule in ALERTS if rule.name in OF_FINDINGS})


def waits(name: str) -> int:
    return max(minutes(rule.waits) for rule in ALERTS if rule.name == name)


def stays(name: str) -> int:
    return max(minutes(rule.keeps_firing) for rule in ALERTS if rule.name == name)


def expected(alert: str, at: int, found: Iterable[Seeded]) -> dict[str, Any]:
    """How often each object's or feature's alert fires, by severity: once."""
    rule = next(each for each in ALERTS if each.name == alert)
    label = distinct(rule)
    samples = {(each.expected, each.name) for each in found if each.alert == alert and each.severity != "info"}
    return {
        "expr": f'count by (severity, {label}) (ALERTS{{alertname="{alert}", alertstate="firing"}})',
        "eval_time": f"{at}m",
        "exp_samples": [
            {"labels": f'{{severity="{severity}", {label}="{name}"}}', "value": 1} for severity, name in sorted(samples)
        ],
    }


def distinct(rule: Rule) -> str:
    """The label by which alerts of the findings here differ."""
    kept = {label for labels in re.findall(r"\bby \(([^)]*)\)", rule.expr) for label in labels.split(", ")}
    return next(label for label in ("name", "network", "feature", "kind") if label in kept)


def tried(area: str, found: list[Seeded], path: Path, **more: Any) -> Path:
    alerts = sorted({rule.name for rule in ALERTS if rule.stem == area and rule.name in OF_FINDINGS})
    inputs = [{"series": each.series(replica), "values": f"60x{END - 1} stale"} for each in found for replica in "ab"]
    for check in sorted({each.check for each in found}):
        inputs += [
            {"series": f'kubevirt_steward_check_up{{check="{check}", job="s", instance="{replica}", pod="{replica}"}}'}
            | {"values": f"1x{2 * END}"}
            for replica in "ab"
        ]
    inputs += [
        {"series": f'kubevirt_steward_ready{{job="s", instance="{r}", pod="{r}"}}', "values": f"1x{2 * END}"}
        for r in "ab"
    ]
    asked = [expected(alert, waits(alert) - 1, ()) for alert in alerts if single(alert)]
    asked += [expected(alert, END - 1, found) for alert in alerts]
    asked += [expected(alert, END + 1 + FLAP + stays(alert), ()) for alert in alerts]
    test = {"interval": "1m", "input_series": inputs, "promql_expr_test": asked}
    stems = sorted({area, "steward"})
    content: dict[str, Any] = {"rule_files": [str(RULES / f"{stem}.yaml") for stem in stems]}
    content |= {"evaluation_interval": "1m", "group_eval_order": recorded_first(stems)}
    path.write_text(json.dumps({**content, "tests": [test]}), encoding="utf-8")  # which is YAML too
    return path


def single(alert: str) -> bool:
    """Whether all its rules wait equally long."""
    return len({rule.waits for rule in ALERTS if rule.name == alert}) == 1


@pytest.mark.parametrize("area", AREAS)
def test_each_reason_fires_its_alert_once_and_in_time(binary: Tools, area: str, tmp_path: Path) -> None:
    names = {rule.name for rule in ALERTS if rule.stem == area}
    found = [each for each in FINDINGS if each.alert in names]

    promtool(binary, "test", "rules", tried(area, found, tmp_path / "each.yaml"))


def test_what_only_informs_fires_nothing(binary: Tools, tmp_path: Path) -> None:
    informing = [each for each in FINDINGS if each.severity == Severity.INFO.value]
    for area in AREAS:
        names = {rule.name for rule in ALERTS if rule.stem == area}
        found = [each for each in informing if each.alert in names]
        if found:
            promtool(binary, "test", "rules", tried(area, found, tmp_path / f"{area}.yaml"))


def test_every_reason_that_is_more_than_information_is_tried() -> None:
    reported = {each.alert for each in FINDINGS if each.severity != "info"}

    assert "" not in reported
    assert reported == {rule.name for rule in ALERTS if rule.name in OF_FINDINGS}
