"""A ControllerRevision that is created again is the same plan as long as it is of the same object; a reference that was
taken out of a VM's status is replaced by KubeVirt at once, and nobody puts it back.
"""

from __future__ import annotations

from typing import Any

import pytest

from exporter.facts.record import Ref
from reconcile.plan.effects import happened
from reconcile.plan.plan import Create, Patch, Plan, Refused, Remove
from reconcile.plan.plan import Test as Expect  # pytest collects what is named Test
from reconcile.plan.remediations.instancetypes.restash_missing_revision import REMEDIATION
from tests.confirming import MemoryReads, confirmed, hint_of
from tests.rows import full

VM = Ref("VirtualMachine", "ns", "db", "u1")
_PATH = "/status/instancetypeRef/controllerRevisionRef"
STEP = Patch(target=VM, ops=(Expect(f"{_PATH}/name", "lost"), Remove(_PATH)), subresource="status")


def vm(revision: str = "") -> dict[str, Any]:
    ref = {"name": "small", "controllerRevisionRef": {"name": revision}} if revision else {"name": "small"}
    return {"metadata": {"name": "db", "uid": "u1"}, "status": {"instancetypeRef": ref}}


@pytest.mark.parametrize(("now", "done"), [(vm(), True), (vm("new"), True), (vm("lost"), False)])
def test_it_is_gone_once_another_one_is_in_its_place(now: dict[str, Any], done: bool) -> None:
    assert happened(STEP, vm("lost"), now) is done


@pytest.mark.parametrize(
    ("managers", "done"),
    [(["kubevirt-steward"], True), (["kubevirt-steward", "kubectl"], True), ([], True), (["virt-controller"], False)],
)
def test_one_that_somebody_else_created_meanwhile_is_not_ours(managers: list[str], done: bool) -> None:
    """Nor would it be ours to take back."""
    made = Create(target=Ref("ControllerRevision", "ns", "lost"), manifest={}, of=VM)
    fields = [{"manager": each, "operation": "Update", "fieldsV1": {}} for each in managers]
    assert happened(made, vm("lost"), {"metadata": {"name": "lost", "uid": "r1", "managedFields": fields}}) is done


def planned(**live: Any) -> Plan:
    """For a VM whose lost copy was of generation 3, with the live object as given."""
    small = {"kind": "VirtualMachineClusterInstancetype", "name": "small", "uid": "t1", "generation": 3}
    rows: list[dict[str, Any]] = [
        {"kind": "KubeVirt", "name": "kubevirt", "version": "v1.7.1"},
        {"kind": "Namespace", "name": "ns"},
        {"kind": "VirtualMachine", "name": "db", "uid": "u1"}
        | {"instancetype": {"name": "small"}, "instancetypeRef": "db-small-v1beta1-t1-3"},
        small | live,
    ]
    about = {"check": "instancetype_vms", "reason": "RevisionMissing", "kind": "VirtualMachine", "subject": "db"}
    objects = [full(row) for row in rows]
    found = confirmed(REMEDIATION, hint_of(about | {"group": "instancetype"}, objects), MemoryReads(objects))
    assert not isinstance(found, Refused), found
    return found.plan


def test_what_is_approved_is_what_is_created() -> None:
    """The metadata of the live object may change; its content, which makes another generation, may not."""
    plan = planned()
    assert (
        planned(annotations={"a": "b"}, labels={"c": "d"}, over={"metadata": {"resourceVersion": "9"}}).hash
        == plan.hash
    )
    assert planned(generation=4).hash != plan.hash
    assert planned(spec={"cpu": {"guest": 8}, "memory": {"guest": "1Gi"}}).hash != plan.hash
