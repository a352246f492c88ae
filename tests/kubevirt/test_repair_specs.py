"""The sidecar repairs identities and the copies of instancetypes, and KubeVirt reacts as its plans say."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from exporter.facts.firmware import legacy
from reconcile.plan.remediation import Remediation
from reconcile.plan.remediations.identity import persist_firmware_uuid, reassign_firmware_uuid
from reconcile.plan.remediations.instancetypes import delete_orphan_revision, restash_missing_revision
from tests.cluster.client import ApiError
from tests.cluster.exporter import Exporter
from tests.cluster.resources import VMIS, VMS
from tests.kubevirt.control_plane import ControlPlane
from tests.kubevirt.installation import VERSION
from tests.kubevirt.orders import true
from tests.kubevirt.releases import MISSING_SIZE_TAKEN, UUID_OF_ITS_OWN, needs
from tests.kubevirt.repairs import Repairs, forbid
from tests.kubevirt.sizes import Sizes, sized
from tests.kubevirt.stage import Answer, Stage
from tests.manifests import Object
from tests.waiting import wait_until

PERSIST, REASSIGN = persist_firmware_uuid.REMEDIATION, reassign_firmware_uuid.REMEDIATION
RESTASH, DELETE = restash_missing_revision.REMEDIATION, delete_orphan_revision.REMEDIATION
DAY = 24 * 3600.0

Make = Callable[[Remediation], Repairs]


@pytest.fixture
def repairs(stage: Stage, exporter: Exporter, tmp_path: Path) -> Iterator[Make]:
    yield lambda remediation: Repairs(stage, exporter, tmp_path, remediation)
    forbid(stage)


@pytest.fixture
def sizes(stage: Stage) -> Iterator[Sizes]:
    with sized(stage) as made:
        yield made


def vm(stage: Stage, name: str = "db") -> Object:
    return stage.client.get(VMS, stage.namespace, name)


def spec(stage: Stage, name: str = "db") -> str:
    """As it is stored, to the byte."""
    return json.dumps(vm(stage, name)["spec"])


def firmware(thing: Object) -> Object:
    own = thing["spec"].get("template", thing)["spec"]
    found: Object = own["domain"].get("firmware") or {}
    return found


def domain(uuid: str) -> Object:
    return {"devices": {}, "firmware": {"uuid": uuid}, "resources": {"requests": {"memory": "64Mi"}}}


def replace_without_firmware(stage: Stage) -> None:
    """As a tool does that writes the whole VM from a manifest; again, if KubeVirt wrote meanwhile."""

    def replaced() -> bool:
        thing = copy.deepcopy(vm(stage))
        thing["spec"]["template"]["spec"]["domain"].pop("firmware", None)
        try:
            stage.client.update(thing)
        except ApiError as error:
            if error.code != 409:
                raise
            return False
        return True

    wait_until(replaced, 30, "the VM is replaced")


@needs(UUID_OF_ITS_OWN)
def test_a_running_vm_gets_back_the_firmware_that_it_runs_with(stage: Stage, repairs: Make) -> None:
    runs = firmware(stage.running("db"))
    replace_without_firmware(stage)
    wait_until(lambda: true(vm(stage), "RestartRequired"), 30, "KubeVirt asks for a restart")
    made = repairs(PERSIST)
    finding, before = made.finding("SpecRunMismatch"), vm(stage)

    assert made.plan(finding)["state"] == "planned"
    assert vm(stage) == before
    with made.sidecar("approve") as sidecar:
        plan = made.approved(finding, sidecar)
        attempt = made.attempt(sidecar.entries())
    assert firmware(vm(stage)) == runs
    assert f"KubeVirt {VERSION} keeps a condition RestartRequired" in plan["effect"]
    assert true(vm(stage), "RestartRequired")
    assert firmware(stage.client.get(VMIS, stage.namespace, "db")) == runs

    refused = made.undo(attempt)
    assert "refused, same_identity: " in refused.stderr
    undone = made.undo(attempt, "identity")
    assert undone.returncode == 0, undone.stderr
    assert spec(stage) == json.dumps(before["spec"])
    made.finding("SpecRunMismatch")


def test_a_stopped_vm_keeps_the_uuid_of_its_name_before_kubevirt_writes_it(
    kubevirt: ControlPlane, stage: Stage, repairs: Make
) -> None:
    stage.vm("db", strategy="Halted")
    with kubevirt.without("virt-controller"):
        replace_without_firmware(stage)
        made = repairs(PERSIST)
        finding = made.finding("NotPersisted")
        with made.sidecar("auto") as sidecar:
            sidecar.wait_for("verified")
        assert firmware(vm(stage)) == {"uuid": legacy("db")}
        kept = spec(stage)
    assert finding["subject"]["name"] == "db"
    assert stage.act("db", "start") == Answer()
    assert firmware(stage.wait_running("db"))["uuid"] == legacy("db")
    assert json.loads(kept) | {"runStrategy": "Always"} == vm(stage)["spec"]


def test_the_twin_of_a_vm_that_runs_gets_a_uuid_of_its_own(stage: Stage, repairs: Make) -> None:
    shared = str(uuid4())
    runs = stage.running("db", domain=domain(shared))
    stage.vm("twin", strategy="Halted", domain=domain(shared))
    wait_until(lambda: vm(stage, "twin").get("status", {}).get("printableStatus") == "Stopped", 30, "it is stopped")
    made = repairs(REASSIGN)
    finding, before = made.finding("LatentDuplicate", "twin"), vm(stage, "twin")

    assert made.plan(finding)["state"] == "planned"
    assert vm(stage, "twin") == before
    with made.sidecar("approve") as sidecar:
        made.approved(finding, sidecar)
        attempt = made.attempt(sidecar.entries())
    new = firmware(vm(stage, "twin"))["uuid"]
    assert new not in (shared, legacy("twin"))
    assert made.found("LatentDuplicate") == []
    assert not true(vm(stage), "RestartRequired")
    assert stage.vmi("db") is not None
    assert firmware(runs)["uuid"] == shared

    refused = made.undo(attempt)
    assert "refused, uuid_is_free: " in refused.stderr
    undone = made.undo(attempt, "uniqueness")
    assert undone.returncode == 0, undone.stderr
    assert spec(stage, "twin") == json.dumps(before["spec"])


def test_with_its_revision_a_vm_can_be_stopped_again(stage: Stage, sizes: Sizes, repairs: Make) -> None:
    stage.running("db", instancetype=sizes.small())
    lost = sizes.wait_ref("db")
    before = sizes.revision(lost)
    assert before is not None
    sizes.lose(lost)
    made = repairs(RESTASH)
    finding = made.finding("RevisionMissing")
    kept = vm(stage)

    assert made.plan(finding)["state"] == "planned"
    assert (sizes.revision(lost), vm(stage)) == (None, kept)
    # Where its webhook rejects each change of the VM, it rejects the annotation by which a person approves, too.
    with made.sidecar("approve" if MISSING_SIZE_TAKEN.here else "auto") as sidecar:
        if MISSING_SIZE_TAKEN.here:
            made.approved(finding, sidecar)
        sidecar.wait_for("verified")
        attempt = made.attempt(sidecar.entries())
    again = sizes.revision(lost)
    assert again is not None
    assert again["data"]["spec"] == before["data"]["spec"]
    assert again["metadata"]["labels"] == before["metadata"]["labels"]
    assert again["metadata"]["ownerReferences"] == before["metadata"]["ownerReferences"]
    assert sizes.ref("db") == lost
    assert not true(vm(stage), "RestartRequired")

    refused = made.undo(attempt)
    assert "refused, not_needed: " in refused.stderr
    undone = made.undo(attempt, "copy")
    assert undone.returncode == 0, undone.stderr
    assert sizes.revision(lost) is None
    made.finding("RevisionMissing")
    stage.client.create({each: before[each] for each in before if each != "metadata"} | {"metadata": own(before)})
    assert stage.act("db", "stop") == Answer()
    stage.wait_gone("db")


def own(thing: Object) -> Object:
    names = ("name", "namespace", "labels", "ownerReferences")
    return {name: thing["metadata"][name] for name in names}


@needs(MISSING_SIZE_TAKEN)
def test_a_stop_that_waits_is_carried_out_once_kubevirt_has_made_a_new_revision(
    stage: Stage, sizes: Sizes, repairs: Make
) -> None:
    small = sizes.small()
    stage.running("db", instancetype=small)
    lost = sizes.wait_ref("db")
    sizes.lose(lost)
    sizes.delete(small)
    sizes.small(cpus=2)
    assert stage.act("db", "stop") == Answer()
    made = repairs(RESTASH)
    finding = made.finding("RevisionMissing")
    plan = made.plan(finding)
    assert plan["state"] == "planned", plan
    assert "the guest is shut down" in plan["effect"]
    assert plan["risk"] == "downtime"
    with made.sidecar("auto") as sidecar:
        sidecar.wait_for("verified")
        attempt = made.attempt(sidecar.entries())
    new = sizes.wait_ref("db", other=lost)
    found = sizes.revision(new)
    assert found is not None
    assert found["data"]["spec"]["cpu"]["guest"] == 2
    stage.wait_gone("db")
    undone = made.undo(attempt)
    assert undone.returncode != 0
    assert "the content of the lost one is unknown" in undone.stderr


def test_a_revision_that_nothing_needs_is_deleted_and_comes_back_from_the_ledger(
    stage: Stage, sizes: Sizes, repairs: Make
) -> None:
    stage.running("db", instancetype=sizes.small())
    used = sizes.wait_ref("db")
    sizes.ownerless(used)
    before = sizes.revision("ownerless")
    assert before is not None
    made = repairs(DELETE)
    made.finding("OrphanedRevision", "ownerless")
    with made.sidecar("auto", ahead=2 * DAY) as sidecar:
        sidecar.wait_for("verified")
        attempt = made.attempt(sidecar.entries())
    assert sizes.revision("ownerless") is None
    assert sizes.revision(used) is not None
    assert made.found("OrphanedRevision") == []

    assert made.undo(attempt).returncode == 1
    again = stage.client.create(made.kept(attempt))
    assert (again["data"], again["metadata"]["labels"]) == (before["data"], before["metadata"]["labels"])


def test_a_lost_revision_is_had_from_the_copy_of_another_vm(stage: Stage, sizes: Sizes, repairs: Make) -> None:
    """KubeVirt made that copy, for a VM that refers to it, and the VM runs with what it gives."""
    small = sizes.small()
    stage.running("db", instancetype=small)
    stage.running("web", instancetype=small)
    lost, of_web = sizes.wait_ref("db"), sizes.wait_ref("web")
    before = sizes.revision(lost)
    assert before is not None
    sizes.lose(lost)
    sizes.delete(small)
    sizes.small(cpus=2)
    made = repairs(RESTASH)
    plan = made.plan(made.finding("RevisionMissing"))
    assert plan["state"] == "planned", plan
    assert f"from ControllerRevision {stage.namespace}/{of_web}" in plan["effect"]
    assert plan["content"]["data"]["spec"] == before["data"]["spec"]
    assert plan["compared"] == f"what VirtualMachineInstance {stage.namespace}/db runs with"
    with made.sidecar("auto") as sidecar:
        sidecar.wait_for("verified")
    again = sizes.revision(lost)
    assert again is not None
    assert again["data"] == before["data"]
    assert not true(vm(stage), "RestartRequired")
