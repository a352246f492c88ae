"""Migrations that nobody needs for a drain and that go wrong, a pod that is left, and nodes that are lost."""

from __future__ import annotations

from typing import Any

from tests.cluster.exporter import Exporter
from tests.kubevirt.installation import NODES
from tests.kubevirt.stage import Answer, Stage
from tests.kubevirt.story import Story
from tests.manifests import Object
from tests.waiting import wait_until

HOST = "kubernetes.io/hostname"
MOVES = {"eviction": "LiveMigrate"}


def found(exporter: Exporter, stage: Stage, check: str, reason: str) -> Object:
    """The finding of this reason in the namespace of the stage, or of no namespace; waits for it."""

    def there() -> Object | None:
        reported = exporter.report(f"?check={check}")["findings"]
        ours = (stage.namespace, "")
        return next((f for f in reported if f["reason"] == reason and f["subject"]["namespace"] in ours), None)

    return wait_until(there, 90, f"{reason} is found")


def none_of(exporter: Exporter, stage: Stage, check: str) -> None:
    def gone() -> bool:
        return not exporter.report(f"?check={check}&namespace={stage.namespace}")["findings"]

    wait_until(gone, 60, f"{check} finds nothing any more")


def test_a_target_whose_image_is_not_there(stage: Stage, exporter: Exporter) -> None:
    stage.running("db", **MOVES)
    stage.orders.unpulled.add(stage.key("db"))
    assert stage.act("db", "migrate") == Answer()
    finding = found(exporter, stage, "migrations", "TargetNotStarting")
    assert (finding["severity"], finding["evidence"]["cause"]) == ("info", "Image")
    assert "container compute waits (ImagePullBackOff: Back-off pulling image" in finding["message"]
    stage.orders.unpulled.clear()
    none_of(exporter, stage, "migrations")


def test_a_full_fleet(stage: Stage, exporter: Exporter) -> None:
    stage.running("db", **MOVES)
    stage.orders.unplaced.add(stage.key("db"))
    assert stage.act("db", "migrate") == Answer()
    finding = found(exporter, stage, "migrations", "TargetUnschedulable")
    assert finding["evidence"]["cause"] == "Resource"
    assert finding["evidence"]["ruledOut"]["Insufficient memory"] == len(NODES) - 1
    assert finding["next"].startswith("Free memory on another node")


def test_anti_affinity_leaves_no_node(stage: Stage, exporter: Exporter) -> None:
    rule = {"labelSelector": {"matchLabels": {"kubevirt.io": "virt-launcher", "app": "db"}}, "topologyKey": HOST}
    apart: Any = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}}
    for number in range(len(NODES)):
        stage.running(f"db-{number}", vmi_labels={"app": "db"}, affinity=apart, **MOVES)
    (drained,) = [vm for name, vm in Story(exporter, stage).drain().items() if name.startswith("db-")]
    assert (drained["state"], drained["reason"]) == ("blocked", "NoTarget")
    assert "its anti-affinity keeps it apart from" in drained["why"]

    assert stage.act("db-0", "migrate") == Answer()
    finding = found(exporter, stage, "migrations", "TargetUnschedulable")
    assert (finding["subject"]["name"], finding["evidence"]["cause"]) == ("db-0", "AntiAffinity")


def test_migrations_by_hand_that_fail(stage: Stage, exporter: Exporter) -> None:
    stage.running("db", **MOVES)
    stage.orders.fails.add(stage.key("db"))
    for phases in (["Failed"], ["Failed", "Failed"]):
        assert stage.act("db", "migrate") == Answer()
        stage.wait_phases("db", *phases)
    finding = found(exporter, stage, "migrations", "MigrationFailing")
    assert (finding["severity"], finding["evidence"]["failed"]) == ("info", 2)
    assert "ordered to fail" in finding["message"]
    stage.cordon(finding["node"])

    def warned() -> bool:
        return bool(found(exporter, stage, "migrations", "MigrationFailing")["severity"] == "warning")

    wait_until(warned, 30, "somebody waits for it")
    stage.uncordon(finding["node"])
    stage.orders.fails.clear()
    assert stage.act("db", "migrate") == Answer()
    none_of(exporter, stage, "migrations")


def test_a_source_pod_that_goes_on(stage: Stage, exporter: Exporter) -> None:
    vmi = stage.running("db", **MOVES)
    stage.orders.lingers.add(stage.key("db"))
    assert stage.act("db", "migrate") == Answer()
    stage.wait_phases("db", "Succeeded")
    finding = found(exporter, stage, "migrations", "SourcePodLeft")
    assert finding["severity"] == "critical"
    assert finding["evidence"]["leftOn"] == [vmi["status"]["nodeName"]]
    stage.orders.lingers.clear()
    none_of(exporter, stage, "migrations")


def test_a_lost_node(stage: Stage, exporter: Exporter) -> None:
    with stage.only_on(NODES[0]):
        stage.running("db", **MOVES)
    stage.orders.dead.add(NODES[0])
    stage.wait_ready(NODES[0], ready=False)
    finding = found(exporter, stage, "evictions", "NodeLost")
    assert finding["subject"]["name"] == NODES[0]
    assert f"{stage.namespace}/db" in finding["evidence"]["named"]
    stage.orders.dead.clear()
    stage.wait_ready(NODES[0], ready=True)


def test_no_node_takes_vms(stage: Stage, exporter: Exporter) -> None:
    for node in NODES:
        stage.cordon(node)

    def said() -> list[Object]:
        return list(exporter.report("?check=vm_nodes")["findings"])

    finding = wait_until(lambda: next(iter(said()), None), 60, "it is found that no node takes VMs")
    assert finding["message"].startswith(f"None of {len(NODES)} nodes takes VMs (3 cordoned): no VM starts")
    stage.uncordon(NODES[0])
    wait_until(lambda: not said(), 30, "one does again")
