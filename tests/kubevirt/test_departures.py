"""What KubeVirt itself does with VMs that are to leave their node, where its objects alone leave that open."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from exporter.__main__ import main
from tests.cluster.client import ApiError
from tests.cluster.exporter import Exporter, grant
from tests.cluster.resources import KUBEVIRTS, NODES, VMIMS, VMIS
from tests.kubevirt.control_plane import ControlPlane
from tests.kubevirt.installation import CONTROL, NAMESPACE
from tests.kubevirt.installation import NODES as VM_NODES
from tests.kubevirt.orders import now
from tests.kubevirt.stage import Answer, Stage
from tests.kubevirt.story import Story
from tests.manifests import Object
from tests.waiting import wait_until

NODE = VM_NODES[0]
DRAIN_TAINT, CORDON_TAINT = "kubevirt.io/drain", "node.kubernetes.io/unschedulable"


@pytest.fixture
def exporter(kubevirt: ControlPlane) -> Iterator[Exporter]:
    """One that waits for nothing."""
    grant(kubevirt.admin)
    with Exporter(kubevirt.kubeconfig("steward-exporter"), graces=0.0) as running:
        yield running.wait_ready()


def test_by_its_taint_kubevirt_migrates_what_nobody_asks_to_leave(stage: Stage, exporter: Exporter) -> None:
    with stage.only_on(NODE):
        stage.running("db", eviction="LiveMigrate")
        stage.running("old", eviction="None")
    story = Story(exporter, stage)
    stage.taint(NODE, DRAIN_TAINT, "PreferNoSchedule")
    story.comes_to({})

    stage.orders.unplaced.add(stage.key("db"))
    stays = {"old": "LegacyTaintIgnored"}
    with stage.control_plane.without("virt-controller"):
        stage.taint(NODE, DRAIN_TAINT)
        story.comes_to(stays | {"db": "NotStarted"})
        assert story.drain()["db"]["state"] == "blocked"
    story.comes_to(stays | {"db": "TargetUnschedulable"}, lambda: stage.phases("db") == ["Scheduling"])
    (migration,) = stage.migrations("db")
    assert migration["metadata"]["annotations"]["kubevirt.io/evacuationMigration"] == NODE
    assert stage.evacuation("db") == ""

    stage.orders.unplaced.clear()
    stage.wait_moved("db", NODE)
    story.comes_to(stays)
    assert stage.migrations("old") == []


def test_a_cordon_is_no_drain_until_something_shows_one(stage: Stage, exporter: Exporter) -> None:
    """On a node with nothing but VMs and daemons, where evictions that are refused leave no trace."""
    stage.orders.fixed.add(stage.key("licence"))
    with stage.only_on(NODE):
        for name in ("licence", "db"):
            stage.running(name, eviction="LiveMigrate")
    story = Story(exporter, stage)
    stage.cordon(NODE)
    story.comes_to({"licence": "NotMigratableWhileCordoned"})
    before = stage.vmi("licence")
    refused = stage.evict("licence")
    assert (refused.code, "is not live-migratable" in refused.message) == (429, True)
    after = stage.vmi("licence")
    assert before is not None
    assert after is not None
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    assert story.blocked() == {"licence": "NotMigratableWhileCordoned"}

    stage.orders.holds.add(stage.key("db"))
    stage.evict("db")
    story.comes_to({"licence": "NotMigratable"}, lambda: stage.phases("db") == ["Running"])
    stage.orders.holds.clear()
    stage.wait_moved("db", NODE)
    story.comes_to({"licence": "NotMigratableWhileCordoned"})  # what was asked to leave has left

    stage.taint(NODE, "medik8s.io/drain")
    story.comes_to({"licence": "NotMigratable"})
    stage.untaint(NODE)
    story.comes_to({"licence": "NotMigratableWhileCordoned"})
    stage.uncordon(NODE)
    story.comes_to({})


def test_what_its_status_says_to_be_migrating_is_not_asked_again(stage: Stage, exporter: Exporter) -> None:
    with stage.only_on(NODE):
        stage.running("db", eviction="LiveMigrate")
        stage.running("web", eviction="LiveMigrate")
    story = Story(exporter, stage)
    pretend_to_migrate(stage, "db")
    stage.cordon(NODE)
    wait_until(lambda: story.drain()["db"]["reason"] == "NotEnded", 30, "the preview says that it will not leave")

    stage.evict("db")
    stage.evict("web")
    stage.wait_phases("web", "Succeeded")  # KubeVirt looks at all requests at once, so it has seen the other one
    story.comes_to({"db": "NotStarted"})
    assert story.cause("db") == "NotEnded"
    assert stage.migrations("db") == []

    stage.client.create(
        {
            "apiVersion": VMIMS.api_version,
            "kind": "VirtualMachineInstanceMigration",
            "metadata": {"generateName": "by-hand-", "namespace": stage.namespace},
            "spec": {"vmiName": "db"},
        }
    )
    stage.wait_moved("db", NODE)
    stage.wait_evacuation("db", "")
    story.comes_to({})


def pretend_to_migrate(stage: Stage, name: str) -> None:
    """As after a migration whose end nobody has written."""
    state = {"migrationUid": "gone", "startTimestamp": now(), "sourceNode": NODE}

    def written() -> bool:
        vmi = stage.vmi(name)
        assert vmi is not None
        vmi["status"]["migrationState"] = state
        try:
            stage.control_plane.vms.handler(NODE).update(vmi)
        except ApiError as error:
            if error.code == 409:
                return False
            raise
        return True

    wait_until(written, 30, f"the status of {name} says that it migrates")


def test_the_time_of_a_request_is_that_of_its_writer_where_no_condition_tells(
    stage: Stage, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As before KubeVirt 1.7, which has no such condition."""
    source = stage.running("db", eviction="External")["status"]["nodeName"]
    since = now()
    stage.evict("db")
    stage.wait_evacuation("db", source)
    dump = dumped(stage, without_condition(stage.client.get(VMIS, stage.namespace, "db")), tmp_path)
    main(["drain", source, "--from", str(dump), "--complete", "-o", "json"])
    (vm,) = json.loads(capsys.readouterr().out)["nodes"][0]["vms"]
    assert abs(moment(vm["evacuationSince"]) - moment(since)) <= 2


