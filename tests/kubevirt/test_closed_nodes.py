"""Nodes that take no VMs: all of them, one that an upgrade has cordoned, one whose drain somebody takes back."""

from __future__ import annotations

from tests.cluster.exporter import Exporter
from tests.cluster.resources import NODES
from tests.kubevirt.installation import NODES as VM_NODES
from tests.kubevirt.migration_findings import MOVES, becomes, found, none_of
from tests.kubevirt.settings import Settings
from tests.kubevirt.stage import Answer, Stage
from tests.kubevirt.story import Story
from tests.manifests import Object
from tests.waiting import wait_until

NODE, *OTHERS = VM_NODES
TAINT = "kubevirt.io/drain"
ABOUT_DRAINS = "machineconfiguration.openshift.io"


def test_no_node_takes_vms(stage: Stage, exporter: Exporter) -> None:
    stage.running("db", **MOVES)
    for node in VM_NODES[:-1]:
        stage.cordon(node)
    assert all_closed(exporter) == []  # one is left
    stage.cordon(VM_NODES[-1])
    finding = wait_until(lambda: next(iter(all_closed(exporter)), None), 60, "it is found that no node takes VMs")
    assert finding["message"].startswith(f"None of {len(VM_NODES)} nodes can run VMs (3 cordoned). No VM starts")
    assert finding["next"].startswith("Uncordon a node")
    drained = Story(exporter, stage).drain(stage.wait_running("db")["status"]["nodeName"])["db"]
    assert (drained["state"], drained["reason"]) == ("blocked", "NoTarget")
    assert "2 cordoned" in drained["why"]
    assert drained["next"].startswith("Uncordon a node, but only one that is not being drained")
    stage.uncordon(NODE)
    wait_until(lambda: not all_closed(exporter), 30, "one does again")


def all_closed(exporter: Exporter) -> list[Object]:
    return list(exporter.report("?check=vm_nodes")["findings"])


def test_a_node_that_an_upgrade_has_cordoned(stage: Stage, exporter: Exporter) -> None:
    """Neither a taint nor a request shows it: an operator has begun its drain, and says so by annotations."""
    stage.orders.fixed.update(map(stage.key, ("licence", "other")))
    with stage.only_on(NODE):
        for name in ("licence", "db"):
            stage.running(name, **MOVES)
    with stage.only_on(OTHERS[0]):
        stage.running("other", **MOVES)
    story = Story(exporter, stage)
    stage.cordon(NODE)
    story.comes_to({"licence": "NotMigratableWhileCordoned"})
    assert stage.evacuation("licence") == ""
    try:
        note(stage, desired="drain-1", applied="uncordon-0")
        story.comes_to({"licence": "NotMigratable"})
        facts = found(exporter, stage, "evictions", "NotMigratable")["evidence"]
        assert facts["drain"] == ["the MachineConfig operator is draining it"]
        note(stage, desired="drain-1", applied="drain-1")
        story.comes_to({"licence": "NotMigratableWhileCordoned"})
    finally:
        note(stage, desired=None, applied=None)
    stage.uncordon(NODE)
    story.comes_to({})


def note(stage: Stage, **drains: str | None) -> None:
    names = {"desired": f"{ABOUT_DRAINS}/desiredDrain", "applied": f"{ABOUT_DRAINS}/lastAppliedDrain"}
    annotations = {names[each]: value for each, value in drains.items()}
    stage.client.patch(NODES, None, NODE, {"metadata": {"annotations": annotations}})


def test_a_drain_taint_that_is_wiped_in_the_middle(stage: Stage, exporter: Exporter, settings: Settings) -> None:
    """KubeVirt goes on with the migrations that it has made, and makes no other: nobody waits for them any more."""
    settings.put({**settings.before, "migrations": {"parallelOutboundMigrationsPerNode": 5}}, lambda: True)
    with stage.only_on(NODE):
        for name in ("db", "copied", "failing"):
            stage.running(name, **MOVES)
    story = Story(exporter, stage)
    stage.orders.unplaced.add(stage.key("db"))
    stage.orders.holds.add(stage.key("copied"))
    stage.orders.fails.add(stage.key("failing"))
    stage.taint(NODE, TAINT)
    both = {"db": "TargetUnschedulable", "failing": "MigrationFailing"}
    story.comes_to(both, lambda: stage.phases("failing")[:2] == ["Failed", "Failed"])
    assert stage.phases("copied") == ["Running"]

    stage.untaint(NODE)
    story.comes_to({})
    for reason, name in (("TargetUnschedulable", "db"), ("MigrationFailing", "failing")):
        finding = found(exporter, stage, "migrations", reason, name)
        often = finding["evidence"].get("failed", 0) >= 3  # no other attempt is likely to help, whoever makes it
        assert (finding["severity"], "waits" in finding["evidence"]) == ("warning" if often else "info", False)
    stage.orders.unplaced.clear()
    stage.orders.holds.clear()
    for name in ("db", "copied"):
        stage.wait_moved(name, NODE)
    ended = lambda: set(stage.phases("failing")) == {"Failed"}  # noqa: E731
    wait_until(ended, 120, "no migration of the third one is under way")
    tried = len(stage.migrations("failing"))
    becomes(exporter, stage, "MigrationFailing", "warning" if tried >= 3 else "info")
    stage.orders.fails.clear()
    assert stage.act("failing", "migrate") == Answer()
    stage.wait_moved("failing", NODE)
    assert len(stage.migrations("failing")) == tried + 1
    none_of(exporter, stage, "migrations")
    story.comes_to({})
