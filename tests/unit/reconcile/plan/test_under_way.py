"""While a VM is saved, restored or cloned nothing is written that is about it: by the objects that say so themselves.

Each remediation that writes to a VM, a VMI, an IPAMClaim or a ControllerRevision of a VM asks for each of the kinds.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from exporter.store.kind import ApiKind
from reconcile.carry_out.confirm import Confirmed
from reconcile.plan.plan import Refused
from reconcile.plan.remediation import Remediation
from reconcile.plan.remediations import all_remediations
from tests.all_of import each_of
from tests.confirming import MemoryReads, confirmed, hint_of
from tests.evaluation import NOW
from tests.remediation_cases import cases_of
from tests.rows import full

Row = dict[str, Any]
# A decision: what a snapshot keeps and a restore brings back. Whoever writes to one of these asks; others may.
OF_A_VM = {
    "virtualmachines",
    "virtualmachines/status",
    "virtualmachineinstancemigrations",
    "virtualmachineinstances/evacuate",
    "ipamclaims",
    "controllerrevisions",
}
ASKING = [each for each in all_remediations() if "no_snapshot_or_restore" in each.preconditions]
KINDS = (
    "VirtualMachineRestore",
    "VirtualMachineSnapshot",
    "VirtualMachineClone",
    "VirtualMachineBackup",
    "Restore",
    "Backup",
)


def _of(kind: str, **row: Any) -> Row:
    return {"kind": kind, "name": "x", "uid": f"uid-{kind}", **row}


UNDER_WAY = {
    "a restore": _of("VirtualMachineRestore", target="VM"),
    "a restore that has no status": _of("VirtualMachineRestore", target="VM", over={"status": None}),
    "a snapshot that has just been created": _of("VirtualMachineSnapshot", source="VM"),
    "a snapshot": _of("VirtualMachineSnapshot", source="VM", phase="InProgress"),
    "a snapshot whose state is unknown": _of("VirtualMachineSnapshot", source="VM", phase="Unknown"),
    "a snapshot that is being deleted": _of("VirtualMachineSnapshot", source="VM", phase="Deleting"),
    "a snapshot of nobody knows what": _of("VirtualMachineSnapshot", over={"spec": None}),
    "a clone of it": _of("VirtualMachineClone", source="VM", target="new", phase="SnapshotInProgress"),
    "a clone into it": _of("VirtualMachineClone", source="other", target="VM", phase="CreatingTargetVM"),
    "a clone into what gets its name": _of("VirtualMachineClone", source="other", targetName="VM"),
    "a clone into what has no name yet": _of("VirtualMachineClone", source="other"),
    "a clone from a snapshot": _of(
        "VirtualMachineClone", sourceKind="VirtualMachineSnapshot", source="s", target="new"
    ),
    "a backup": _of("VirtualMachineBackup", source="VM"),
    "a backup of a tracker": _of("VirtualMachineBackup", sourceKind="VirtualMachineBackupTracker", source="t"),
    "a backup without conditions": _of("VirtualMachineBackup", source="VM", over={"status": {"conditions": [None]}}),
    "Velero restores everything": _of("Restore", phase="InProgress"),
    "Velero restores everything by a star": _of("Restore", included=["*"], phase="New"),
    "Velero restores the namespace": _of("Restore", included=["other", None, "NS"], phase="WaitingForPluginOperations"),
    "Velero restores by a pattern": _of("Restore", included=["n*"], phase="Finalizing"),
    "Velero restores another namespace into it": _of(
        "Restore", included=["shop"], mapping={"shop": "NS"}, phase="FinalizingPartiallyFailed"
    ),
    "Velero restores it into itself": _of("Restore", mapping={"NS": "NS"}),
    "Velero restores, and has not said in which phase": _of("Restore", over={"status": None}),
    "Velero restores in a phase of a later release": _of("Restore", phase="Paused"),
    "Velero excludes another namespace": _of("Restore", excluded=["other"], phase="InProgress"),
    "Velero saves everything": _of("Backup", phase="InProgress", over={"spec": None}),
    "Velero saves the namespace": _of("Backup", included=["NS"], phase="New"),
}
OVER = {
    "a restore that is complete": _of("VirtualMachineRestore", target="VM", complete=True)
    | {"over": {"status": {"restoreTime": "2026-05-01T00:00:00Z"}}},
    "a restore of another VM": _of("VirtualMachineRestore", target="another"),
    "a restore in another namespace": _of("VirtualMachineRestore", target="VM", namespace="elsewhere"),
    "a snapshot that succeeded": _of("VirtualMachineSnapshot", source="VM", phase="Succeeded"),
    "a snapshot that failed": _of("VirtualMachineSnapshot", source="VM", phase="Failed"),
    "a snapshot of another VM": _of("VirtualMachineSnapshot", source="another", phase="InProgress"),
    "a clone that succeeded": _of("VirtualMachineClone", source="VM", target="new", phase="Succeeded"),
    "a clone that failed": _of("VirtualMachineClone", source="VM", phase="Failed"),
    "a clone of another VM": _of("VirtualMachineClone", source="another", target="new", phase="RestoreInProgress"),
    "a backup that is done": _of("VirtualMachineBackup", source="VM", done="Done"),
    "a backup that is complete": _of("VirtualMachineBackup", source="VM", done="Complete"),
    "a backup that failed": _of("VirtualMachineBackup", source="VM", done="Failed"),
    "a backup of another VM": _of("VirtualMachineBackup", source="another"),
    "Velero has restored": _of("Restore", phase="Completed"),
    "Velero has restored in part": _of("Restore", phase="PartiallyFailed"),
    "Velero has not restored": _of("Restore", phase="Failed"),
    "Velero will not restore": _of("Restore", phase="FailedValidation"),
    "Velero restores another namespace": _of("Restore", included=["other"], phase="InProgress"),
    "Velero restores all but this one": _of("Restore", excluded=["NS"], phase="InProgress"),
    "Velero restores it into another one": _of("Restore", included=["NS"], mapping={"NS": "copy"}, phase="InProgress"),
    "Velero restores what is excluded into it": _of("Restore", excluded=["shop", "NS"], mapping={"shop": "NS"}),
    "Velero has saved": _of("Backup", phase="Completed"),
    "Velero deletes a backup": _of("Backup", phase="Deleting"),
    "Velero saves another namespace": _of("Backup", included=["other"], phase="InProgress"),
}


def planning(remediation: Remediation) -> Row:
    """A case with a plan."""
    return next(case for case in cases_of(remediation).values() if "plans" in case)


def vm_of(case: Row) -> str:
    """The VM that the object of a case is of."""
    name = case["about"]["subject"]
    row = next(each for each in case["given"] if each["name"] == name and each["kind"] == case["about"]["kind"])
    return (
        str(row.get("vm") or row.get("ownerName") or "db")
        if row["kind"] in ("IPAMClaim", "ControllerRevision")
        else name
    )


def answer(remediation: Remediation, *rows: Row, **how: Any) -> Confirmed | Refused:
    case = planning(remediation)
    namespace = case["about"].get("namespace", "ns")
    names = {"VM": vm_of(case), "NS": namespace}
    objects = [
        full(each) for each in (*case["given"], *(_named({"namespace": namespace} | row, names) for row in rows))
    ]
    reads = MemoryReads(objects, **how)
    return confirmed(remediation, hint_of(case["about"], objects), reads, NOW + case.get("later", 0))


def _named(thing: Any, names: dict[str, str]) -> Any:
    if isinstance(thing, dict):
        return {names.get(key, key): _named(value, names) for key, value in thing.items()}
    if isinstance(thing, list):
        return [_named(each, names) for each in thing]
    return names.get(thing, thing) if isinstance(thing, str) else thing


CLAIM, VM = "delete_orphan_ipam_claim", "persist_firmware_uuid"
FULLY = [each for each in ASKING if each.id in (CLAIM, VM)]
BRIEFLY = {row["kind"]: name for name, row in UNDER_WAY.items()}
MEANWHILE = [
    pytest.param(each, UNDER_WAY[name], id=f"{each.id}-{name}")
    for each in ASKING
    for name in (UNDER_WAY if each in FULLY else BRIEFLY.values())
]
OTHERS = [
    pytest.param(each, OVER[name], id=f"{each.id}-{name}")
    for each in ASKING
    for name in (OVER if each in FULLY else [*OVER][-1:])
]


def test_whoever_writes_to_vms_asks() -> None:
    for each in all_remediations():
        about = OF_A_VM & {write.resource for write in each.writes}
        assert each in ASKING or not about, f"{each.id} writes {about}: it needs NO_SNAPSHOT_OR_RESTORE"


@each_of(("remediation", "row"), MEANWHILE)
def test_nothing_is_written_meanwhile(remediation: Remediation, row: Row) -> None:
    refused = answer(remediation, row)
    assert isinstance(refused, Refused), refused
    if (row["kind"], remediation.id) == ("VirtualMachineRestore", "delete_orphan_revision"):
        assert refused.precondition == "finding_holds"  # its check reports nothing then
        return
    assert refused.precondition == "no_snapshot_or_restore", refused.why
    assert f"{row['kind']} " in refused.why


@each_of(("remediation", "row"), OTHERS)
def test_what_is_over_or_of_others_is_in_nobodys_way(remediation: Remediation, row: Row) -> None:
    found = answer(remediation, row)
    assert isinstance(found, Confirmed), found


def test_a_copy_may_be_about_to_be_referred_to_by_any_vm_of_its_namespace() -> None:
    remediation = next(each for each in ASKING if each.id == "delete_orphan_revision")
    refused = answer(remediation, OVER["a clone of another VM"])
    assert isinstance(refused, Refused), refused
    assert refused.precondition == "no_snapshot_or_restore"


@each_of("kind", KINDS)
@each_of("remediation", FULLY, ids=lambda each: each.id)
def test_what_is_not_served_is_not_there(remediation: Remediation, kind: str) -> None:
    assert isinstance(answer(remediation, absent=[kind]), Confirmed)


@each_of("remediation", ASKING, ids=lambda each: each.id)
def test_where_none_of_them_is_served_there_is_nothing(remediation: Remediation) -> None:
    assert isinstance(answer(remediation, absent=KINDS), Confirmed)


@each_of("kind", KINDS)
@each_of("remediation", FULLY, ids=lambda each: each.id)
def test_what_can_not_be_read_refuses(remediation: Remediation, kind: str) -> None:
    refused = answer(remediation, fails={kind: 403})
    assert isinstance(refused, Refused), refused
    assert refused.precondition == "everything_seen"


ODD: list[Row] = [
    {"spec": "all"},
    {"status": 7},
    {"status": {"phase": ["Completed"]}},
    {"status": {"conditions": "Done"}, "spec": {"includedNamespaces": "NS", "source": [], "target": 7}},
]


@each_of("over", ODD, ids=str)
@each_of("kind", KINDS)
def test_what_is_of_another_shape_refuses(kind: str, over: Row) -> None:
    refused = answer(next(each for each in ASKING if each.id == VM), _of(kind, source="VM", target="VM", over=over))
    assert isinstance(refused, Refused), refused
    assert refused.precondition in ("everything_seen", "no_snapshot_or_restore")


class Beginning(MemoryReads):
    """A Backup begins once all of them were read."""

    async def listed(self, kind: ApiKind[Any], version: str, namespace: str | None) -> list[msgspec.Raw]:
        found = await super().listed(kind, version, namespace)
        if kind.name == "Backup":
            self.objects.append(full({"kind": "Backup", "name": "now", "phase": "InProgress"}))
        return found


def test_of_many_backups_the_one_that_begins_is_seen_when_all_is_read_once_more() -> None:
    """Velero keeps its Backups for weeks: more than are read in a moment, and in a namespace of its own."""
    remediation = next(each for each in ASKING if each.id == CLAIM)
    case = planning(remediation)
    done = [full({"kind": "Backup", "name": f"b{number}", "phase": "Completed"}) for number in range(501)]
    objects = [*(full(each) for each in case["given"]), *done]
    refused = confirmed(remediation, hint_of(case["about"], objects), Beginning(objects))
    assert isinstance(refused, Refused), refused
    assert "Velero's Backup velero/now" in refused.why


def test_what_saves_and_restores_is_read_last() -> None:
    remediation = next(each for each in ASKING if each.id == CLAIM)
    case = planning(remediation)
    objects = [full(each) for each in case["given"]]
    reads = MemoryReads(objects)
    assert isinstance(confirmed(remediation, hint_of(case["about"], objects), reads), Confirmed)
    assert {kind for kind, _, _ in reads.asked[-len(KINDS) :]} == set(KINDS)
