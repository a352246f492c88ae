"""From a real API server to a finding, a metric and an alert, and back to quiet."""

from __future__ import annotations

import gzip
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.apiserver import ApiServer
from tests.cluster.client import Client
from tests.cluster.conftest import MakePrometheus
from tests.cluster.exporter import Exporter, grant
from tests.cluster.fleet import claimed_vm, delete_vm, nad, release
from tests.waiting import wait_until

from .prometheus import quick_rules

STUCK = {"db.blue": "StuckTerminatingOwnerGone"}


@pytest.fixture(scope="module")
def exporter(api_server: ApiServer) -> Iterator[Exporter]:
    grant(api_server.client())
    with Exporter(api_server.kubeconfig("steward-exporter"), graces=0.0) as running:
        yield running.wait_ready()


def test_a_claim_that_keeps_its_finalizer_is_found_and_cleared_within_two_seconds(
    exporter: Exporter, client: Client, namespace: str, record_property: Any
) -> None:
    client.create(nad(namespace, "blue", subnets="10.0.0.0/24"))
    claimed_vm(client, namespace, "db")
    claimed_vm(client, namespace, "web", ip="10.0.0.6/24")
    exporter.wait_found(namespace, {})

    started = time.monotonic()
    delete_vm(client, namespace, "db")
    exporter.wait_found(namespace, STUCK)
    opened = time.monotonic() - started
    finding = exporter.report(f"?namespace={namespace}")["findings"][0]

    started = time.monotonic()
    release(client, namespace, "db")
    exporter.wait_found(namespace, {})
    closed = time.monotonic() - started

    record_property("opened_seconds", opened)
    record_property("closed_seconds", closed)
    assert opened < 2
    assert closed < 2
    assert finding["severity"] == "warning"
    assert finding["sinceSource"] == "deletionTimestamp"
    assert finding["network"] == "tenantblue"
    assert finding["evidence"]["ips"] == ["10.0.0.5"]


def test_a_real_prometheus_takes_the_alert_from_pending_to_firing_and_back(
    exporter: Exporter, client: Client, namespace: str, prometheus: MakePrometheus, tmp_path: Path
) -> None:
    rules = quick_rules("ipam", tmp_path)
    server = prometheus(targets=[exporter.address], rule_files=[rules])
    server.wait_for("kubevirt_steward_ready == 1")

    claimed_vm(client, namespace, "db", ip="10.0.7.7/24")
    delete_vm(client, namespace, "db")
    wanted = {"alertname": "VMIPAMClaimLeftBehind", "namespace": namespace, "name": "db.blue"}

    def state() -> str:
        found = [a for a in server.alerts() if wanted.items() <= a["labels"].items()]
        return str(found[0]["state"]) if found else "inactive"

    wait_until(lambda: state() == "pending", 30, "the alert is pending")
    wait_until(lambda: state() == "firing", 60, "the alert fires")
    release(client, namespace, "db")
    wait_until(lambda: state() == "inactive", 60, "the alert is resolved")
    assert all(target["health"] == "up" and not target["lastError"] for target in server.targets())


def test_labels_of_the_target_do_not_stand_in_for_those_that_a_finding_has_no_value_for(
    exporter: Exporter, client: Client, namespace: str, prometheus: MakePrometheus
) -> None:
    own = {"node": "mon1", "namespace": "monitoring", "name": "steward", "vm": "other", "network": "red", "group": "g"}
    targets = [{"targets": [exporter.address], "labels": own}]
    server = prometheus(scrape_configs=[{"job_name": "steward", "honor_labels": True, "static_configs": targets}])

    claimed_vm(client, namespace, "db", ip="10.0.8.8/24")
    delete_vm(client, namespace, "db")
    for family in ("", "_since_timestamp_seconds"):
        found = server.wait_for(f'kubevirt_ipamclaim_stuck_terminating{family}{{namespace="{namespace}"}}')
        labels = {name: value for name, value in found[0]["metric"].items() if name not in ("job", "instance")}
        assert len(labels.pop("cause")) == 16
        assert labels == {
            "__name__": f"kubevirt_ipamclaim_stuck_terminating{family}",
            "check": "ipam_claims",
            "reason": "StuckTerminatingOwnerGone",
            "severity": "warning",
            "kind": "IPAMClaim",
            "namespace": namespace,
            "name": "db.blue",
            "vm": "db",
            "network": "tenantblue",
        }
    release(client, namespace, "db")


def test_telemetry_of_a_live_steward(exporter: Exporter, prometheus: MakePrometheus) -> None:
    server = prometheus(targets=[exporter.address])
    server.wait_for("kubevirt_steward_ready == 1")

    assert server.wait_for('kubevirt_steward_check_state{check="ipam_claims", state="answering"} == 1')
    assert not server.query("time() - kubevirt_steward_kind_current_timestamp_seconds > 300")
    live = 'kubevirt_steward_kind_sync_state{state="live"} == 1'
    assert server.wait_for(live)
    assert not server.query(f"({live}) unless on (kind) kubevirt_steward_kind_current_timestamp_seconds")
    assert server.wait_for("kubevirt_steward_event_delay_seconds_count > 0")
    assert server.query("histogram_quantile(0.99, kubevirt_steward_event_delay_seconds_bucket) < 60")
    assert server.query("kubevirt_steward_findings_closed_total > 0")
    assert not server.query("kubevirt_steward_series > kubevirt_steward_series_limit")


def test_the_generated_role_is_enough_and_nothing_is_written(exporter: Exporter, api_server: ApiServer) -> None:
    assert all(source["synced"] for source in exporter.report()["sources"])

    of_exporter = [e for e in api_server.audit_events() if e["user"]["username"] == "steward-exporter"]
    assert of_exporter
    assert {event["verb"] for event in of_exporter} <= {"list", "watch", "get"}
    refused = [e for e in of_exporter if e.get("responseStatus", {}).get("code") == 403]
    assert not [event["requestURI"] for event in refused]


def test_metrics_are_the_same_in_both_formats_and_packed(exporter: Exporter) -> None:
    def scrape(**headers: str) -> tuple[str, bytes]:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(f"{exporter.url}/metrics", headers=named)
        with urllib.request.urlopen(request) as answer:
            return answer.headers["Content-Type"], answer.read()

    text_type, text = scrape(Accept="text/plain")
    open_type, openmetrics = scrape(Accept="application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
    _, packed = scrape(Accept_Encoding="gzip")

    assert text_type.startswith("text/plain; version=0.0.4")
    assert open_type.startswith("application/openmetrics-text; version=1.0.0")
    assert openmetrics.endswith(b"# EOF\n")
    assert b"# EOF" not in text
    assert b"kubevirt_steward_findings{" in gzip.decompress(packed)
