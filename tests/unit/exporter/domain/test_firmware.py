"""Firmware identities: what KubeVirt derives from names, which spellings are one UUID, and what a finding says."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.checks import all_checks
from exporter.facts.firmware import comparable, group_id, identifying, invalid, legacy
from exporter.findings.finding import Finding
from tests.evaluation import Evaluation
from tests.rows import full

NAMESPACE = uuid.UUID("6a1a24a1-4061-4607-8bf4-a3963d0c5895")
RANDOM, OTHER = "3e6c1f0a-6f0e-4d6b-9a43-0c8e5b1d2f31", "7c0f4f5e-52fd-4d8b-8a25-0f0d7f9f1f10"
# UUIDs that KubeVirt derives from names.
VECTORS = {
    "testvm": "5a9fc181-957e-5c32-9e5a-2de5e9673531",
    "my-vm": "41256f5f-3759-54d0-9c60-26dff9079ab1",
    "fedora": "98f07cdd-96da-5880-b6c7-1a5700b73dc4",
    "vm1": "133bf63e-9459-5126-9b21-b56e9b3d17b3",
    "cirros1": "3df3b144-362a-5efb-8d26-acbb926fa216",
}
NOT_LEGACY = ("131badbb-f4e8-5bd0-87c5-61fa8347b4fc", "5e0c0b03-12a9-5c40-89f4-68e6456f2f11")
DUPLICATES = next(check for check in all_checks() if check.id == "firmware_duplicates")
VMS = next(check for check in all_checks() if check.id == "firmware_vms")


def findings(*rows: dict[str, Any], check: Any = DUPLICATES) -> dict[tuple[str, str], Finding]:
    """What is found, by reason and the subject's `namespace/name`."""
    evaluation = Evaluation([check])
    for row in rows:
        evaluation.seen(full(row))
    evaluation.evaluate()
    return {(each.reason, each.subject.path): each for each in evaluation.engine.findings()}


def vm(name: str, uuid: str = RANDOM, **more: Any) -> dict[str, Any]:
    return {"kind": "VirtualMachine", "namespace": "ns", "name": name, "uuid": uuid, **more}


def vmi(of: dict[str, Any], **more: Any) -> dict[str, Any]:
    uid = full(of)["metadata"]["uid"]
    own: dict[str, Any] = {key: of[key] for key in ("namespace", "name", "uuid") if key in of}
    return {**own, "kind": "VirtualMachineInstance", "vm": uid, **more}