def test_an_external_vm_is_waited_for_since_the_cordon_where_nothing_else_tells(
    stage: Stage, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where managedFields are taken off too, the taint by kube-controller-manager says since when."""
    source = stage.running("db", eviction="External")["status"]["nodeName"]
    since = now()
    stage.cordon(source)
    stage.evict("db")
    stage.wait_evacuation("db", source)
    added = wait_until(lambda: tainted(stage, source), 30, f"{source} has the taint of its cordon")
    assert 0 <= moment(added) - moment(since) <= 10
    vmi = without_condition(stage.client.get(VMIS, stage.namespace, "db"))
    vmi["metadata"].pop("managedFields", None)
    dump = dumped(stage, vmi, tmp_path)
    for minutes, awaited in ((14, []), (16, [("ExternalAwaiting", added)])):
        at = datetime.fromtimestamp(moment(added) + 60 * minutes, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        main(["check", "--from", str(dump), "--complete", "--reason", "ExternalAwaiting", "-o", "json", "--now", at])
        found = json.loads(capsys.readouterr().out)["findings"]
        assert [(each["reason"], each["since"]) for each in found] == awaited
        assert [each["sinceSource"] for each in found] == ["timeAdded"] * len(awaited)


def without_condition(vmi: Object) -> Object:
    rows = vmi["status"]["conditions"]
    return vmi | {"status": vmi["status"] | {"conditions": [row for row in rows if row["type"] != "EvictionRequested"]}}


def tainted(stage: Stage, node: str) -> str:
    """Since when a node has the taint of its cordon; empty while it has none."""
    taints = stage.client.get(NODES, None, node)["spec"].get("taints", [])
    return next((str(each.get("timeAdded", "")) for each in taints if each["key"] == CORDON_TAINT), "")


def dumped(stage: Stage, vmi: Object, folder: Path) -> Path:
    """A file with a VMI, its node and the KubeVirt object."""
    node = stage.client.get(NODES, None, vmi["status"]["nodeName"])
    objects = [vmi, node, stage.client.get(KUBEVIRTS, NAMESPACE, "kubevirt")]
    dump = folder / "dump.json"
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}), encoding="utf-8")
    return dump


def moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def test_without_an_endpoint_of_virt_api_nothing_can_be_evicted_and_that_is_found(
    kubevirt: ControlPlane, stage: Stage, exporter: Exporter
) -> None:
    stage.running("db", eviction="LiveMigrate")
    assert stack(exporter) == []
    with kubevirt.without("virt-api"):
        stage.orders.dead.add(CONTROL)  # where its pod is, which then is not ready any more
        wait_until(lambda: stack(exporter) == ["WebhookDown"], 60, "it is found that the webhook does not answer")
        refused = stage.evict("db")
        assert refused.code == 500
        assert "failed calling webhook" in refused.message
        assert stage.evacuation("db") == ""
        stage.orders.dead.discard(CONTROL)
        wait_until(lambda: stack(exporter) == [], 60, "nothing is found of the webhook any more")
    wait_until(lambda: stage.evict("db").code == 429, 60, "an eviction is answered by the webhook again")
    stage.wait_phases("db", "Succeeded")
    assert stage.act("db", "stop") == Answer()


def stack(exporter: Exporter) -> list[str]:
    return [each["reason"] for each in exporter.report("?check=eviction_stack")["findings"]]
