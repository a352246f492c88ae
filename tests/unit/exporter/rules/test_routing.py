"""`steward rules render` of routes: what a site sets is in them, and they fit what its Prometheus does to labels."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from exporter.__main__ import main
from exporter.rules import Values
from exporter.rules.routing import inhibitions
from tests.alerting_reasons import ALERTS, RECORDED, kept
from tests.case_files import read_yaml
from tests.rules import RULES, Rule, selectors


def rendered(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    assert main(["rules", "render", *options]) == 0
    document: dict[str, Any] = read_yaml(capsys.readouterr().out)
    return document


def tenants(spec: dict[str, Any]) -> tuple[list[str], list[dict[str, str]]]:
    """What the route of tenants groups by, and its matchers."""
    (route,) = (each for each in spec["route"]["routes"] if each["receiver"] == "tenants")
    return route["groupBy"], route["matchers"]


def test_the_namespace_of_the_steward_is_no_tenant(capsys: pytest.CaptureFixture[str]) -> None:
    config = rendered(capsys, "--format", "alertmanagerconfig", "--set", "namespace=virt-ops")
    grouped, matchers = tenants(config["spec"])
    assert config["metadata"]["namespace"] == "virt-ops"
    assert grouped == ["cluster", "namespace"]
    assert {"name": "namespace", "matchType": "!~", "value": "virt-ops|"} in matchers


def test_where_prometheus_enforces_its_namespace_tenants_have_another_label(capsys: pytest.CaptureFixture[str]) -> None:
    grouped, matchers = tenants(rendered(capsys, "--format", "openshift-user-alertmanagerconfig")["spec"])
    assert grouped == ["cluster", "exported_namespace"]
    assert {"name": "exported_namespace", "matchType": "!=", "value": ""} in matchers


def test_an_example_for_alertmanager_is_one_file(tmp_path: Path) -> None:
    assert main(["rules", "render", "--format", "alertmanager", "--output", str(tmp_path)]) == 0
    (file,) = tmp_path.iterdir()
    assert read_yaml(file.read_text(encoding="utf-8")).keys() == {"route", "inhibit_rules", "receivers"}


def test_every_alert_groups_by_cluster_and_no_inhibition_reaches_another(capsys: pytest.CaptureFixture[str]) -> None:
    spec = rendered(capsys, "--format", "alertmanagerconfig")["spec"]
    assert all("cluster" in route["groupBy"] for route in (spec["route"], *spec["route"]["routes"]))
    assert spec["inhibitRules"]
    assert all("cluster" in rule["equal"] for rule in spec["inhibitRules"])


# -- alerts of causes


MATCHER = re.compile(r"""'?(\w+)(=~|!~|!=|=)["']?([^"'\s]*)["']?""")
MANUAL = RULES.parent / "docs/alerting.md"


def silences() -> Iterator[list[tuple[str, str, str]]]:
    for line in re.findall(r"amtool silence add (.*?) --duration", MANUAL.read_text(encoding="utf-8")):
        yield [(label, how, value) for label, how, value in MATCHER.findall(line) if not value.startswith("$")]


def takes(how: str, value: str, text: str) -> bool:
    matched = bool(re.fullmatch(value, text)) if "~" in how else text == value
    return matched is not how.startswith("!")


def of_cause(alert: Rule) -> dict[str, set[str]]:
    """The labels of the alert of a cause, by its reason: those that its rule keeps of what is recorded for it."""
    kept: dict[str, set[str]] = {}
    by = set(re.match(r"sum by \(([^)]*)\)", alert.expr)[1].split(", "))  # type: ignore[index]
    for selector in selectors(alert.expr):
        for recorded in RECORDED.get(selector.metric, ()) if selector.metric.startswith("cause:") else ():
            for labels, reasons in re.findall(
                r'count by \(([^)]*)\) \(\n  finding:\w+:held{reason=~?"([^"]*)"', recorded.expr
            ):
                for reason in reasons.split("|"):
                    if selector.takes("reason", reason):
                        kept[reason] = by & set(labels.split(", ")) | alert.labels.keys()
    return kept


def test_what_reaches_the_alerts_of_findings_reaches_those_of_their_causes() -> None:
    """Each inhibition, from both sides, and each silence of the manual: its labels are there in both forms."""
    asked: list[tuple[str, list[tuple[str, str, str]], tuple[str, ...]]] = [
        (f"silence {each}", each, ()) for each in silences()
    ]
    for rule in inhibitions(Values()):
        for side in (rule.causes, rule.follows):
            matchers = [(each.label, each.how, each.value) for each in side]
            asked.append((rule.why, matchers, rule.equal))
    missed, looked_at = [], set()
    for alert in (each for each in ALERTS if each.labels.get("per") == "cause"):
        (single,) = (
            each
            for each in ALERTS
            if (each.name, each.labels["severity"]) == (alert.name, alert.labels["severity"])
            and "per" not in each.labels
        )
        own = set(re.match(r"min by \(([^)]*)\)", single.expr)[1].split(", "))  # type: ignore[index]
        for why, matchers, equal in asked:
            for reason, labels in of_cause(alert).items():
                known = {**alert.labels, "alertname": alert.name, "reason": reason}
                if all(takes(how, value, known[label]) for label, how, value in matchers if label in known):
                    wanted = {label for label, *_ in matchers} | {*equal}
                    looked_at.add(why)
                    if lacks := wanted & own - labels - {"cluster"}:
                        missed.append((alert.name, reason, why, lacks))
    assert len(looked_at) > 5
    assert missed == []


def test_every_alert_about_an_object_says_its_vm() -> None:
    about = [each for each in ALERTS if "name" in kept(each.expr) and "per" not in each.labels]
    assert len(about) > 30
    assert [each.name for each in about if "vm" not in kept(each.expr)] == []


def test_what_is_no_value_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "render", "--format", "alertmanagerconfig", "--set", "receiver=x"]) == 2
    assert "there is no such value" in capsys.readouterr().err
