"""Migrations of a drain that wait for somebody who does not act: KubeVirt ends none of them, and each is found."""

from __future__ import annotations

import pytest

from tests.cluster.exporter import Exporter
from tests.cluster.resources import VMIMS
from tests.kubevirt.installation import NODES
from tests.kubevirt.settings import Settings
from tests.kubevirt.stage import Stage
from tests.kubevirt.story import Story
from tests.manifests import Object
from tests.waiting import wait_until

NODE, *OTHERS = NODES
# KubeVirt's time-outs of what is under way, as short as can be: those of the copy, in seconds, and of the target pod.
COPY = {"progressTimeout": 1, "completionTimeoutPerGiB": 1}
TARGET_POD = {
    "kubevirt.io/migrationPendingPodTimeoutSeconds": "1",
    "kubevirt.io/migrationUnschedulablePodTimeoutSeconds": "1",
}


@pytest.fixture
def story(stage: Stage, exporter: Exporter, settings: Settings) -> Story:
    """Two VMs on a node that is cordoned, and short time-outs."""
    settings.put({**settings.before, "migrations": COPY}, lambda: True)
    disk = {"devices": {"disks": [{"name": "root", "disk": {}}]}, "resources": {"requests": {"memory": "64Mi"}}}
    root = {"name": "root", "containerDisk": {"image": "example.com/disks/root:1"}}  # a container beside compute
    with stage.only_on(NODE):
        for name in ("db", "web"):
            stage.running(name, eviction="LiveMigrate", domain=disk, volumes=[root])
    stage.cordon(NODE)
    return Story(exporter, stage)


def hanging(exporter: Exporter, stage: Stage) -> Object:
    """What is found of the migration of db; waits for it."""

    def found() -> Object | None:
        reported = exporter.report(f"?check=evictions&namespace={stage.namespace}")["findings"]
        ours = ("db", "MigrationHanging")
        return next((f for f in reported if (f["subject"]["name"], f["reason"]) == ours), None)

    return wait_until(found, 30, "the migration of db is found to hang")


def stalled(exporter: Exporter) -> list[str]:
    found = exporter.report("?check=evictions&severity=warning")["findings"]
    return [f["subject"]["name"] for f in found if f["reason"] == "NodeDrainStalled"]


def outlasts(stage: Stage, phase: str) -> None:
    """The migration of db stays in its phase, though KubeVirt starts anew and looks at all migrations again.

    What it then does with the other VM shows that it has.
    """
    (migration,) = stage.migrations("db")
    stage.client.patch(VMIMS, stage.namespace, migration["metadata"]["name"], {"metadata": {"annotations": TARGET_POD}})
    with stage.control_plane.without("virt-controller"):
        pass
    stage.evict("web")
    stage.wait_phases("web", phase)
    assert stage.phases("db") == [phase]
    assert stage.evict("db").code == 429


def test_a_target_whose_virt_handler_is_silent_is_waited_for_without_end(
    stage: Stage, exporter: Exporter, story: Story
) -> None:
    stage.orders.silent.update(OTHERS)
    stage.evict("db")
    story.comes_to({"db": "MigrationHanging"}, lambda: stage.phases("db") == ["PreparingTarget"])
    outlasts(stage, "PreparingTarget")
    story.comes_to({"db": "MigrationHanging", "web": "MigrationHanging"})
    wait_until(lambda: stalled(exporter) == [NODE], 30, "the drain is found to make no progress")
    found = hanging(exporter, stage)
    assert found["evidence"]["cause"] == "TargetHandler"
    assert found["evidence"]["targetNode"] in OTHERS
    assert "is not Ready" in found["message"]

    stage.orders.silent.clear()
    story.comes_to({}, lambda: stage.phases("db") == stage.phases("web") == ["Succeeded"])
    assert stalled(exporter) == []


def test_a_source_whose_virt_handler_is_silent_does_not_start_it(
    stage: Stage, exporter: Exporter, story: Story
) -> None:
    stage.orders.silent.add(NODE)
    stage.evict("db")
    story.comes_to({"db": "MigrationHanging"}, lambda: stage.phases("db") == ["TargetReady"])
    outlasts(stage, "TargetReady")
    found = hanging(exporter, stage)
    assert (found["evidence"]["cause"], found["node"]) == ("SourceHandler", NODE)

    stage.orders.silent.clear()
    story.comes_to({}, lambda: stage.phases("db") == stage.phases("web") == ["Succeeded"])


def test_a_target_pod_that_runs_with_a_container_that_never_gets_ready_has_no_time_out(
    stage: Stage, exporter: Exporter, story: Story
) -> None:
    stage.orders.unready.update(map(stage.key, ("db", "web")))
    stage.evict("db")
    story.comes_to({"db": "MigrationHanging"}, lambda: stage.phases("db") == ["Scheduling"])
    outlasts(stage, "Scheduling")
    found = hanging(exporter, stage)
    assert found["evidence"]["cause"] == "Containers"
    assert "container volumeroot of target pod" in found["message"]

    stage.orders.unready.clear()
    story.comes_to({}, lambda: stage.phases("db") == stage.phases("web") == ["Succeeded"])


def test_while_it_is_copied_nothing_is_found_until_its_source_is_silent(
    stage: Stage, exporter: Exporter, story: Story
) -> None:
    stage.orders.holds.update(map(stage.key, ("db", "web")))
    stage.evict("db")
    story.comes_to({}, lambda: stage.phases("db") == ["Running"])
    stage.orders.silent.update(OTHERS)  # the source would tell that the copy broke
    story.comes_to({}, lambda: not ready(stage, OTHERS[0]))
    stage.orders.silent.clear()
    stage.orders.silent.add(NODE)
    story.comes_to({"db": "MigrationHanging"}, lambda: not ready(stage, NODE))
    assert hanging(exporter, stage)["evidence"]["cause"] == "SourceHandler"
    assert stage.phases("db") == ["Running"]

    stage.orders.silent.clear()
    story.comes_to({}, lambda: ready(stage, NODE))
    stage.orders.holds.clear()
    story.comes_to({}, lambda: stage.phases("db") == ["Succeeded"])


def ready(stage: Stage, node: str) -> bool:
    """Whether virt-handler of a node is."""
    pods = stage.virt_handlers(node)
    assert pods
    return all(pods.values())


def test_a_migration_that_hangs_and_is_deleted_goes_on_to_hang(stage: Stage, exporter: Exporter, story: Story) -> None:
    """It was handed over: KubeVirt aborts it once it runs."""
    stage.orders.silent.update(OTHERS)
    stage.orders.holds.add(stage.key("db"))
    stage.evict("db")
    stage.wait_phases("db", "PreparingTarget")
    (migration,) = stage.migrations("db")
    stage.client.delete(VMIMS, stage.namespace, migration["metadata"]["name"])
    deleted = lambda: "The migration was deleted" in hanging(exporter, stage)["message"]  # noqa: E731
    wait_until(deleted, 30, "it is found that it was deleted")
    outlasts(stage, "PreparingTarget")

    stage.orders.silent.clear()
    wait_until(lambda: stage.phases("db")[0] != "PreparingTarget", 60, "it goes on")
    uid = migration["metadata"]["uid"]
    wait_until(lambda: uid not in {each["metadata"]["uid"] for each in stage.migrations("db")}, 60, "it is gone")
    stage.orders.holds.clear()
    story.comes_to({}, lambda: stage.phases("db")[-1:] == ["Succeeded"] and not stage.evacuation("db"))
