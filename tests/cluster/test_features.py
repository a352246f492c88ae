"""Feature gates that change under VMs, on a real API server: who is reported, how badly, and how soon."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from demo.fleet import objects
from demo.fleet import surroundings as around
from tests.cluster import fleet
from tests.cluster.client import Client
from tests.cluster.conftest import MakeApiServer
from tests.cluster.exporter import Exporter, grant
from tests.cluster.resources import KUBEVIRTS
from tests.manifests import Object
from tests.shared import REPO
from tests.waiting import wait_until

Found = set[tuple[str, str, str, str]]
"""Reason, name of the subject, feature, severity."""
OLD, NEW = "v1.8.4", "v1.9.0"


@pytest.fixture(scope="module")
def server(module_api_server: MakeApiServer) -> Iterator[tuple[Client, Exporter]]:
    """One of its own, since KubeVirt's object is the whole cluster's."""
    made = module_api_server()
    client = made.client()
    grant(client)
    client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kubevirt"}})
    client.make(around.kubevirt("kubevirt", "kubevirt", OLD, configuration=gates("DownwardMetrics")))
    # What is said of KubeVirt's own object has a grace of minutes; what is said of VMs has none.
    with Exporter(made.kubeconfig("steward-exporter"), graces=0.01) as running:
        yield client, running.wait_ready()


def gates(*names: str) -> Object:
    return {"developerConfiguration": {"featureGates": list(names)}}


def configure(client: Client, *names: str) -> None:
    client.patch(KUBEVIRTS, "kubevirt", "kubevirt", {"spec": {"configuration": gates(*names)}})


def version(client: Client, observed: str, target: str) -> None:
    now = client.get(KUBEVIRTS, "kubevirt", "kubevirt")
    now["status"] |= {"observedKubeVirtVersion": observed, "targetKubeVirtVersion": target}
    client.update_status(now)


def vm(client: Client, namespace: str, name: str, strategy: str = "Halted", **domain: Any) -> Object:
    made = fleet.vm(namespace, name)
    made["spec"]["runStrategy"] = strategy
    devices = made["spec"]["template"]["spec"]["domain"].pop("devices") | domain.pop("devices", {})
    made["spec"]["template"]["spec"]["domain"] |= {"devices": devices, **domain}
    return client.create(made)


def started(client: Client, of: Object, phase: str = "Running", *, migratable: bool = True) -> None:
    vmi = fleet.vmi(of, phase)
    vmi["status"]["conditions"] = [objects.migratable(migratable)]
    client.make(vmi)


def reported(exporter: Exporter, namespace: str = "") -> list[Object]:
    query = f"?namespace={namespace}" if namespace else ""
    return [each for each in exporter.report(query)["findings"] if each["check"].startswith("feature_")]


def found(exporter: Exporter, namespace: str = "") -> Found:
    return {
        (each["reason"], each["subject"]["name"], each["feature"], each["severity"])
        for each in reported(exporter, namespace)
    }


def seconds_until(exporter: Exporter, namespace: str, wanted: Found, began: float) -> float:
    wait_until(lambda: found(exporter, namespace) == wanted, 30, f"just {sorted(wanted)}", every=0.02)
    return time.monotonic() - began


def test_a_gate_off_and_on_under_vms_in_each_state(server: tuple[Client, Exporter], record_property: Any) -> None:
    client, exporter = server
    namespace = "gates"
    client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    asks: Object = {"devices": {"downwardMetrics": {}}}
    started(client, vm(client, namespace, "moves", "Always", **asks))
    started(client, vm(client, namespace, "fixed", "Always", **asks), migratable=False)
    started(client, vm(client, namespace, "waits", "Always", **asks), "Scheduling", migratable=False)
    started(client, vm(client, namespace, "plain", "Always"))
    vm(client, namespace, "halted", **asks)
    vm(client, namespace, "always", "Always", **asks)
    asking = 'kubevirt_feature_requests{feature="downward_metrics",kind="VirtualMachine",phase="stopped"}'
    wait_until(lambda: exporter.value(asking) == 2, 30, "all of them are seen")
    assert found(exporter, namespace) == set()

    began = time.monotonic()
    configure(client)
    opened = seconds_until(
        exporter,
        namespace,
        {
            ("NotEditable", "moves", "downward_metrics", "warning"),
            ("NotEditable", "fixed", "downward_metrics", "warning"),
            ("PendingStartedBefore", "waits", "downward_metrics", "warning"),
            ("StoppedRequestsDisabled", "halted", "downward_metrics", "info"),
            ("StartBlocked", "always", "downward_metrics", "critical"),
        },
        began,
    )
    subjects = {each["subject"]["name"]: each["subject"]["kind"] for each in reported(exporter, namespace)}

    began = time.monotonic()
    configure(client, "DownwardMetrics")
    closed = seconds_until(exporter, namespace, set(), began)

    record_property("opened_seconds", opened)
    record_property("closed_seconds", closed)
    assert opened < 2
    assert closed < 2
    assert subjects.pop("waits") == "VirtualMachineInstance"
    assert set(subjects.values()) == {"VirtualMachine"}


def predicted(exporter: Exporter, query: str) -> Object:
    status, body = exporter.get(f"/api/v1/impact?{query}")
    assert status == 200, body
    impact: Object = json.loads(body)
    assert impact["leftOut"] == 0
    assert impact["unknownInAll"] == 0
    return impact


REFUSED = {
    ("StartBlocked", "reboots", "reboot_policy"),
    ("StoppedRequestsDisabled", "sealed", "sev"),
    ("StoppedRequestsDisabled", "sockets", "vsock"),
}
GOES = {each for each in REFUSED if each[2] != "vsock"}
COMES = {("NotEditable", "ranges-run", "port_ranges"), ("StoppedRequestsDisabled", "ranges", "port_ranges")}
BY_SETTING = {"PersistentReservation"}
"""GA in 1.9, and off all the same without its setting."""


def switched_in_1_9() -> set[str]:
    """By the second transcription of their states: in 1.8 a gate that nobody lists is on when it is GA, in 1.9 also
    when it is Beta.
    """
    with (REPO / "tests/unit/exporter/domain/gate_states.csv").open(encoding="utf-8") as table:
        states = {row["gate"]: (row["v1.8"], row["v1.9"]) for row in csv.DictReader(table)}
    return {gate for gate, (old, new) in states.items() if (old == "GA") != (new in ("GA", "B"))} - BY_SETTING


def triples(exporter: Exporter) -> set[tuple[str, str, str]]:
    """Without what is said of each gate that changes."""
    found = {triple(each) for each in reported(exporter)}
    return {each for each in found if each[0] != "ChangesAtUpgrade"}


def changing(exporter: Exporter) -> set[str]:
    return {each["feature"] for each in reported(exporter) if each["reason"] == "ChangesAtUpgrade"}


def triple(finding: Object) -> tuple[str, str, str]:
    return finding["reason"], finding["subject"]["name"], finding["feature"]


def fleet_of_features(client: Client, namespace: str) -> None:
    """What 1.8 takes and 1.9 does not, the other way round, and what both refuse or take."""
    client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    ranges = [{"name": "default", "masquerade": {}, "portRanges": [{"protocol": "TCP", "start": 8000, "end": 8010}]}]
    networks = {"networks": [{"name": "default", "pod": {}}]}

    def made(name: str, strategy: str = "Halted", spec: Object | None = None, **domain: Any) -> Object:
        of = fleet.vm(namespace, name)
        of["spec"]["runStrategy"] = strategy
        of["spec"]["template"]["spec"] = {"domain": {"devices": {}, **domain}, **(spec or {})}
        return client.create(of)

    made("plain")
    made("ranges", spec=networks, devices={"interfaces": ranges})
    started(client, made("ranges-run", "Always", networks, devices={"interfaces": ranges}))
    made("reboots", "Always", rebootPolicy="Terminate")
    made("sealed", launchSecurity={"sev": {}})
    started(client, made("metrics", "Always", devices={"downwardMetrics": {}}))
    made("sockets", devices={"autoattachVSOCK": True})


def test_what_is_foretold_of_an_upgrade_is_found_during_and_after_it(server: tuple[Client, Exporter]) -> None:
    client, exporter = server
    namespace = "upgrade"
    fleet_of_features(client, namespace)
    asking = 'kubevirt_feature_requests{feature="vsock",kind="VirtualMachine",phase="stopped"}'
    wait_until(lambda: exporter.value(asking) == 1 and exporter.unknown("feature_mismatch") == [], 30, "all are seen")
    wait_until(lambda: triples(exporter) == REFUSED, 30, "what 1.8 refuses is found", every=0.02)
    impact = predicted(exporter, "upgrade-to=1.9")
    told = [each for each in impact["findings"] if each["finding"]["check"].startswith("feature_")]
    comes, goes = ({triple(each["finding"]) for each in told if each["change"] == how} for how in ("appears", "goes"))
    assert comes == COMES
    assert goes == GOES
    assert {each["name"] for each in impact["gates"]} == switched_in_1_9()
    users = {each["name"]: (each["vms"], each["vmis"]) for each in impact["gates"] if each["vms"] or each["vmis"]}
    assert users == {"RebootPolicy": (1, 0), "WorkloadEncryptionSEV": (1, 0)}

    version(client, OLD, NEW)
    during = REFUSED | {("BreaksAtUpgrade", subject, feature) for _, subject, feature in comes}
    wait_until(lambda: triples(exporter) == during, 10, "what will break is found", every=0.02)
    wait_until(lambda: changing(exporter) == switched_in_1_9(), 10, "each gate that changes is named")

    version(client, NEW, NEW)
    wait_until(lambda: triples(exporter) == (REFUSED - goes) | comes, 10, "what was foretold is found", every=0.02)
