"""The sidecar repairs what keeps VMs from leaving nodes, and KubeVirt reacts as its plans say."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reconcile.plan.remediation import Remediation
from reconcile.plan.remediations.drains import (
    cancel_stale_evacuation,
    delete_orphan_pdb,
    migrate_marked_vmi,
    stop_blocked_vmi,
)
from tests.cluster.exporter import Exporter
from tests.cluster.repair_ground import is_dry
from tests.cluster.resources import PDBS, VMIS, VMS
from tests.kubevirt.installation import NODES
from tests.kubevirt.releases import EVACUATE_CANCEL, needs
from tests.kubevirt.repairs import Repairs, forbid, request_to_leave
from tests.kubevirt.stage import Answer, Stage
from tests.manifests import Object
from tests.waiting import wait_until

HERE, ELSEWHERE, _ = NODES
CANCEL, MIGRATE, STOP = (each.REMEDIATION for each in (cancel_stale_evacuation, migrate_marked_vmi, stop_blocked_vmi))
PDB = delete_orphan_pdb.REMEDIATION
HOURS = 3600.0
ALLOWED = {"metadata": {"annotations": {STOP.opt_in: "true"}}}
NOTE = "steward.kubevirt-steward.io/stopped-for-drain"
GONE = "77777777-7777-4777-8777-777777777777"

Make = Callable[[Remediation], Repairs]


@pytest.fixture
def repairs(stage: Stage, exporter: Exporter, tmp_path: Path) -> Iterator[Make]:
    yield lambda remediation: Repairs(stage, exporter, tmp_path, remediation)
    forbid(stage)


def blocked(stage: Stage, strategy: str) -> Object:
    """A VM that can't be migrated, on a node that is drained; its owner allows that it is stopped."""
    stage.orders.fixed.add(stage.key("db"))
    stage.vm("db", strategy=strategy, eviction="LiveMigrate")
    if strategy == "Manual":
        stage.act("db", "start")
    vmi = stage.wait_running("db")
    stage.client.patch(VMS, stage.namespace, "db", ALLOWED)
    stage.taint(vmi["status"]["nodeName"], "medik8s.io/drain")
    return vmi


def vm(stage: Stage) -> Object:
    return stage.client.get(VMS, stage.namespace, "db")


def settled(stage: Stage) -> Object:
    """The VM, once virt-controller has nothing to write of a stop or start that is over."""
    wait_until(lambda: not vm(stage)["status"].get("stateChangeRequests"), 30, "nothing is asked of the VM")
    return vm(stage)


@needs(EVACUATE_CANCEL)
def test_a_request_is_cancelled_once_that_is_approved(stage: Stage, repairs: Make) -> None:
    with stage.only_on(HERE):
        stage.running("db", eviction="LiveMigrate")
    request_to_leave(stage, ELSEWHERE)
    made = repairs(CANCEL)
    finding, before = made.finding("StaleEvacuationRequest"), stage.vmi("db")

    assert made.plan(finding)["state"] == "planned"
    assert stage.vmi("db") == before
    with made.sidecar("approve") as sidecar:
        plan = made.approved(finding, sidecar)
        undone = made.undo(made.attempt(sidecar.entries()))

    assert f"The evacuation request for {ELSEWHERE} is cancelled" in plan["effect"]
    assert stage.evacuation("db") == ""
    assert stage.migrations("db") == []
    assert made.found("StaleEvacuationRequest") == []
    assert undone.returncode == 1
    assert "only the next eviction makes an evacuation request" in undone.stderr


def test_a_vmi_is_migrated_and_its_request_goes_with_that(stage: Stage, repairs: Make) -> None:
    with stage.only_on(HERE):
        stage.running("db", eviction="LiveMigrate")
    request_to_leave(stage, "gone")
    made = repairs(MIGRATE)
    finding, before = made.finding("StaleEvacuationRequest"), stage.vmi("db")

    assert made.plan(finding)["state"] == "planned"
    assert (stage.vmi("db"), stage.migrations("db")) == (before, [])
    with made.sidecar("approve") as sidecar:
        made.approved(finding, sidecar)

    stage.wait_phases("db", "Succeeded")
    stage.wait_moved("db", HERE)
    assert stage.evacuation("db") == ""
    assert made.found("StaleEvacuationRequest") == []


