"""What an instancetype or a preference brings: the finding says so, and where it can be taken out."""

from __future__ import annotations

from typing import Any

import pytest

from exporter.checks import all_checks
from exporter.domain.features.configuration import like
from exporter.domain.features.settings import Device
from exporter.findings.finding import Finding
from tests.evaluation import Evaluation
from tests.rows import full

Row = dict[str, Any]
PREFERENCE = "VirtualMachineClusterPreference"
SEV: Row = {"preferredLaunchSecurity": {"sev": {}}}
KUBEVIRT: Row = {
    "kind": "KubeVirt",
    "name": "kubevirt",
    "namespace": "kubevirt",
    "version": "v1.9.0",
    "disabledGates": ["WorkloadEncryptionSEV"],
}
LIVE: Row = {"kind": PREFERENCE, "name": "linux", "uid": "p1", "spec": SEV}
KEPT: Row = {
    "kind": "ControllerRevision",
    "name": "copy",
    "owner": "u1",
    "of": {
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": PREFERENCE,
        "metadata": {"name": "linux"},
        "spec": SEV,
    },
}


def vm(**more: Any) -> Row:
    return {"kind": "VirtualMachine", "name": "db", "uid": "u1", "runStrategy": "Halted", **more}


def findings(*rows: Row) -> list[Finding]:
    evaluation = Evaluation([check for check in all_checks() if check.id.startswith("feature_")])
    for row in rows:
        evaluation.seen(full(row))
    evaluation.evaluate()
    evaluation.now += 3600  # what nodes offer comes and goes for minutes
    evaluation.evaluate()
    return list(evaluation.engine.findings())


def refused(*rows: Row) -> Finding:
    (found,) = (each for each in findings(*rows) if each.feature == "sev" and each.check == "feature_mismatch")
    return found


REFERS = {"name": "linux", "kind": PREFERENCE}
PINS = {**REFERS, "revisionName": "copy"}


@pytest.mark.parametrize(
    ("own", "rest", "says"),
    [
        (
            {"preference": REFERS},
            LIVE,
            f"Edit {PREFERENCE} linux, which other VMs might use too, or refer the VM to another preference.",
        ),
        (
            {"preference": REFERS, "preferenceRef": "copy"},
            KEPT,
            (
                f"Refer the VM to another preference: an edit of {PREFERENCE} linux doesn't change the VM's "
                "ControllerRevision."
            ),
        ),
        (
            {"preference": PINS},
            KEPT,
            (
                "The VM's spec pins ControllerRevision copy. Refer the VM to another preference, without this "
                "revisionName."
            ),
        ),
    ],
    ids=["live", "copy", "pin"],
)
def test_the_evidence_names_what_can_be_edited(own: Row, rest: Row, says: str) -> None:
    found = refused(KUBEVIRT, rest, vm(**own))

    assert found.message.endswith(f" The request comes from {PREFERENCE} linux.")
    assert found.next.startswith("Before the VM is needed, remove all rejected fields")
    assert found.evidence["change"] == "Remove WorkloadEncryptionSEV from disabledFeatureGates of KubeVirt."
    assert found.evidence["remove"] == [says]
    assert found.evidence["broughtBy"] == [f"{PREFERENCE} linux"]
    assert found.evidence.get("broughtFrom") == (None if rest is LIVE else ["copy"])


def test_what_the_template_asks_for_itself_is_not_brought() -> None:
    own: Row = {"launchSecurity": {"sev": {}}}
    found = refused(KUBEVIRT, LIVE, vm(preference=REFERS, domain=own))

    assert "The request comes from" not in found.message
    assert "broughtBy" not in found.evidence
    assert "remove" not in found.evidence


