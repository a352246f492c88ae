"""docs/kubevirt-alerts.md: KubeVirt's alerts are inhibited for the same object, and those it names are there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from exporter.rules import Values
from exporter.rules.formats import files
from tests.case_files import read_yaml
from tests.cluster.alertmanager import Alertmanager
from tests.cluster.conftest import Tools
from tests.rules import RULES
from tests.unit.exporter.rules.test_rules import NAMES
from tests.waiting import wait_until

PAGE = (RULES.parent / "docs/kubevirt-alerts.md").read_text(encoding="utf-8")
VM = {"cluster": "east", "namespace": "shop", "name": "db"}
STUCK = {"alertname": "VirtualMachineStuckInUnhealthyState", **VM, "vm": "db", "status": "starting"}
# What the steward sends, what KubeVirt sends of the same, and of another object.
PAIRS: dict[str, tuple[dict[str, str], dict[str, str], dict[str, str]]] = {
    "drained": (
        {"alertname": "VMEvictionNotMigratable", **VM, "kind": "VirtualMachineInstance", "node": "node01"},
        {"alertname": "VMCannotBeEvicted", **VM, "node": "node01", "vm": "db"},
        {"alertname": "VMCannotBeEvicted", **VM, "node": "node01", "vm": "web", "name": "web"},
    ),
    "node lost": (
        {"alertname": "KubeVirtNodeLost", "cluster": "east", "kind": "Node", "name": "node01", "node": "node01"},
        {"alertname": "OrphanedVirtualMachineInstances", "cluster": "east", "namespace": "kubevirt", "node": "node01"},
        {"alertname": "OrphanedVirtualMachineInstances", "cluster": "west", "namespace": "kubevirt", "node": "node01"},
    ),
    "no NAD": (
        {"alertname": "VMNADMissing", **VM, "kind": "VirtualMachine", "reason": "NadMissing"},
        STUCK,
        {**STUCK, "namespace": "bank"},
    ),
    "a pool's instancetype, which is no VM's": (
        {"alertname": "VMInstancetypeMissing", **VM, "kind": "VirtualMachinePool", "reason": "PoolObjectMissing"},
        {},
        STUCK,
    ),
    "launcher pod": (
        {"alertname": "VMLauncherPodStuck", **VM, "kind": "VirtualMachineInstance", "vm": "db", "node": "node01"},
        {"alertname": "VirtualMachineStuckOnNode", **VM, "vm": "db", "node": "node01", "status": "starting"},
        {"alertname": "VirtualMachineStuckOnNode", **VM, "vm": "db", "name": "db2", "status": "starting"},
    ),
}


OURS = {"kubernetes_operator_component": "kubevirt-steward"}
THEIRS = {"kubernetes_operator_component": "kubevirt", "kubernetes_operator_part_of": "kubevirt"}


def inhibitions(*options: str) -> list[dict[str, Any]]:
    values = Values().with_set(options, ())
    return list(read_yaml(files("alertmanager", (), values)["alertmanager.yaml"])["inhibit_rules"])


OF_KUBEVIRT = [each for each in inhibitions("kubevirt=true") if each not in inhibitions()]


@pytest.fixture
def alertmanager(binary: Tools) -> Iterator[Alertmanager]:
    config = {"route": {"receiver": "nobody"}, "receivers": [{"name": "nobody"}], "inhibit_rules": OF_KUBEVIRT}
    server = Alertmanager(binary("alertmanager"), config=config)
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.mark.parametrize("pair", PAIRS)
def test_what_the_steward_explains_is_not_sent_twice_and_nothing_else_is_held_back(
    alertmanager: Alertmanager, pair: str
) -> None:
    ours, theirs, others = PAIRS[pair]
    ours, theirs, others = {**ours, **OURS}, theirs and {**theirs, **THEIRS}, {**others, **THEIRS}
    sent = [each for each in (ours, theirs, others) if each]
    for labels in sent:
        alertmanager.fire(labels)
    alerts = wait_until(lambda: _all(alertmanager, len(sent)), 30, "Alertmanager has looked at all alerts")
    held = [alert["labels"] for alert in alerts if alert["status"]["inhibitedBy"]]
    assert held == ([theirs] if theirs else [])


def _all(alertmanager: Alertmanager, count: int) -> list[dict[str, Any]]:
    alerts = [each for each in alertmanager.alerts() if each["status"]["state"] != "unprocessed"]
    return alerts if len(alerts) == count else []


def test_the_alerts_of_the_steward_that_the_page_names_are_there() -> None:
    table = [row.split("|")[3] for row in PAGE.splitlines() if row.startswith("| ") and row.count("|") > 4][2:]
    said = set(re.findall(r"\b(?:VM|KubeVirt|Steward)[A-Z][A-Za-z]{6,}", " ".join(table)))
    sources = {
        name
        for rule in OF_KUBEVIRT
        for matcher in rule["source_matchers"]
        if matcher.startswith("alertname")
        for name in re.findall(r"[A-Za-z]{6,}", matcher.partition("=")[2])
    }
    assert sources
    assert sources <= said
    assert said <= {*NAMES}
