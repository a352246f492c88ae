"""Two clusters, a steward in each, and one Prometheus over both: from a shared firmware UUID to an alert and back."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from exporter.config.settings import Config, MetricsSettings
from exporter.facts.firmware import legacy
from tests.cluster import fleet
from tests.cluster.apiserver import ApiServer
from tests.cluster.client import Client
from tests.cluster.conftest import MakeApiServer, MakePrometheus, Tools
from tests.cluster.exporter import Exporter, grant
from tests.cluster.prometheus import Prometheus
from tests.cluster.resources import VMIS, VMS
from tests.cluster.shell import Shell, fill
from tests.cluster.test_runbooks import ACROSS
from tests.manifests import Object
from tests.rules import RULES, steps
from tests.waiting import wait_until

from .prometheus import quick_rules

pytestmark = pytest.mark.long

UUID, ANOTHER = "5b4e28ba-2fa1-41d2-883f-0016d3cca427", "6b4e28ba-2fa1-41d2-883f-0016d3cca427"


@dataclass(frozen=True)
class Cluster:
    server: ApiServer
    client: Client
    exporter: Exporter


@pytest.fixture
def clusters(api_server: ApiServer, own_api_server: MakeApiServer, namespace: str) -> Iterator[dict[str, Cluster]]:
    """East and west, with a namespace of one name, each with a steward that tells of UUIDs."""
    config = Config(metrics=MetricsSettings(firmware_uuid_info=True))
    with ExitStack() as ends:
        made = {}
        for name, server in (("east", api_server), ("west", own_api_server())):
            client = server.client()
            client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
            grant(client)
            exporter = ends.enter_context(Exporter(server.kubeconfig("steward-exporter"), config=config))
            made[name] = Cluster(server, client, exporter)
        for cluster in made.values():
            cluster.exporter.wait_ready()
        yield made


def run(cluster: Cluster, namespace: str, name: str, uuid: str) -> None:
    """A VM that runs with this UUID."""
    vm = fleet.vm(namespace, name)
    vm["spec"]["template"]["spec"]["domain"]["firmware"] = {"uuid": uuid}
    made = cluster.client.create(vm)
    cluster.client.make(fleet.vmi(made))


def over(clusters: dict[str, Cluster], prometheus: MakePrometheus, rules: Path) -> Prometheus:
    targets = [{"targets": [each.exporter.address], "labels": {"cluster": name}} for name, each in clusters.items()]
    job: Object = {"job_name": "fleet", "honor_labels": True, "static_configs": targets}
    server = prometheus(scrape_configs=[job], rule_files=[rules])
    wait_until(lambda: len(server.query("kubevirt_steward_ready == 1")) == len(clusters), 60, "both are scraped")
    return server


def test_one_uuid_in_two_clusters_is_alerted_on_until_the_runbook_is_followed(
    clusters: dict[str, Cluster], binary: Tools, prometheus: MakePrometheus, namespace: str, tmp_path: Path
) -> None:
    east, west = clusters["east"], clusters["west"]
    server = over(clusters, prometheus, quick_rules("fleet", tmp_path))

    def alerts(state: str) -> set[tuple[str, str, str]]:
        return {
            (labels["cluster"], labels["name"], labels["uuid_prefix"])
            for labels in (alert["labels"] for alert in server.alerts() if alert["state"] == state)
            if labels["alertname"] == ACROSS and labels["namespace"] == namespace
        }

    both = {("east", "db", UUID[:8]), ("west", "copy", UUID[:8])}
    run(east, namespace, "db", UUID)
    run(east, namespace, "fine", ANOTHER)
    run(west, namespace, "copy", UUID.upper())
    wait_until(lambda: alerts("firing") == both, 90, "the alert fires on both")
    waited = f'count_over_time(ALERTS{{alertname="{ACROSS}", namespace="{namespace}", alertstate="pending"}}[10m]) > 5'
    assert len(server.query(waited)) == 2
    assert not any(UUID in str(alert["labels"]) + str(alert["annotations"]) for alert in server.alerts())

    west.client.remove(VMIS, namespace, "copy")
    wait_until(lambda: not alerts("firing") | alerts("pending"), 90, "one that is stopped is not alerted on")
    in_pod = [sys.executable, "-m", "tests.cluster.in_pod", f"{west.server.kubeconfig('steward-exporter')}", namespace]
    new = follow(Shell(binary("kubectl"), west.server, in_pod, tmp_path), west.client, namespace, "copy")
    changed = west.client.get(VMS, namespace, "copy")
    west.client.make(fleet.vmi(changed))
    server.wait_for(f'kubevirt_vm_firmware_uuid_info{{name="copy", uuid="{new}", running="true"}}')
    shared = "VM:kubevirt_vm_firmware_uuid_info:held"
    wait_until(lambda: not server.query(shared) and not alerts("firing") | alerts("pending"), 60, "none is shared")


def follow(shell: Shell, client: Client, namespace: str, name: str) -> str:
    """The runbook, as it is written: what it writes takes effect once and on what was read. Gives the new UUID."""
    tried = [step for step in steps(RULES / "runbooks" / f"{ACROSS}.md") if not step.untried]
    begin, look, read, patch, whole, verify = tried
    assert shell(fill(begin.text, {"NAMESPACE": namespace, "NAME": name})).returncode == 0
    assert [shell(each.text).returncode for each in (look, read)] == [0, 0]

    assert shell(patch.text, VM_UID="another").returncode != 0
    assert shell(patch.text, RESOURCEVERSION="1").returncode != 0
    assert shell(patch.text).returncode == 0
    assert "is invalid" in shell(patch.text).stderr
    assert shell(verify.text).stdout == shell.expanded(verify.prints)
    new = shell.variables["NEWUUID"]

    client.create(fleet.vm(namespace, "bare", firmware={}))
    assert shell(fill(begin.text, {"NAMESPACE": namespace, "NAME": "bare"})).returncode == 0
    assert shell(read.text).returncode == 0
    assert "is invalid" in shell(patch.text).stderr
    assert shell(whole.text).returncode == 0
    return new


def test_a_name_that_two_clusters_share_is_a_legacy_uuid_that_they_share(
    clusters: dict[str, Cluster], prometheus: MakePrometheus, namespace: str, tmp_path: Path
) -> None:
    server = over(clusters, prometheus, quick_rules("fleet", tmp_path))
    name = f"legacy-{namespace}"
    for cluster in clusters.values():
        cluster.client.make(fleet.vm(namespace, name, firmware={}))
    info = f'kubevirt_vm_firmware_uuid_info{{name="{name}", uuid="{legacy(name)}", origin="legacy", running="false"}}'

    def telling() -> list[str]:
        return sorted(each["metric"]["cluster"] for each in server.query(info))

    wait_until(lambda: telling() == ["east", "west"], 60, "both clusters tell of it")
