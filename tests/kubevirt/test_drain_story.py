"""A drain that meets all that can hold it up, reported step by step by KubeVirt's own control plane."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.exporter import Exporter, grant
from tests.cluster.resources import Resource
from tests.kubevirt.control_plane import ControlPlane
from tests.kubevirt.installation import NODES
from tests.kubevirt.releases import EVACUATE_CANCEL
from tests.kubevirt.stage import Answer, Stage
from tests.kubevirt.story import Story
from tests.manifests import Object
from tests.waiting import wait_until

QUOTAS = Resource("", "v1", "resourcequotas")
NODE = NODES[0]
PROMPTLY = 2.0  # seconds from what happens to what is found of it


@pytest.fixture
def exporter(kubevirt: ControlPlane) -> Iterator[Exporter]:
    """One that waits for nothing: what lasts for a moment is found too."""
    grant(kubevirt.admin)
    with Exporter(kubevirt.kubeconfig("steward-exporter"), graces=0.0) as running:
        yield running.wait_ready()


def test_a_drain_is_reported_from_before_its_first_step_to_its_end(
    stage: Stage, exporter: Exporter, record_property: Any
) -> None:
    stage.orders.fixed.add(stage.key("licence"))
    with stage.only_on(NODE):
        for name, eviction in VMS.items():
            stage.running(name, eviction=eviction)
    story = Story(exporter, stage)
    story.comes_to({})

    wait_until(
        lambda: {name: reported["state"] for name, reported in story.drain().items()} == BEFORE, 10, "it is reported"
    )
    reported = story.drain()
    assert {name: reported[name]["reason"] for name in reported if reported[name]["state"] == "blocked"} == {
        "licence": "NotMigratable",
        "tenant": "ExternalNoHandler",
    }

    the_drain_begins(story, stage)
    a_migration_is_held_up_fails_and_succeeds(story, stage)
    if EVACUATE_CANCEL.here:
        the_drain_is_given_up(story, stage)
        a_request_is_left_behind(story, stage)

    story.comes_to({} if EVACUATE_CANCEL.here else STAYS | LEFT)
    record_property("slowest_seconds", story.slowest)
    assert story.slowest < PROMPTLY


VMS = {"db": "LiveMigrate", "web": "LiveMigrate", "licence": "LiveMigrate", "tenant": "External", "old": "None"}
BEFORE = {"db": "waiting", "web": "waiting", "licence": "blocked", "tenant": "blocked", "old": "shuts_down"}
STAYS = {"licence": "NotMigratable"}
LEFT = {"tenant": "ExternalAwaiting"}


def the_drain_begins(story: Story, stage: Stage) -> None:
    stage.cordon(NODE)
    story.comes_to({"licence": "NotMigratableWhileCordoned"})  # no drain detected
    assert stage.evict("licence").code == 429
    assert stage.evict("old") == Answer()
    stage.evict("tenant")
    story.comes_to(STAYS | LEFT, lambda: stage.evacuation("tenant"))


def a_migration_is_held_up_fails_and_succeeds(story: Story, stage: Stage) -> None:
    stage.wait_running("old")  # elsewhere, so that no more pods are made
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"namespace": stage.namespace, "name": "few"}}
    stage.client.create(quota | {"spec": {"hard": {"pods": str(len(VMS))}}})
    wait_until(lambda: used(stage) == str(len(VMS)), 30, "the quota is counted")
    stage.evict("db")
    story.comes_to(STAYS | LEFT | {"db": "MigrationPending"}, lambda: refused_by_quota(stage, "db"))
    assert story.cause("db") == "Quota"

    stage.orders.unplaced.add(stage.key("db"))
    stage.client.delete(QUOTAS, stage.namespace, "few")
    story.comes_to(STAYS | LEFT | {"db": "TargetUnschedulable"}, lambda: stage.phases("db") == ["Scheduling"])

    stage.orders.fails.add(stage.key("db"))
    stage.orders.unplaced.clear()
    stage.wait_phases("db", "Failed", "Pending")
    two_failed = lambda: stage.phases("db")[:2] == ["Failed", "Failed"]  # noqa: E731
    story.comes_to(STAYS | LEFT | {"db": "MigrationFailing"}, two_failed)

    stage.orders.fails.clear()
    story.comes_to(STAYS | LEFT, lambda: stage.phases("db")[-1] == "Succeeded" and not stage.evacuation("db"))


def used(stage: Stage) -> str:
    quota: Object = stage.client.get(QUOTAS, stage.namespace, "few")
    return str(quota.get("status", {}).get("used", {}).get("pods", ""))


def refused_by_quota(stage: Stage, name: str) -> bool:
    rows = [row for each in stage.migrations(name) for row in each.get("status", {}).get("conditions", [])]
    return any(row["type"] == "migrationRejectedByResourceQuota" and row["status"] == "True" for row in rows)


def the_drain_is_given_up(story: Story, stage: Stage) -> None:
    """Uncordoning a node clears no request; each is cancelled with the node that it names."""
    with stage.control_plane.without("virt-controller"):
        stage.evict("web")
        story.comes_to(STAYS | LEFT | {"web": "NotStarted"})
        stage.uncordon(NODE)
        story.comes_to(LEFT | {"web": "RequestOnSchedulableNode"})

        assert stage.cancel_evacuation("tenant", NODE) == Answer()
        story.comes_to({"web": "RequestOnSchedulableNode"})
        assert stage.cancel_evacuation("web", NODE) == Answer()
        story.comes_to({})
    assert stage.migrations("web") == []


def a_request_is_left_behind(story: Story, stage: Stage) -> None:
    """Put again in the moment of its migration's end, it names a node that the VM has left."""
    stage.orders.stay_requested.add(stage.key("web"))
    stage.evict("web")
    stage.wait_moved("web", NODE)
    story.comes_to({"web": "StaleEvacuationRequest"})
    assert stage.evict("web").code == 429
    assert stage.cancel_evacuation("web", NODE) == Answer()
    story.comes_to({})
