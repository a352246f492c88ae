"""Migrations that nobody needs for a drain and that find no target; beside each a VM that is like it and moves."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.cluster.exporter import Exporter
from tests.cluster.resources import VMIMS
from tests.kubevirt.installation import NODES
from tests.kubevirt.migration_findings import MOVES, becomes, found, none_of, reasons
from tests.kubevirt.stage import Answer, Stage
from tests.kubevirt.story import Story
from tests.manifests import Object
from tests.waiting import wait_until

HOST = "kubernetes.io/hostname"
CONTROLLER = "virt-controller"
GIVES_UP = {"kubevirt.io/migrationPendingPodTimeoutSeconds": "1"}
HUGE = {"devices": {}, "resources": {"requests": {"memory": "200Gi"}}}  # of the 256 GiB that each node has


def moves_quietly(stage: Stage, patient: Exporter, name: str) -> None:
    """A migration of this one succeeds, and nothing is ever found of it."""
    source = stage.wait_running(name)["status"]["nodeName"]
    assert stage.act(name, "migrate") == Answer()
    stage.wait_moved(name, source)
    stage.wait_phases(name, "Succeeded")
    assert reasons(patient, stage, name) == []


def test_a_target_whose_image_is_not_there(stage: Stage, exporter: Exporter, patient: Exporter) -> None:
    for name in ("db", "web"):
        stage.running(name, **MOVES)
    stage.orders.unpulled.add(stage.key("db"))
    assert stage.act("db", "migrate") == Answer()
    finding = found(exporter, stage, "migrations", "TargetNotStarting", "db")
    assert (finding["severity"], finding["evidence"]["cause"]) == ("info", "Image")
    assert "container compute waits (ImagePullBackOff: Back-off pulling image" in finding["message"]
    assert "virt-launcher" in finding["evidence"]["waiting"]
    assert finding["next"].startswith("Make the image of target pod")
    assert not any(CONTROLLER in each for each in (finding["next"], *finding["commands"]))
    moves_quietly(stage, patient, "web")
    stage.orders.unpulled.clear()
    none_of(exporter, stage, "migrations")


def test_what_a_target_waits_for_is_said_after_two_that_were_given_up(stage: Stage, exporter: Exporter) -> None:
    """By KubeVirt, after a quarter of an hour each, in a test's time."""
    source = stage.running("db", **MOVES)["status"]["nodeName"]
    stage.orders.unpulled.add(stage.key("db"))
    stage.cordon(source)
    stage.evict("db")
    for failed in range(1, 3):
        stage.wait_phases("db", *["Failed"] * (failed - 1), "Scheduling", seconds=120)
        last = stage.migrations("db")[-1]["metadata"]["name"]
        stage.client.patch(VMIMS, stage.namespace, last, {"metadata": {"annotations": GIVES_UP}})
        wait_until(partial(_begin, stage, ["Failed"] * failed), 60, "KubeVirt gives it up")
    stage.wait_phases("db", "Failed", "Failed", "Scheduling", seconds=120)

    def said() -> Object | None:
        finding = found(exporter, stage, "evictions", "MigrationFailing", "db")
        return finding if "Back-off pulling image" in finding["message"] else None

    finding = wait_until(said, 60, "it is said what the next target waits for")
    assert (finding["severity"], finding["evidence"]["failed"]) == ("warning", 2)
    assert finding["next"].startswith("Make the image of target pod")
    stage.orders.unpulled.clear()
    stage.wait_moved("db", source)
    none_of(exporter, stage, "evictions")


def _begin(stage: Stage, phases: list[str]) -> bool:
    return stage.phases("db")[: len(phases)] == phases


def test_a_full_fleet(stage: Stage, exporter: Exporter, patient: Exporter) -> None:
    for at in range(len(NODES)):
        stage.running(f"db-{at}", domain=HUGE, **MOVES)
    stage.running("web", **MOVES)
    node = placed(stage, "db-0")
    drained = Story(exporter, stage).drain(node)["db-0"]
    assert (drained["state"], drained["reason"]) == ("blocked", "NoTarget")
    assert "2 lack memory (needs 200" in drained["why"]
    assert drained["next"].startswith("Free memory on another node, or add a node")
    web = Story(exporter, stage).drain(placed(stage, "web"))["web"]
    assert (web["state"], web["reason"], web["target"] in NODES) == ("waiting", "", True)

    assert stage.act("db-0", "migrate") == Answer()
    finding = found(exporter, stage, "migrations", "TargetUnschedulable", "db-0")
    assert (finding["severity"], finding["evidence"]["cause"]) == ("info", "Resource")
    assert finding["evidence"]["ruledOut"]["Insufficient memory"] == len(NODES) - 1
    assert finding["next"].startswith("Free memory on another node, or add a node")
    moves_quietly(stage, patient, "web")
    assert stage.act("db-1", "stop") == Answer()
    none_of(exporter, stage, "migrations")


def test_anti_affinity_leaves_no_node(stage: Stage, exporter: Exporter, patient: Exporter) -> None:
    rule = {"labelSelector": {"matchLabels": {"kubevirt.io": "virt-launcher", "app": "db"}}, "topologyKey": HOST}
    apart: Any = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}}
    for at in range(len(NODES)):
        stage.running(f"db-{at}", vmi_labels={"app": "db"}, affinity=apart, **MOVES)
    stage.running("web", vmi_labels={"app": "web"}, **MOVES)
    story = Story(exporter, stage)
    drained = story.drain(placed(stage, "db-0"))["db-0"]
    assert (drained["state"], drained["reason"]) == ("blocked", "NoTarget")
    assert "2 with pods that its anti-affinity keeps it apart from (db-1, db-2)" in drained["why"]
    assert drained["next"].startswith("Add a node, free one from the pods that the VM's anti-affinity avoids")
    assert story.drain(placed(stage, "web"))["web"]["state"] == "waiting"

    assert stage.act("db-0", "migrate") == Answer()
    finding = found(exporter, stage, "migrations", "TargetUnschedulable", "db-0")
    assert finding["evidence"]["cause"] == "AntiAffinity"
    assert finding["evidence"]["ruledOut"]["node(s) didn't match pod anti-affinity rules"] == len(NODES)
    assert finding["next"].startswith("Ask an administrator for a node. Or stop a VM with labels app=db")
    moves_quietly(stage, patient, "web")
    assert stage.act("db-1", "stop") == Answer()
    none_of(exporter, stage, "migrations")


def placed(stage: Stage, name: str) -> str:
    return str(stage.wait_running(name)["status"]["nodeName"])


def test_migrations_by_hand_that_fail(stage: Stage, exporter: Exporter) -> None:
    stage.running("db", **MOVES)
    stage.orders.fails.add(stage.key("db"))
    for phases in (["Failed"], ["Failed", "Failed"]):
        assert stage.act("db", "migrate") == Answer()
        stage.wait_phases("db", *phases)
    finding = becomes(exporter, stage, "MigrationFailing", "info")
    assert finding["evidence"]["failed"] == 2
    assert "ordered to fail" in finding["message"]
    stage.cordon(finding["node"])
    becomes(exporter, stage, "MigrationFailing", "warning")
    stage.uncordon(finding["node"])
    stage.orders.fails.clear()
    assert stage.act("db", "migrate") == Answer()
    none_of(exporter, stage, "migrations")
