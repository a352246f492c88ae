"""The pod that a VM has left by a migration, and goes on; and what looks like that and is right."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.exporter import STEADY, Exporter, grant
from tests.cluster.resources import PODS
from tests.kubevirt.conftest import MakeStage
from tests.kubevirt.control_plane import ControlPlane
from tests.kubevirt.migration_findings import MOVES, found, none_of, reasons
from tests.kubevirt.pairs import GATE, Pair
from tests.kubevirt.releases import DECENTRALIZED, needs
from tests.kubevirt.settings import Settings
from tests.kubevirt.stage import Answer, Stage
from tests.kubevirt.updates import disk, make_disk, move_disk, remove_disks, wait_applied

KEEP = "example.com/keep"  # a finalizer: with it a pod that is deleted goes on to be there
GRACE = 1 / 20  # of what users wait: half a minute


@pytest.fixture(scope="module")
def waiting(kubevirt: ControlPlane) -> Iterator[Exporter]:
    """An exporter with graces, in a test's time."""
    grant(kubevirt.admin)
    with Exporter(kubevirt.kubeconfig("steward-exporter"), STEADY, graces=GRACE) as running:
        yield running.wait_ready()


def two_run(stage: Stage, name: str) -> None:
    """Until a migration of it has ended and both of its pods go on."""
    stage.wait_phases(name, "Succeeded")
    assert [pod["status"]["phase"] for pod in stage.live_pods(name)] == ["Running", "Running"]


def test_a_source_pod_that_goes_on(stage: Stage, exporter: Exporter) -> None:
    source = stage.running("db", **MOVES)["status"]["nodeName"]
    left = stage.pod("db")["metadata"]["name"]
    stage.orders.lingers.add(stage.key("db"))
    assert stage.act("db", "migrate") == Answer()
    two_run(stage, "db")
    finding = found(exporter, stage, "migrations", "SourcePodLeft")
    assert finding["severity"] == "critical"
    assert finding["evidence"]["leftOn"] == [source]
    assert finding["evidence"]["leftPod"] == left
    assert f"kubectl exec -n {stage.namespace} {left} -c compute -- virsh list --all" in finding["commands"]
    stage.orders.lingers.clear()
    none_of(exporter, stage, "migrations")


def test_it_is_found_after_its_grace_and_no_hand_over_is(stage: Stage, waiting: Exporter) -> None:
    """Nor is a pod that is being deleted, however long that takes."""
    for name in ("db", "web", "slow"):
        stage.running(name, **MOVES)
    stage.orders.lingers.update(map(stage.key, ("db", "web", "slow")))
    slow = stage.pod("slow")["metadata"]["name"]
    for name in ("web", "slow", "db"):
        assert stage.act(name, "migrate") == Answer()
        two_run(stage, name)
        if name == "web":
            stage.orders.lingers.discard(stage.key("web"))
    stage.client.patch(PODS, stage.namespace, slow, {"metadata": {"finalizers": [KEEP]}})
    stage.client.delete(PODS, stage.namespace, slow)
    ended = stage.vmi("db")
    assert ended is not None
    finding = found(waiting, stage, "migrations", "SourcePodLeft", "db")
    assert (finding["severity"], finding["since"]) == ("critical", ended["status"]["migrationState"]["endTimestamp"])
    assert [pod["metadata"].get("deletionTimestamp") is not None for pod in stage.live_pods("slow")] == [True, False]
    assert len(stage.live_pods("web")) == 1
    assert (reasons(waiting, stage, "web"), reasons(waiting, stage, "slow")) == ([], [])
    stage.client.patch(PODS, stage.namespace, slow, {"metadata": {"finalizers": None}})
    stage.orders.lingers.clear()
    none_of(waiting, stage, "migrations")


def test_a_migration_of_volumes_has_two_pods_and_nothing_is_found(
    stage: Stage, exporter: Exporter, patient: Exporter, settings: Settings
) -> None:
    for claim in ("old", "new"):
        make_disk(stage, claim)
    try:
        stage.running("db", **disk("old"), **MOVES)
        settings.updates("LiveMigrate")
        stage.orders.holds.add(stage.key("db"))
        move_disk(stage, "db", "new")
        stage.wait_phases("db", "Running", seconds=120)
        vmi = stage.vmi("db")
        assert vmi is not None
        assert [each["volumeName"] for each in vmi["status"]["migratedVolumes"]] == ["root"]
        assert len(stage.live_pods("db")) == 2
        none_of(exporter, stage, "migrations")  # while it is copied
        stage.orders.holds.clear()
        wait_applied(stage, "db")
        stage.wait_phases("db", "Succeeded")
        assert reasons(patient, stage, "db") == []
    finally:
        remove_disks(stage.client, stage.namespace)


@needs(DECENTRALIZED)
def test_the_two_ends_of_a_migration_between_namespaces_have_a_pod_each_and_nothing_is_found(
    make_stage: MakeStage, exporter: Exporter, patient: Exporter, settings: Settings
) -> None:
    source, target = make_stage(), make_stage()
    settings.gates(GATE, taken=lambda: True)
    source.running("db", **MOVES)
    pair = Pair(source, target, "db")
    pair.start()
    ends = (source, target)
    for stage in ends:
        stage.orders.holds.add(stage.key("db"))
    pair.until(lambda: target.phases("db") == ["Running"], "the migration is under way")
    for stage in ends:
        assert [pod["status"]["phase"] for pod in stage.live_pods("db")] == ["Running"]
        stage.orders.holds.discard(stage.key("db"))
    pair.until(lambda: target.phases("db") == ["Succeeded"] and not source.live_pods("db"), "db has come")
    assert len(target.live_pods("db")) == 1
    for stage in ends:
        assert reasons(patient, stage, "db") == []
        assert "SourcePodLeft" not in reasons(exporter, stage, "db")
