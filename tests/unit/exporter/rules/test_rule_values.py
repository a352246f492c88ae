"""What a site sets of the rules is in them, and what can't be is refused in one sentence."""

from __future__ import annotations

from collections import Counter
from typing import Any

import promql_parser
import pytest

from exporter.__main__ import main
from tests.case_files import read_yaml


def rendered(capsys: pytest.CaptureFixture[str], *settings: str) -> list[dict[str, Any]]:
    assert main(["rules", "render", *(word for each in settings for word in ("--set", each))]) == 0
    groups = read_yaml(capsys.readouterr().out)["groups"]
    return [rule for group in groups for rule in group["rules"] if "alert" in rule]


def test_a_severity_is_that_of_each_rule_of_its_alert(capsys: pytest.CaptureFixture[str]) -> None:
    rules = rendered(capsys, "severity.VMIPAMClaimDuplicateIP=info")

    assert {r["labels"]["severity"] for r in rules if r["alert"] == "VMIPAMClaimDuplicateIP"} == {"info"}
    assert {r["labels"]["severity"] for r in rules if r["alert"] == "VMNetworkMisconfigured"} == {"critical", "warning"}


def test_no_severity_makes_two_rules_equal(capsys: pytest.CaptureFixture[str]) -> None:
    names = sorted({rule["alert"] for rule in rendered(capsys)})
    usual = len(rendered(capsys))
    rules = rendered(capsys, *(f"severity.{name}=warning" for name in names))
    equal = Counter((rule["alert"], *sorted(rule["labels"].items())) for rule in rules)

    assert [each for each, times in equal.items() if times > 1] == []
    assert len(rules) < usual
    (down,) = (rule for rule in rules if rule["alert"] == "StewardDown")
    assert down["annotations"]["summary"].count("Or: ") == 1
    for rule in rules:
        promql_parser.parse(rule["expr"])


def test_a_namespace_of_digits_is_text(capsys: pytest.CaptureFixture[str]) -> None:
    down = [rule for rule in rendered(capsys, "namespace=123") if rule["alert"] == "StewardDown"]

    assert down
    assert {rule["labels"]["namespace"] for rule in down} == {"123"}


def test_an_objective_is_that_of_the_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "render", "--set", "slo.freshness=99.9", "--set", "slo.delay=10"]) == 0
    rules = [rule for group in read_yaml(capsys.readouterr().out)["groups"] for rule in group["rules"]]
    (freshness,) = (rule["expr"] for rule in rules if rule.get("labels") == {"objective": "freshness"})

    assert 'le=~"10|10.0"' in freshness
    assert freshness.endswith("/ 0.001")


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ("pool.warning=800", "it has to be a percentage from 1 to 100"),
        ("objects", "has no value; write it as KEY=VALUE"),
        ("severity.Nothing=info", "there is no alert Nothing"),
        ("severity.StewardDown=page", "a severity is one of critical, warning, info"),
        ("hold=soon", "such as 1d"),
        ("storm=100", "there is no such value"),
        ("clusters=a b", "the values of the label cluster"),
        ('clusters=a"} or vector(1', "the values of the label cluster"),
        ("presence=kube_node_info[5m]", "such as kube_node_info"),
        ("slo.coverage=90", "the percentage of checks that have an answer, 94 to 99.99"),
        ("slo.delay=7", "0.5, 1, 2.5, 5, 10, 30 or 60"),
        ("colour=red", "there is no such value"),
    ],
)
def test_what_cannot_be_is_refused(setting: str, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "render", "--set", setting]) == 2

    said = capsys.readouterr()
    assert why in said.err
    assert said.out == ""