def test_of_two_devices_one_is_of_the_template() -> None:
    permitted: Row = {"permittedHostDevices": {"pciHostDevices": []}}
    kubevirt = KUBEVIRT | {"gates": ["HostDevices", "GPU"], "configuration": permitted}
    brings = {"gpus": [{"name": "g", "deviceName": "a.com/one"}], "cpu": {"guest": 1}, "memory": {"guest": "1Gi"}}
    sized = {"kind": "VirtualMachineClusterInstancetype", "name": "gpu", "uid": "t1", "spec": brings}
    own = {"devices": {"hostDevices": [{"name": "h", "deviceName": "a.com/two"}]}}
    both = findings(kubevirt, sized, vm(instancetype={"name": "gpu"}, domain=own))
    alone = findings(kubevirt, sized, vm(instancetype={"name": "gpu"}))

    feature = "permitted_host_devices"
    assert ["The request comes from" in each.message for each in both if each.feature == feature] == [False]
    assert ["The request comes from" in each.message for each in alone if each.feature == feature] == [True]


def test_what_no_node_offers_may_be_brought_too() -> None:
    brings = {"gpus": [{"name": "g", "deviceName": "a.com/one"}], "cpu": {"guest": 1}, "memory": {"guest": "1Gi"}}
    sized = {"kind": "VirtualMachineClusterInstancetype", "name": "gpu", "uid": "t1", "spec": brings}
    node = {"kind": "Node", "name": "node01", "labels": {"kubevirt.io/schedulable": "true"}}
    permitted = {"pciHostDevices": [{"pciVendorSelector": "10DE:1EB8", "resourceName": "a.com/one"}]}
    allows = KUBEVIRT | {"gates": ["HostDevices", "GPU"], "configuration": {"permittedHostDevices": permitted}}
    found = findings(allows, node, sized, vm(instancetype={"name": "gpu"}))
    (lacking,) = (each for each in found if each.reason == "NoNodeForStart" and "a.com/one" in each.message)

    assert lacking.message.endswith(" The request comes from VirtualMachineClusterInstancetype gpu.")
    assert lacking.next.startswith("Have the device plugin of a.com/one")
    assert lacking.evidence["remove"][0].startswith("Edit VirtualMachineClusterInstancetype gpu, which other VMs")


def permitted(*names: str, mdev: str | None = None) -> list[Device]:
    return [Device(resource_name=name, mdev_name_selector=mdev) for name in names]


@pytest.mark.parametrize(
    ("asked", "there", "named"),
    [
        ("nvidia.com/TU104GL_Tesla_T4", permitted("nvidia.com/TU104GL", "nvidia.com/A100"), ["nvidia.com/TU104GL"]),
        ("nvidia.com/TU104GL", permitted("nvidia.com/TU104GL_Tesla_T4"), ["nvidia.com/TU104GL_Tesla_T4"]),
        ("NVIDIA.com/tu104gl", permitted("nvidia.com/TU104GL"), ["nvidia.com/TU104GL"]),
        ("TU104GL", permitted("nvidia.com/TU104GL"), ["nvidia.com/TU104GL"]),
        ("nvdia.com/TU104GL", permitted("nvidia.com/TU104GL"), ["nvidia.com/TU104GL"]),
        ("nvidia.com/GRID_T4-1Q", permitted("nvidia.com/small", mdev="GRID T4-1Q"), ["nvidia.com/small"]),
        ("nvidia.com/A100", permitted("nvidia.com/A1000"), []),
        ("nvidia.com/GRID_T4-1Q", permitted("nvidia.com/GRID_T4-2Q"), []),
        ("intel.com/sriov_vf", permitted("nvidia.com/sriov_vf"), []),
        ("a.com/x", permitted(*(f"a.com/x-{at}" for at in range(9))), ["a.com/x-0", "a.com/x-1", "a.com/x-2"]),
        ("a.com/", permitted("a.com/x", ""), []),
    ],
)
def test_names_that_are_nearly_the_same(asked: str, there: list[Device], named: list[str]) -> None:
    assert list(like(asked, there)) == named
