"""What findings on instancetypes say: who can't start and who can't be stopped, and what to do with a shared copy."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest

from exporter.checks import all_checks
from exporter.domain.acts import Act
from tests.check_cases import cases_of, evaluated
from tests.evaluation import Evaluation
from tests.rows import full

Row = dict[str, Any]
DEMANDING = {"apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": "VirtualMachineClusterPreference"}
RUNNING = {"kind": "VirtualMachineInstance", "name": "db", "vm": "u1"}
KUBEVIRT = {"kind": "KubeVirt", "name": "kubevirt", "version": "v1.7.1"}


def vm(**more: Any) -> Row:
    return {"kind": "VirtualMachine", "name": "db", "uid": "u1", "runStrategy": "Always", **more}


def copy(owner: str, version: str = "v1beta1") -> Row:
    kind = "VirtualMachineClusterInstancetype"
    meta = {"name": "small", "uid": "t1", "generation": 1}
    of = {"apiVersion": f"instancetype.kubevirt.io/{version}", "kind": kind, "metadata": meta, "spec": {}}
    return {"kind": "ControllerRevision", "name": "rev", "vm": "db", "owner": owner, "of": of}


def finding(reason: str, *rows: Row) -> Any:
    evaluation = Evaluation([check for check in all_checks() if check.id.startswith("instancetype_")])
    for row in rows:
        evaluation.seen(full(row))
    evaluation.evaluate()
    (found,) = (each for each in evaluation.engine.findings() if each.reason == reason)
    return found


@pytest.mark.parametrize(
    ("reason", "rows"),
    [
        ("ObjectMissing", [vm(instancetype={"name": "small"})]),
        ("RevisionMissing", [vm(instancetype={"name": "small"}, instancetypeRef="rev")]),
        ("UnknownKind", [vm(instancetype={"name": "small", "kind": "Small"})]),
        ("RevisionUndecodable", [vm(instancetype={"name": "small"}, instancetypeRef="rev"), copy("u1", "v1alpha2")]),
    ],
)
def test_a_stopped_vm_cannot_start_and_one_that_runs_cannot_be_stopped(reason: str, rows: list[Row]) -> None:
    assert finding(reason, KUBEVIRT, *rows).message.endswith("The VM can't start.")
    uncontrolled = finding(reason, KUBEVIRT, RUNNING, *rows).message
    assert uncontrolled.endswith("The VM can't be stopped or restarted through the VM object.")


@pytest.mark.parametrize(
    ("owner", "said", "step"),
    [
        (
            {"vm": "web", "owner": "u2"},
            "belongs to VirtualMachine web.",
            "Do not delete VirtualMachine web before this VM has a copy of its own",
        ),
        ({"owner": "u2"}, "belongs to a deleted VM of the same name.", "Before garbage collection deletes it"),
        ({}, "has no owner.", "If no other VM or snapshot uses it"),
    ],
)
def test_a_copy_is_taken_from_no_other_owner(owner: Row, said: str, step: str) -> None:
    revision = {key: value for key, value in copy("u1").items() if key != "owner"} | owner
    rows = (KUBEVIRT, vm(instancetype={"name": "small"}, instancetypeRef="rev"), revision)
    found = finding("RevisionNotOwned", *rows)
    assert said in found.message
    assert found.next.startswith(step)
    assert (found.remediation or "") == ("" if owner.get("vm") else "adopt_revision")


def first_shape() -> Row:
    spec = b64encode(b'{"cpu":{"guest":1},"memory":{"guest":"1Gi"}}').decode()
    data = {"apiVersion": "instancetype.kubevirt.io/v1alpha1", "spec": spec}
    return {"kind": "ControllerRevision", "name": "rev", "vm": "db", "owner": "u1", "data": data}


PINNED = vm(instancetype={"name": "small", "revisionName": "rev"})


@pytest.mark.parametrize(
    ("refers", "edits"),
    [
        (PINNED, ["spec"]),
        (vm(instancetype={"name": "small"}, instancetypeRef="rev"), ["status"]),
        (PINNED | {"instancetypeRef": "rev"}, ["spec", "status"]),
    ],
)
def test_the_edit_is_of_what_refers_to_a_copy_that_cannot_be_decoded(refers: Row, edits: list[str]) -> None:
    found = finding("RevisionUndecodable", KUBEVIRT, refers, copy("u1", "v1alpha2"))
    of = {False: "spec", True: "status"}
    assert [of["--subresource=status" in each] for each in found.commands if each.startswith("kubectl edit")] == edits


@pytest.mark.parametrize(
    ("version", "revision", "said", "step"),
    [
        ("", copy("u1", "v1alpha2"), "converts it at the VM's next event", "Do not change the VM before you know"),
        (
            "v1.2.2",
            copy("u1", "v1alpha2"),
            "KubeVirt 1.2 doesn't convert",
            "If other VMs use it, give them copies first. Upgrade KubeVirt to 1.3 or 1.4,",
        ),
        (
            "v1.4.0",
            copy("u1", "v1alpha2"),
            "converts it at the VM's next event",
            "If other VMs use it, give them copies first. Then annotate the VM before KubeVirt 1.5:",
        ),
        (
            "v1.4.0",
            first_shape(),
            "converts it at the VM's next event",
            "If other VMs use it, give them copies first. Then annotate the VM before KubeVirt 1.5:",
        ),
        (
            "v1.6.3",
            copy("u1", "v1alpha2"),
            "converts and deletes it",
            "Before any other change of the VM, if its status names this ControllerRevision",
        ),
        (
            "v1.6.3",
            first_shape(),
            "converts and deletes it",
            "Do not change the VM yet. Create a labeled v1beta1 ControllerRevision",
        ),
    ],
)
def test_an_old_copy_of_a_pinned_vm(version: str, revision: Row, said: str, step: str) -> None:
    found = finding("RevisionOutdated", KUBEVIRT | {"version": version}, PINNED, revision)
    assert said in found.message
    assert found.next.startswith(step)
    assert any("annotate" in each for each in found.commands) == ("annotate the VM" in step)
    assert "NAMESPACE" not in " ".join(found.commands)


def test_two_findings_on_one_copy_say_the_same_step() -> None:
    rows = (KUBEVIRT | {"version": "v1.6.3"}, PINNED, first_shape())
    assert finding("LabellessPin", *rows).next == finding("RevisionOutdated", *rows).next


def test_an_orphaned_copy_is_not_said_to_have_a_successor() -> None:
    found = finding("OrphanedRevision", KUBEVIRT, vm(), copy("u1"))
    assert found.message == "Nothing uses this ControllerRevision of small. Its owner, VM db, doesn't refer to it."


def test_an_object_of_a_kind_that_the_matcher_no_longer_names_is_not_said_to_be_gone() -> None:
    namespaced = copy("u1")
    namespaced["of"] = namespaced["of"] | {"kind": "VirtualMachineInstancetype"}
    found = finding(
        "ObjectGone", KUBEVIRT, RUNNING, vm(instancetype={"name": "small"}, instancetypeRef="rev"), namespaced
    )
    without = "VirtualMachineClusterInstancetype small doesn't exist. The VM uses ControllerRevision rev."
    assert found.message == without


def test_a_preset_that_is_gone_is_in_the_vmi_alone() -> None:
    vmi = RUNNING | {"annotations": {"virtualmachinepreset.kubevirt.io/p": "kubevirt.io/v1"}}
    preset = {"kind": "VirtualMachineInstancePreset", "name": "p", "selector": {"matchLabels": {"os": "linux"}}}
    there, gone = finding("PresetInUse", KUBEVIRT, vm(), vmi, preset), finding("PresetInUse", KUBEVIRT, vm(), vmi)
    assert there.message == "The VMI was created with 1 VirtualMachineInstancePreset: p."
    assert gone.message.endswith("Deleted since then: p. The VM's next start gives the guest other settings.")
    assert gone.next.startswith("Do not restart the VM: its VMI is the last copy")


@pytest.mark.parametrize("role", ["instancetype", "preference"])
def test_a_pin_is_cleared_in_the_spec_and_then_in_the_status(role: str) -> None:
    kind = f"VirtualMachineCluster{role.capitalize()}"
    revision = copy("u1")
    revision["of"] |= {"kind": kind}
    pinned = vm(**{role: {"name": "large", "revisionName": "rev"}})
    found = finding("PinOfOtherObject", KUBEVIRT, {"kind": kind, "name": "large", "uid": "t2"}, revision, pinned)

    *_, pin, reference = (each.partition(" -p ")[2].strip("'") for each in found.commands)
    assert [(each["op"], each["path"], each.get("value")) for each in json.loads(pin)] == [
        ("test", f"/spec/{role}/revisionName", "rev"),
        ("remove", f"/spec/{role}/revisionName", None),
    ]
    assert [(each["op"], each["path"], each.get("value")) for each in json.loads(reference)] == [
        ("test", f"/status/{role}Ref/controllerRevisionRef/name", "rev"),
        ("remove", f"/status/{role}Ref/controllerRevisionRef", None),
    ]
    assert "-n ns db --type" in found.commands[-2]
    assert "-n ns db --subresource=status" in found.commands[-1]


@pytest.mark.parametrize(
    ("strategy", "rejected"),
    [("Halted", (Act.START,)), ("Always", (Act.STOP,)), ("Once", (Act.STOP,)), ("Manual", ()), ("RerunOnFailure", ())],
)
def test_where_edits_are_rejected_so_is_what_virt_api_does_by_one(strategy: str, rejected: tuple[Act, ...]) -> None:
    spec = {"requirements": {"cpu": {"guest": 4}}}
    of = DEMANDING | {"metadata": {"name": "linux", "uid": "p1", "generation": 1}, "spec": spec}
    revision = {"kind": "ControllerRevision", "name": "prev", "vm": "db", "owner": "u1", "of": of}
    preference = {
        "kind": "VirtualMachineClusterPreference",
        "name": "linux",
        "uid": "p1",
        "generation": 1,
        "spec": spec,
    }
    wants = vm(runStrategy=strategy, preference={"name": "linux"}, preferenceRef="prev", domain={"cpu": {"sockets": 2}})
    found = finding("RequirementsUnmet", KUBEVIRT, preference, revision, wants)
    assert found.forbids.acts == rejected


def test_vms_that_share_a_revision_are_one_cause() -> None:
    check = next(each for each in all_checks() if each.id == "instancetype_vms")
    case = cases_of(check)["three_vms_share_the_revision_of_one_of_them"]
    found = list(evaluated(check, case).engine.findings())
    assert sorted(each.subject.name for each in found) == ["app", "web"]
    assert len({each.cause for each in found}) == 1