def test_a_migration_that_fails_is_not_made_again(stage: Stage, repairs: Make) -> None:
    stage.running("db", eviction="LiveMigrate")
    stage.orders.fails.add(stage.key("db"))
    request_to_leave(stage, "gone")
    made = repairs(MIGRATE)
    finding = made.finding("StaleEvacuationRequest")
    with made.sidecar("auto") as sidecar:
        stage.wait_phases("db", "Failed")
        wait_until(lambda: refused(sidecar.plans()) == "last_attempt", 60, "there is no other attempt")
        assert sidecar.events().count("intended") == 1
    assert made.plan(finding)["refused"]["precondition"] == "last_attempt"
    assert stage.phases("db") == ["Failed"]


def refused(plans: list[Object]) -> str | None:
    return next((each["refused"]["precondition"] for each in plans if "refused" in each), None)


def test_a_migration_that_has_not_ended_is_taken_back(stage: Stage, repairs: Make) -> None:
    with stage.only_on(HERE):
        stage.running("db", eviction="LiveMigrate")
    stage.orders.holds.add(stage.key("db"))
    request_to_leave(stage, "gone")
    made = repairs(MIGRATE)
    made.finding("StaleEvacuationRequest")
    with made.sidecar("auto") as sidecar:
        sidecar.wait_for("done")
        wait_until(lambda: stage.phases("db") == ["Running"], 60, "it migrates")
        attempt = made.attempt(sidecar.entries())
    undone = made.undo(attempt)
    assert undone.returncode == 0, undone.stderr
    wait_until(lambda: not stage.migrations("db"), 60, "the migration is gone")
    there = stage.client.get(VMIS, stage.namespace, "db")
    assert there["status"]["nodeName"] == HERE
    assert there["status"]["phase"] == "Running"


@pytest.mark.parametrize("strategy", ["Always", "Once", "Manual", "RerunOnFailure"])
def test_a_vm_is_stopped_once_that_is_approved(stage: Stage, repairs: Make, strategy: str) -> None:
    vmi = blocked(stage, strategy)
    made = repairs(STOP)
    finding, before = made.finding("NotMigratable"), settled(stage)

    assert made.plan(finding)["state"] == "planned"
    assert (vm(stage), stage.client.get(VMIS, stage.namespace, "db")["metadata"]["uid"]) == (
        before,
        vmi["metadata"]["uid"],
    )
    with made.sidecar("approve") as sidecar:
        plan = made.approved(finding, sidecar)
        attempt = made.attempt(sidecar.entries())
    stage.wait_gone("db")
    after = settled(stage)
    assert made.found("NotMigratable") == []

    assert NOTE in after["metadata"]["annotations"]

    undone = made.undo(attempt)
    assert f'from "{strategy}" to "Halted"' in plan["effect"]
    assert after["spec"] == {**before["spec"], "runStrategy": "Halted"}
    assert undone.returncode == 0, undone.stderr
    assert vm(stage)["spec"] == before["spec"]
    notes = vm(stage)["metadata"]["annotations"]
    assert "undone" in notes["steward.kubevirt-steward.io/paused"]
    assert NOTE not in notes
    if strategy == "Manual":
        assert "virtctl start" in plan["undo"]
        assert stage.act("db", "start") == Answer()
    stage.wait_running("db")