def running(name: str, uuid: str = RANDOM, **more: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    made = vm(name, uuid, **more)
    return made, vmi(made)


# -- what is derived from a name


@pytest.mark.parametrize(("name", "made"), VECTORS.items())
def test_what_kubevirt_makes_of_a_name(name: str, made: str) -> None:
    assert legacy(name) == made
    (found,) = findings(vm(name, made.upper())).values()
    assert (found.reason, found.evidence["of"]) == ("LegacyDerived", name)


@pytest.mark.parametrize("variant", NOT_LEGACY)
def test_what_only_unreleased_kubevirt_made_is_not_taken_for_it(variant: str) -> None:
    assert not findings(vm("testvm", variant, namespace="default"))


@given(st.text(min_size=1, max_size=80))
def test_it_is_the_uuid_of_version_5(name: str) -> None:
    assert legacy(name) == str(uuid.uuid5(NAMESPACE, name))


def test_a_uuid_made_of_another_name_says_of_whose() -> None:
    found = findings(vm("copy", VECTORS["fedora"]), vm("fedora", OTHER))
    assert list(found) == [("LegacyDerived", "ns/copy")]
    assert found["LegacyDerived", "ns/copy"].evidence["of"] == "fedora"
    assert "the name fedora" in found["LegacyDerived", "ns/copy"].message


# -- what is one UUID


@given(st.uuids(), st.sampled_from(("{}", " {} ", "{{{}}}", "urn:uuid:{}", "{}\n")), st.booleans(), st.booleans())
def test_spellings_of_one_uuid(value: uuid.UUID, frame: str, upper: bool, dashes: bool) -> None:
    text = str(value) if dashes else value.hex
    written = frame.format(text.upper() if upper else text)
    assert comparable(written) == str(value)
    assert invalid(written) is None or value.int in (0, 2**128 - 1)


@given(st.text(max_size=60))
def test_no_text_is_too_odd(text: str) -> None:
    assert comparable(text) == comparable(comparable(text)) or invalid(text)
    assert not identifying(text) or str(uuid.UUID(identifying(text))) == identifying(text)


@pytest.mark.parametrize(
    "text", ["x", "3e6c1f0a_6f0e_4d6b_9a43_0c8e5b1d2f31", "+" * 32, "٣" * 32, "0x" + "1" * 30, "1" * 31, "1" * 33]
)
def test_what_is_no_uuid(text: str) -> None:
    assert invalid(text) == "Malformed"
    assert not identifying(text)


@pytest.mark.parametrize(
    "text", ["0" * 32, "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF", "{03000200-0400-0500-0006-000700080009}"]
)
def test_what_stands_for_no_uuid(text: str) -> None:
    assert invalid(text) == "Placeholder"
    assert not identifying(text)


# -- who should keep it


@pytest.mark.parametrize(
    ("one", "other", "keeper", "why"),
    [
        # In the order of precedence, each against all that comes after it.
        ({"tpm": True, "run": False, "origin": "restore"}, {"run": True}, "ns/one", "persistent TPM"),
        ({"priorityClass": "system-node-critical", "run": False}, {"run": True}, "ns/one", "priority class"),
        ({"run": True, "origin": "restore"}, {"run": False}, "ns/one", "it runs"),
        ({"origin": "backup"}, {"created": "2026-05-05T08:12:31Z"}, "ns/two", "was not restored from"),
        ({}, {"created": "2026-05-03T08:12:31Z"}, "ns/two", "oldest"),
        ({}, {}, "ns/one", "first by name"),
        ({"tpm": True}, {"tpm": True}, None, "more than one has a persistent TPM"),
        (
            {"priorityClass": "system-node-critical"},
            {"priorityClass": "system-cluster-critical", "run": True},
            None,
            "the priority class of more than one",
        ),
        ({"efi": True, "created": "2026-05-05T08:12:31Z"}, {}, "ns/two", "oldest"),
    ],
)
def test_who_should_keep_it(one: dict[str, Any], other: dict[str, Any], keeper: str | None, why: str) -> None:
    rows: list[dict[str, Any]] = []
    for name, more in (("one", one), ("two", other)):
        more = dict(more)
        made = running(name, **more) if more.pop("run", False) else (vm(name, **more),)
        rows += made
    found = findings(*rows).values()

    assert [each.evidence.get("keeper") for each in found] == [keeper] * 2
    assert all(why in each.evidence["keeperWhy"] for each in found)


def test_the_uuid_of_its_own_name_speaks_for_a_vm() -> None:
    found = findings(vm("fedora", VECTORS["fedora"]), vm("copy", VECTORS["fedora"], created="2026-05-03T08:12:31Z"))
    assert found["LatentDuplicate", "ns/copy"].evidence["keeper"] == "ns/fedora"


def test_a_member_that_is_being_deleted_keeps_nothing() -> None:
    found = findings(vm("a", tpm=True, deleting=True), vm("b"), vm("c"))
    assert found["LatentDuplicate", "ns/b"].evidence["keeper"] == "ns/b"
    assert "keeper" in found["DuplicateEnding", "ns/a"].evidence


def _moved(source: dict[str, Any], **more: Any) -> dict[tuple[str, str], Finding]:
    """What is found once a guest has migrated from a/db to b/db."""
    out = {"kind": "VirtualMachineInstanceMigration", "name": "m", "vmi": "db", "phase": "Succeeded"}
    target = [{**row, "namespace": "b"} for row in running("db")]
    return findings(
        {**vm("db", **source), "namespace": "a"},
        out | {"namespace": "a", "sends": "m1"},
        *target,
        out | {"namespace": "b", "receives": "m1"},
        *([more] if more else []),
    )


def test_a_source_that_stays_halted_after_its_migration_is_named_with_what_to_do() -> None:
    found = _moved({"runStrategy": "Halted"})
    assert set(found) == {("DuplicateEnding", "a/db"), ("DuplicateEnding", "b/db")}
    for finding in found.values():
        assert "They collide if" in finding.message
        assert finding.next.startswith("If VM a/db isn't needed, delete it. Otherwise, before its start")
    assert "a/db was migrated away" in found["DuplicateEnding", "b/db"].message


def test_a_source_that_is_being_deleted_ends_by_itself() -> None:
    for finding in _moved({"runStrategy": "Halted", "deleting": True}).values():
        assert finding.message.endswith("until one of them is deleted.")
        assert finding.next == "No action needed. The finding closes when the deletion has finished."


def test_a_third_that_is_being_deleted_has_nothing_to_do_with_a_source_that_stays() -> None:
    third = {**vm("old", deleting=True), "namespace": "c"}
    found = _moved({"runStrategy": "Halted"}, **third)
    assert found["DuplicateEnding", "c/old"].next.startswith("No action needed")
    assert found["DuplicateEnding", "b/db"].next.startswith("If VM a/db isn't needed, delete it")


# -- what else is reported


def test_a_finding_names_the_others_and_never_shows_a_uuid_outside_of_its_evidence() -> None:
    one, two = running("one"), running("two", RANDOM.upper(), tpm=True, terminate=True)
    found = findings(*one, *two, vm("three", origin="restore", stopped="2026-06-01T00:00:00Z"))
    finding = found["Duplicate", "ns/two"]

    assert finding.evidence["uuid"] == RANDOM.upper()
    assert finding.evidence["others"] == [
        {"name": "ns/one", "kind": "VirtualMachine", "running": True, "since": "2026-05-04T08:12:31Z"},
        {
            "name": "ns/three",
            "kind": "VirtualMachine",
            "running": False,
            "since": "2026-06-01T00:00:00Z",
            "origin": "restore",
        },
    ]
    assert (finding.evidence["changeLoses"], finding.evidence["members"]) == ("persistent TPM", 3)
    assert finding.evidence["changeApplies"] == "on the next guest reboot"
    assert found["Duplicate", "ns/one"].evidence["changeApplies"] == "with the next start"
    assert {each.group for each in found.values()} == {group_id(RANDOM)}
    assert finding.since == 1777882351.0
    for each in found.values():
        shown = json.dumps([each.message, each.group, str(each.related), str(each.subject)]).lower()
        assert RANDOM not in shown
        assert RANDOM.replace("-", "") not in shown


def test_two_that_collide_do_so_since_the_later_one_started() -> None:
    one, two = running("one"), running("two")
    one[1]["created"], two[1]["created"] = "2026-05-04T10:00:00Z", "2026-05-04T11:00:00Z"
    found = findings(*one, *two)
    assert {each.since for each in found.values()} == {1777892400.0}


@pytest.mark.parametrize(
    ("version", "reported"), [("v1.5.3", False), ("v1.6.0", True), ("v1.7.3", True), ("v1.8.0", False), ("", False)]
)
def test_an_update_of_its_pool_may_have_made_it(version: str, reported: bool) -> None:
    kubevirt = {"kind": "KubeVirt", "namespace": "kubevirt", "name": "kubevirt", "version": version}
    found = findings(kubevirt, vm("testvm", VECTORS["testvm"], pool="test"))
    hints = found["LegacyDerived", "ns/testvm"].evidence.get("hints", [])
    assert any("1.6.0 to 1.7.4" in hint for hint in hints) is reported


def test_causes_are_reported() -> None:
    found = findings(vm("a", pool="p"), vm("b", pool="p"), vm("c", origin="manifest"), vm("d", origin="backup"))
    hints = {path: each.evidence.get("hints", []) for (_, path), each in found.items()}

    assert hints["ns/a"] == ["the template of VirtualMachinePool p sets the UUID"]
    assert hints["ns/c"] == ["the manifest that was applied for it sets the UUID"]
    assert hints["ns/d"] == ["it was restored from a backup"]
    namesakes = findings(vm("vm1", VECTORS["vm1"]), vm("vm1", VECTORS["vm1"], namespace="other"))
    assert namesakes["LatentDuplicate", "ns/vm1"].evidence["hints"] == ["KubeVirt derived it from their common name"]


def test_a_vm_whose_firmware_was_replaced_lacks_its_serial() -> None:
    found = findings(vm("vm1", VECTORS["vm1"]), vm("fedora", VECTORS["fedora"], serial="s"))
    assert found["LegacyDerived", "ns/vm1"].evidence["serial"].startswith("missing")
    assert "serial" not in found["LegacyDerived", "ns/fedora"].evidence


def test_a_change_that_waits_tells_both_values_and_when_it_comes() -> None:
    made = vm("db", terminate=True, tpm=True, serial="S1")
    found = findings(made, vmi(made, uuid=OTHER, serial="S2"), check=VMS)
    finding = found["SpecRunMismatch", "ns/db"]

    assert finding.evidence == {
        "specUUID": RANDOM,
        "runningUUID": OTHER,
        "specSerial": "S1",
        "runningSerial": "S2",
        "specGroup": group_id(RANDOM),
        "runningGroup": group_id(OTHER),
        "changeApplies": "on the next guest reboot",
        "changeLoses": "persistent TPM",
    }
    assert finding.message.endswith("Its next guest reboot changes its identity and empties its persistent TPM.")


@pytest.mark.parametrize(
    ("row", "cause"),
    [
        ({"failure": "FirmwareUUIDError", "status": "Provisioning", "runStrategy": "Always"}, "FirmwareUUIDError"),
        ({"failure": "FailedCreate", "status": "Provisioning", "runStrategy": "Always"}, "DataVolumesNotReady"),
        ({"failure": "FailedCreate"}, "FailedCreate"),
        ({}, None),
    ],
)
def test_what_keeps_the_uuid_from_being_written(row: dict[str, Any], cause: str | None) -> None:
    kubevirt = {"kind": "KubeVirt", "namespace": "kubevirt", "name": "kubevirt", "version": "v1.9.0"}
    found = findings(kubevirt, vm("testvm", "", **row), check=VMS)["NotPersisted", "ns/testvm"]
    assert found.evidence.get("cause") == cause
    assert found.evidence["uuid"] == VECTORS["testvm"]


def test_an_unknown_release_is_said_so() -> None:
    found = findings(vm("testvm", ""), check=VMS)["NotPersisted", "ns/testvm"]
    assert found.evidence["kubeVirt"] == "unknown"
    assert "release is unknown" in found.message


@pytest.mark.parametrize(("uuid", "cause"), [("x", "Malformed"), ("0" * 32, "Placeholder")])
def test_why_a_uuid_is_none(uuid: str, cause: str) -> None:
    found = findings(vm("a", uuid), check=VMS)["InvalidUUID", "ns/a"]
    assert (found.evidence["uuid"], found.evidence["cause"]) == (uuid, cause)
    assert found.group == group_id(comparable(uuid))


# -- what a healthy fleet does


def moved(phase: str, end: str, namespace: str) -> dict[str, Any]:
    """One end of a migration between namespaces."""
    kind = "VirtualMachineInstanceMigration"
    return {"kind": kind, "namespace": namespace, "name": end, "vmi": "db", "phase": phase, end: "m1"}


LATER = {"created": "2026-06-01T00:00:00Z"}
DB, DB_VMI = running("db", serial="S1")
CLONE, CLONE_VMI = running("db-clone", OTHER, serial="S2")
TARGET = vm("db", namespace="b", serial="S1", runStrategy="WaitAsReceiver")
CONTENT = {"kind": "VirtualMachineSnapshotContent", "namespace": "ns", "name": "c1", "source": "db", "uuid": RANDOM}
START = [{**DB, "runStrategy": "Always"}, {**DB_VMI, "phase": ""}, {**DB_VMI, "serial": "S1"}]
STOP = [{**DB_VMI, "deleting": True}, {**DB_VMI, "phase": "Succeeded"}, {**DB, "runStrategy": "Halted"}]
# Every state of an object in turn, as a watch tells them.
LIVES: dict[str, list[dict[str, Any]]] = {
    "starts and stops": [vm("db", serial="S1"), *START, *STOP, *START],
    "restarts": [*START, {**DB_VMI, "deleting": True}, {**DB_VMI, **LATER, "phase": "Pending"}, {**DB_VMI, **LATER}],
    "is cloned": [*START, CLONE, CLONE_VMI],
    "is saved and restored": [*START, CONTENT, *STOP, {**DB, "origin": "restore"}, *START],
    "is migrated": [*START, moved("Running", "db", "ns"), moved("Succeeded", "db", "ns")],
    "is older than 1.6": [vm("testvm", ""), vmi(vm("testvm", VECTORS["testvm"])), vm("testvm", VECTORS["testvm"])],
    "is migrated to another namespace": [
        *START,
        TARGET,
        {**vmi(TARGET), "phase": ""},
        {**vmi(TARGET), "phase": "WaitingForSync"},
        moved("Pending", "sends", "ns"),
        moved("Pending", "receives", "b"),
        {**vmi(TARGET), "phase": "Scheduled"},
        vmi(TARGET),
        moved("Succeeded", "receives", "b"),
        moved("Succeeded", "sends", "ns"),
        {**TARGET, "runStrategy": "Always"},
        *STOP,
    ],
}


@pytest.mark.parametrize("life", LIVES)
def test_what_a_healthy_vm_goes_through_is_at_most_reported(life: str) -> None:
    checks = [check for check in all_checks() if check.id.startswith("firmware_")]
    evaluation = Evaluation(checks, initial=False)
    evaluation.evaluate()
    evaluation.seen(full({"kind": "KubeVirt", "namespace": "kubevirt", "name": "kubevirt", "version": "v1.9.0"}))
    for row in LIVES[life]:
        evaluation.seen(full(row))
        assert [each for each in evaluation.found() if each[3] != "info"] == [], row
