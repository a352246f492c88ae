"""What of a cluster goes to the hub of several: by each way the same series, and no others."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import promql_parser
import pytest

from exporter.rules import Alerting, Recording, Values, rule_files
from exporter.rules.alerts.hub import RECORDED, read_by
from exporter.rules.formats import document, files
from tests.case_files import read_yaml
from tests.shared import REPO

Labels = Mapping[str, str]
PACK = tuple(rule_files(Values()))
STEWARD = {"kubernetes_operator_component": "kubevirt-steward"}
GOES = [
    *({"__name__": name, "namespace": "kubevirt-steward"} for name in RECORDED),
    {"__name__": "ALERTS", "alertname": "StewardDown", **STEWARD},
]
STAYS: list[Labels] = [
    {"__name__": "ALERTS", "alertname": "Watchdog"},
    {"__name__": "ALERTS_FOR_STATE", "alertname": "StewardDown", **STEWARD},
    {"__name__": "kubevirt_steward_ready"},
    {"__name__": "up", "job": "kubevirt-steward"},
    {"__name__": "finding:kubevirt_vm_mac_duplicate:held"},
    *({"__name__": f"{name}_of_somebody"} for name in RECORDED),
]


def made(format_name: str) -> Any:
    return read_yaml(document(format_name, PACK, Values()))


def allowed() -> dict[str, list[str]]:
    """The list as the collector of user workload metrics reads it."""
    found: dict[str, list[str]] = read_yaml(made("acm")["data"]["uwl_metrics_list.yaml"])
    return found


def selectors() -> list[str]:
    """Those by which the collector asks Prometheus: one for each name, one for each match."""
    of = allowed()
    return [*(f'{{__name__="{name}"}}' for name in of["names"]), *(f"{{{match}}}" for match in of["matches"])]


def by_acm(series: Labels) -> bool:
    return any(_selects(selector, series) for selector in selectors())


def _selects(selector: str, series: Labels) -> bool:
    parsed = promql_parser.parse(selector)
    assert isinstance(parsed, promql_parser.VectorSelector)
    assert all(each.op == promql_parser.MatchOp.Equal for each in parsed.matchers.matchers)
    return all(series.get(each.name, "") == each.value for each in parsed.matchers.matchers)


def by_remote_write(series: Labels) -> bool:
    (relabel,) = made("remote-write")["write_relabel_configs"]
    assert relabel["action"] == "keep"
    text = ";".join(series.get(label, "") for label in relabel["source_labels"])
    return re.fullmatch(relabel["regex"], text) is not None


@pytest.mark.parametrize("way", [by_acm, by_remote_write])
def test_each_way_lets_through_what_is_for_the_hub_and_nothing_else(way: Callable[[Labels], bool]) -> None:
    assert [series for series in GOES if not way(series)] == []
    assert [series for series in STAYS if way(series)] == []


def test_the_allow_list_is_the_object_that_the_hub_of_acm_reads() -> None:
    found = made("acm")
    assert (found["apiVersion"], found["kind"]) == ("v1", "ConfigMap")
    assert found["metadata"] == {
        "name": "observability-metrics-custom-allowlist",
        "namespace": "open-cluster-management-observability",
    }
    assert list(found["data"]) == ["uwl_metrics_list.yaml"], "what user workload monitoring evaluates is its own list"
    assert list(allowed()) == ["names", "matches"], "nothing else is taken of that list"
    assert all(isinstance(each, str) for of in allowed().values() for each in of)


def test_the_allow_list_names_what_the_rules_of_user_workload_monitoring_record() -> None:
    rules = [
        rule
        for text in files("openshift-user", PACK, Values(exported=True)).values()
        for group in read_yaml(text)["spec"]["groups"]
        for rule in group["rules"]
    ]
    recorded = {rule["record"] for rule in rules if "record" in rule}
    alerts = [rule["labels"] for rule in rules if "alert" in rule]
    assert set(allowed()["names"]) <= recorded
    assert set(allowed()["names"]) == {rule.record for rule in _of("hub", "slo") if isinstance(rule, Recording)}
    assert alerts
    assert all(labels["kubernetes_operator_component"] == "kubevirt-steward" for labels in alerts)


def _of(*areas: str) -> list[Alerting | Recording]:
    return [rule for file in PACK if file.name in areas for rule in file.rules]


def test_a_hub_that_evaluates_the_rules_gets_all_that_they_read() -> None:
    (relabel,) = made("remote-write-raw")["write_relabel_configs"]
    for name in read_by(PACK):
        assert re.fullmatch(relabel["regex"], f"{name};kubevirt-steward"), name
    for name in ("up", "process_start_time_seconds"):
        assert not re.fullmatch(relabel["regex"], f"{name};node-exporter"), "of other targets too"


def test_the_manual_shows_the_object_that_is_made() -> None:
    text = (REPO / "docs/clusters.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```yaml\n# acm-allowlist.yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert read_yaml(shown).items() <= made("acm").items()
