"""What Kubernetes and KubeVirt do with VMs whose node is lost, and what is said of it beforehand."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any

import pytest

from tests.cluster.exporter import Exporter
from tests.cluster.resources import NODES, VMIS
from tests.kubevirt.installation import NODES as VM_NODES
from tests.kubevirt.migration_findings import MOVES, found, reasons
from tests.kubevirt.stage import Answer, Stage
from tests.manifests import Object
from tests.waiting import wait_until

NODE, OTHER, _ = VM_NODES
UNREACHABLE, OUT_OF_SERVICE = "node.kubernetes.io/unreachable", "node.kubernetes.io/out-of-service"
HEARTBEAT, SCHEDULABLE = "kubevirt.io/heartbeat", "kubevirt.io/schedulable"
# Five seconds instead of the five minutes that pods get which say nothing.
SOON = 5
TOLERATIONS = [{"key": UNREACHABLE, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": SOON}]
LOST: dict[str, dict[str, Any]] = {
    "db": {"eviction": "LiveMigrate"},
    "rerun": {"eviction": "LiveMigrateIfPossible", "strategy": "RerunOnFailure"},
    "tenant": {"eviction": "External"},
    "old": {"eviction": "None"},
    "once": {"eviction": "LiveMigrate", "strategy": "Once"},
    "batch": {"strategy": "Manual"},
}
START = ("db", "old", "rerun", "tenant")


@pytest.fixture(autouse=True)
def whole(stage: Stage) -> None:
    """The node that another test has lost is back."""
    stage.wait_ready(NODE, ready=True)


def test_what_becomes_of_each_vm_is_said_before_it_happens(stage: Stage, exporter: Exporter, patient: Exporter) -> None:
    with stage.only_on(OTHER):
        stage.running("web", tolerations=TOLERATIONS, **MOVES)
    with stage.only_on(NODE):
        for name, how in LOST.items():
            stage.vm(name, tolerations=TOLERATIONS, **how)
        assert stage.act("batch", "start") == Answer()
        create_alone(stage, "alone")
        before = {name: stage.wait_running(name) for name in (*LOST, "alone")}
        stage.running("kept", tolerations=[{"operator": "Exists"}], **MOVES)
    assert lost(exporter) == []
    stage.orders.dead.add(NODE)
    stage.wait_ready(NODE, ready=False)
    finding = found(exporter, stage, "evictions", "NodeLost")
    assert (finding["subject"]["name"], finding["severity"]) == (NODE, "critical")

    tainted = wait_until(partial(taint_of, stage), 30, "the node is tainted")
    said = wait_until(partial(told, exporter, stage, "podsDeletedFrom"), 30, "it is said when the pods are deleted")
    facts = said["evidence"]
    assert moment(facts["podsDeletedFrom"]) - moment(tainted["timeAdded"]) == SOON
    assert (facts["vmis"], facts["podsKept"]) == (8, 1)
    assert facts["startAgain"] == len(START) + 1  # and kept, once somebody deletes its pod
    down = {"alone": "no VM", "batch": "run strategy Manual", "once": "run strategy Once"}
    assert facts["stayDown"] == [f"{stage.namespace}/{name} ({why})" for name, why in down.items()]
    assert "None is migrated, and none starts elsewhere" in said["message"]

    assert_its_pods_are_deleted_and_nothing_moves(stage, exporter, before, moment(facts["podsDeletedFrom"]))
    assert {vmi: stage.vmi(vmi)["metadata"]["uid"] for vmi in before} == uids(before)  # type: ignore[index]

    stage.taint(NODE, OUT_OF_SERVICE, "NoExecute")  # the host is off
    for name in START:
        stage.wait_ended(before[name])
        assert stage.wait_running(name)["status"]["nodeName"] != NODE
    for name in down:
        wait_until(partial(has_failed, stage, name), 60, f"{name} has failed")
    assert {name: vmi["metadata"]["uid"] for name in down if (vmi := stage.vmi(name))} == {
        name: before[name]["metadata"]["uid"] for name in down
    }
    assert stage.wait_running("web")["status"]["nodeName"] == OTHER
    assert reasons(patient, stage, "web") == []


def assert_its_pods_are_deleted_and_nothing_moves(
    stage: Stage, exporter: Exporter, before: dict[str, Object], when: float
) -> None:
    """Those that do not tolerate the taint for good."""

    def deleted() -> list[str] | None:
        times = [pod["metadata"].get("deletionTimestamp", "") for name in before for pod in stage.pods(name)]
        return times if all(times) else None

    assert len(wait_until(deleted, 60, "the launcher pods are deleted")) == len(before)
    assert "deletionTimestamp" not in stage.pods("kept")[0]["metadata"]
    said = wait_until(partial(told, exporter, stage, "podsEnding", len(before)), 30, "it is said that they are")
    assert "podsDeletedFrom" not in said["evidence"]
    pods = [pod for name in before for pod in stage.pods(name)]
    grace = {pod["metadata"]["name"]: pod["metadata"]["deletionGracePeriodSeconds"] for pod in pods}
    asked = [moment(pod["metadata"]["deletionTimestamp"]) - grace[pod["metadata"]["name"]] for pod in pods]
    assert min(asked) >= when
    assert [stage.evacuation(name) for name in before] == [""] * len(before)
    assert [migration for name in before for migration in stage.migrations(name)] == []
    assert {stage.vmi(name)["status"]["phase"] for name in before} == {"Running"}  # type: ignore[index]


def test_a_drain_of_a_lost_node_moves_nothing_and_each_migration_is_said_to_hang(
    stage: Stage, exporter: Exporter
) -> None:
    with stage.only_on(NODE):
        stage.running("db", **MOVES)
    stage.orders.dead.add(NODE)
    stage.wait_ready(NODE, ready=False)
    stage.cordon(NODE)
    assert stage.evict("db").code == 429
    stage.wait_phases("db", "TargetReady")

    def waits_for_its_source() -> Object | None:
        finding = found(exporter, stage, "evictions", "MigrationHanging", "db")
        return finding if finding["evidence"]["cause"] == "SourceHandler" else None

    finding = wait_until(waits_for_its_source, 30, "the migration waits for its source")
    assert finding["evidence"]["nodeReady"] is False
    assert finding["next"].startswith(f"Bring node {NODE} back")
    assert found(exporter, stage, "evictions", "NodeLost")["evidence"]["startAgain"] == 1
    stage.orders.dead.clear()
    stage.wait_moved("db", NODE)
    wait_until(lambda: lost(exporter) == [], 60, "the node is not lost any more")


def test_after_five_minutes_kubevirt_puts_nothing_more_there_and_leaves_what_has_a_pod(
    stage: Stage, exporter: Exporter
) -> None:
    with stage.only_on(NODE):
        vmi = stage.running("db", **MOVES)
    stage.orders.dead.add(NODE)
    stage.wait_ready(NODE, ready=False)
    stage.client.patch(NODES, None, NODE, {"metadata": {"annotations": {HEARTBEAT: "2020-01-01T00:00:00Z"}}})

    def closed() -> bool:
        return bool(stage.client.get(NODES, None, NODE)["metadata"]["labels"][SCHEDULABLE] == "false")

    wait_until(closed, 60, "KubeVirt takes the node for unschedulable")
    assert found(exporter, stage, "evictions", "NodeLost")["evidence"]["vmis"] == 1
    assert stage.client.get(VMIS, stage.namespace, "db")["status"]["phase"] == "Running"
    stage.orders.dead.clear()
    stage.wait_ready(NODE, ready=True)
    wait_until(lambda: not closed(), 60, "KubeVirt takes the node for schedulable again")
    assert stage.wait_running("db")["metadata"]["uid"] == vmi["metadata"]["uid"]
    wait_until(lambda: lost(exporter) == [], 60, "the node is not lost any more")


def create_alone(stage: Stage, name: str) -> None:
    """A VMI that no VM owns."""
    domain = {"devices": {}, "resources": {"requests": {"memory": "64Mi"}}}
    spec = {"domain": domain, "tolerations": TOLERATIONS}
    meta = {"namespace": stage.namespace, "name": name}
    kind = {"apiVersion": VMIS.api_version, "kind": "VirtualMachineInstance"}
    stage.client.create({**kind, "metadata": meta, "spec": spec})


def has_failed(stage: Stage, name: str) -> bool:
    return bool((stage.vmi(name) or {}).get("status", {}).get("phase") == "Failed")


def taint_of(stage: Stage) -> Object | None:
    taints = stage.client.get(NODES, None, NODE)["spec"].get("taints", [])
    return next((each for each in taints if (each["key"], each["effect"]) == (UNREACHABLE, "NoExecute")), None)


def lost(exporter: Exporter) -> list[Object]:
    return [f for f in exporter.report("?check=evictions")["findings"] if f["reason"] == "NodeLost"]


def told(exporter: Exporter, stage: Stage, fact: str, value: object = None) -> Object | None:
    finding = found(exporter, stage, "evictions", "NodeLost")
    has = finding["evidence"].get(fact)
    return finding if has is not None and value in (None, has) else None


def uids(vmis: dict[str, Object]) -> dict[str, str]:
    return {name: vmi["metadata"]["uid"] for name, vmi in vmis.items()}


def moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
