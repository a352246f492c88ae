"""The sidecar repairs ControllerRevisions and the references to them, and KubeVirt goes on with what it wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from demo.fleet.instancetypes import stash_labels
from reconcile.plan.remediation import Remediation
from reconcile.plan.remediations.instancetypes import (
    adopt_revision,
    drop_stale_reference,
    label_pinned_revision,
    nudge_unversioned_vm,
)
from tests.cluster.exporter import Exporter
from tests.cluster.resources import CONTROLLER_REVISIONS, VMS
from tests.kubevirt.control_plane import ControlPlane
from tests.kubevirt.releases import Trait, lacks, needs
from tests.kubevirt.repairs import Repairs, forbid
from tests.kubevirt.sizes import Sizes, sized
from tests.kubevirt.stage import Answer, Stage
from tests.manifests import Object
from tests.waiting import wait_until

Make = Callable[[Remediation], Repairs]

REFERENCE_IN_STATUS = Trait(
    "keeps the reference to a revision in the status of a VM", "pkg/instancetype/revision/store.go", since=("1.5.0",)
)
STARTS_WITHOUT_MATCHER = Trait(
    "starts a VM whose status has a reference that its spec does not have",
    "pkg/virt-controller/watch/vm/vm.go",
    since=("1.7.1", "1.6.4"),
)
ENDS = not STARTS_WITHOUT_MATCHER.here
pytestmark = needs(REFERENCE_IN_STATUS)


@pytest.fixture
def repairs(stage: Stage, exporter: Exporter, tmp_path: Path) -> Iterator[Make]:
    yield lambda remediation: Repairs(stage, exporter, tmp_path, remediation)
    forbid(stage)


@pytest.fixture
def sizes(stage: Stage) -> Iterator[Sizes]:
    with sized(stage) as made:
        yield made


def revision(sizes: Sizes, name: str) -> Object:
    found = sizes.revision(name)
    assert found is not None
    return found


def restarted(stage: Stage, name: str = "db") -> None:
    before = stage.vmi(name)
    assert before is not None
    assert stage.act(name, "restart") == Answer()
    stage.wait_ended(before)
    stage.wait_running(name)


def test_an_adopted_revision_stays_the_vms_and_goes_with_it(stage: Stage, sizes: Sizes, repairs: Make) -> None:
    """A VM is deleted without it, as with --cascade=orphan, and made again: KubeVirt takes it, and writes no owner."""
    small = sizes.small()
    stage.vm("db", strategy="Halted", instancetype=small)
    name = sizes.wait_ref("db")
    before = revision(sizes, name)
    stage.client.patch(CONTROLLER_REVISIONS, stage.namespace, name, {"metadata": {"ownerReferences": None}})
    stage.client.remove(VMS, stage.namespace, "db")
    stage.running("db", instancetype=small)
    assert sizes.wait_ref("db") == name
    assert "ownerReferences" not in revision(sizes, name)["metadata"]

    made = repairs(adopt_revision.REMEDIATION)
    finding = made.finding("RevisionNotOwned")
    with made.sidecar("approve") as sidecar:
        made.approved(finding, sidecar)
    (owner,) = revision(sizes, name)["metadata"]["ownerReferences"]
    (wrote,) = before["metadata"]["ownerReferences"]
    assert owner == wrote | {"uid": sizes.vm("db")["metadata"]["uid"]}  # as KubeVirt wrote it for the earlier VM

    restarted(stage)
    assert sizes.ref("db") == name
    (kept,) = revision(sizes, name)["metadata"]["ownerReferences"]
    assert kept == owner
    stage.client.delete(VMS, stage.namespace, "db")
    wait_until(lambda: sizes.revision(name) is None, 60, "the revision is collected with its VM")


def test_a_pin_that_is_labelled_survives_what_happens_to_its_vm(
    kubevirt: ControlPlane, stage: Stage, sizes: Sizes, repairs: Make
) -> None:
    small = sizes.small()
    stage.running("db", instancetype=small)
    model = sizes.wait_ref("db")
    with kubevirt.without("virt-controller"):  # which deletes the pin with the next event of the VM
        sizes.bare("kept", "db", model)
        sizes.pin("db", "kept")
        made = repairs(label_pinned_revision.REMEDIATION)
        made.finding("LabellessPin")
        with made.sidecar("auto") as sidecar:
            sidecar.wait_for("verified")
    kept = revision(sizes, "kept")
    assert kept["metadata"]["labels"] == revision(sizes, model)["metadata"]["labels"]
    assert kept["metadata"]["labels"] == stash_labels(kept["data"])

    wait_until(lambda: sizes.ref("db") == "kept", 60, "KubeVirt has seen the pin")
    restarted(stage)
    assert revision(sizes, "kept")["metadata"]["uid"] == kept["metadata"]["uid"]
    assert sizes.failure("db") is None
    assert stage.act("db", "stop") == Answer()
    stage.wait_gone("db")


def without_matcher(stage: Stage, sizes: Sizes) -> str:
    """A stopped VM that had an instancetype, and asks for its memory itself now."""
    stage.vm("db", strategy="Halted", instancetype=sizes.small())
    name = sizes.wait_ref("db")
    own = {"domain": {"resources": {"requests": {"memory": "64Mi"}}}}
    stage.client.patch(VMS, stage.namespace, "db", {"spec": {"instancetype": None, "template": {"spec": own}}})
    return name


def panics(kubevirt: ControlPlane) -> int:
    """How often virt-controller has ended by now; it is started again, as a kubelet does it."""
    log = kubevirt.processes["virt-controller"].log.read_text(encoding="utf-8", errors="replace")
    return log.count("panic: runtime error: invalid memory address or nil pointer dereference")


def test_a_vm_starts_without_the_reference_that_it_had(
    kubevirt: ControlPlane, stage: Stage, sizes: Sizes, repairs: Make
) -> None:
    name = without_matcher(stage, sizes)
    assert sizes.ref("db") == name
    made = repairs(drop_stale_reference.REMEDIATION)
    finding = made.finding("CrashingReference" if ENDS else "StaleReference")
    with made.sidecar("approve") as sidecar:
        plan = made.approved(finding, sidecar)
    assert ("no longer crashes virt-controller" in plan["effect"]) is ENDS
    assert "instancetypeRef" not in sizes.vm("db")["status"]
    assert revision(sizes, name)["metadata"].get("deletionTimestamp") is None

    before = panics(kubevirt)
    assert stage.act("db", "start") == Answer()
    stage.wait_running("db")
    restarted(stage)
    assert panics(kubevirt) == before
    assert sizes.ref("db") is None


@lacks(STARTS_WITHOUT_MATCHER)
def test_a_reference_that_ends_virt_controller_is_taken_out_while_it_does(
    kubevirt: ControlPlane, stage: Stage, sizes: Sizes, repairs: Make
) -> None:
    without_matcher(stage, sizes)
    made = repairs(drop_stale_reference.REMEDIATION)
    made.finding("CrashingReference")
    before = panics(kubevirt)
    assert stage.act("db", "start") == Answer()
    wait_until(lambda: panics(kubevirt) > before + 1, 60, "virt-controller has ended, and has ended again")
    assert stage.vmi("db") is None
    with made.sidecar("auto") as sidecar:
        sidecar.wait_for("verified")
    stage.wait_running("db")


def test_kubevirt_copies_the_instancetype_of_a_vm_that_was_annotated(
    kubevirt: ControlPlane, stage: Stage, sizes: Sizes, repairs: Make
) -> None:
    made = repairs(nudge_unversioned_vm.REMEDIATION)
    with kubevirt.without("virt-controller"):
        stage.vm("db", strategy="Halted", instancetype=sizes.small())
        made.finding("Unversioned")
        with made.sidecar("auto") as sidecar:
            sidecar.wait_for("done")
        assert sizes.ref("db") is None
    name = sizes.wait_ref("db")
    note = sizes.vm("db")["metadata"]["annotations"][nudge_unversioned_vm.NUDGED]
    assert name.endswith(f"-{note}")  # the object that was meant
    assert stage.act("db", "start") == Answer()
    stage.wait_running("db")
    assert sizes.vm("db")["metadata"]["annotations"][nudge_unversioned_vm.NUDGED] == note
    assert made.found("Unversioned") == []