@pytest.mark.parametrize("strategy", ["Always", "Once"])
def test_what_is_written_is_what_virt_api_writes_for_a_stop(
    stage: Stage, exporter: Exporter, repairs: Make, strategy: str
) -> None:
    """What the API server is asked to write by whom, with the preconditions that the subresource does not have."""
    blocked(stage, strategy)
    made = repairs(STOP)
    finding = made.finding("NotMigratable")
    settled(stage)
    plan = made.plan(finding)
    assert plan["state"] == "planned"
    assert stage.act("db", "stop") == Answer()
    stage.wait_gone("db")
    theirs = stops(stage, "kubevirt-apiserver")[-1]

    settled(stage)
    stage.client.patch(VMS, stage.namespace, "db", {"spec": {"runStrategy": strategy}})
    again = stage.wait_running("db")
    stage.taint(again["status"]["nodeName"], "medik8s.io/drain")
    settled(stage)
    with made.sidecar("auto") as sidecar:
        sidecar.wait_for("verified")
    stage.wait_gone("db")
    ours = stops(stage, "steward-reconcile")[-1]
    assert ours["requestURI"].partition("?")[0] == theirs["requestURI"].partition("?")[0]
    *stop, noted = written(ours)
    assert stop == written(theirs)
    assert noted["path"] == "/metadata/annotations/" + NOTE.replace("/", "~1")
    assert json.loads(noted["value"])["vmi"] == again["metadata"]["uid"]
    tested = {op["path"] for op in operations(ours) if op["op"] == "test"}
    assert {"/metadata/uid", "/metadata/resourceVersion", "/spec/runStrategy"} == tested


def stops(stage: Stage, account: str) -> list[Object]:
    """The patches of the VM that an account made, dry runs left out."""
    return [
        each
        for each in stage.control_plane.server.audit_events()
        if each["verb"] == "patch"
        and each["user"]["username"].endswith(account)
        and each["objectRef"]["resource"] == "virtualmachines"
        and each["objectRef"]["namespace"] == stage.namespace
        and not is_dry(each)
        and any(op["path"] == "/spec/runStrategy" for op in written(each))
    ]


def operations(event: Object) -> list[Object]:
    """Of a patch: virt-api writes a merge patch up to 1.5 (pkg/virt-api/rest/subresource.go), and operations since."""
    patch = event["requestObject"]
    if isinstance(patch, list):
        return patch
    return [{"op": "replace", "path": f"/spec/{name}", "value": value} for name, value in patch.get("spec", {}).items()]


def written(event: Object) -> list[Object]:
    """The operations that change something."""
    return [op for op in operations(event) if op["op"] != "test"]


def test_a_pdb_of_a_vmi_that_is_gone_is_deleted_and_comes_back_from_the_ledger(stage: Stage, repairs: Make) -> None:
    selector = {"matchLabels": {"kubevirt.io/created-by": GONE}}
    name = "kubevirt-disruption-budget-x7k2p"
    stage.client.create(
        {
            "apiVersion": PDBS.api_version,
            "kind": "PodDisruptionBudget",
            "metadata": {"namespace": stage.namespace, "name": name},
            "spec": {"minAvailable": 1, "selector": selector},
        }
    )
    made = repairs(PDB)
    finding = wait_until(lambda: next(iter(pdbs(made)), None), 60, "the PDB is found")
    before = stage.client.get(PDBS, stage.namespace, name)
    with made.sidecar("auto", ahead=2 * HOURS) as sidecar:
        sidecar.wait_for("verified")
        attempt = made.attempt(sidecar.entries())
    assert stage.client.find(PDBS, stage.namespace, name) is None
    assert pdbs(made) == []
    assert finding["subject"]["name"] == name
    (event,) = made.events()
    assert event["involvedObject"]["name"] == name

    assert made.undo(attempt).returncode == 1
    again = stage.client.create(made.kept(attempt))
    assert again["spec"] == before["spec"]


def pdbs(made: Repairs) -> list[Object]:
    found = made.exporter.report(f"?check=eviction_pdbs&namespace={made.stage.namespace}")["findings"]
    return [each for each in found if each["reason"] in ("OrphanPDB", "LegacyPDBPresent")]
