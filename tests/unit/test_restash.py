"""A ControllerRevision that is created again is the same plan as long as it is of the same object; a reference that was
taken out of a VM's status is replaced by KubeVirt at once, and nobody puts it back.
"""

from __future__ import annotations

from typing import Any

import pytest

from exporter.model.record import Ref
from reconcile.cli.undo import _attempt
from reconcile.effects import happened
from reconcile.ledger import Entry, Event
from reconcile.plan import Patch, Plan, Refused, Remove, Risk
from reconcile.plan import Test as Expect  # pytest collects what is named Test
from reconcile.remediations.restash_missing_revision import REMEDIATION
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


@pytest.mark.parametrize("undo", ["none: KubeVirt makes the new copy at once", "put it back"])
def test_what_has_no_undo_is_not_taken_back(undo: str) -> None:
    """With the lost reference in its status the VM could neither be started nor stopped again."""
    plan = Plan(
        remediation="restash_missing_revision",
        fingerprint="f",
        check="instancetype_vms",
        reason="RevisionMissing",
        subject=VM,
        step=STEP,
        why="",
        effect="",
        risk=Risk.RESOURCES,
        undo=undo,
    )
    intended = Entry(seq=1, at=1.0, event=Event.INTENDED, attempt="a-1", plan=plan, whole=vm("lost"))
    entries = [intended, Entry(seq=2, at=2.0, event=Event.DONE, attempt="a-1", whole=vm("new"))]
    if undo == "put it back":
        assert _attempt(entries, "a-1") == (intended, vm("new"))
        return
    with pytest.raises(ValueError, match="attempt a-1 can't be taken back: none: KubeVirt makes the new copy at once"):
        _attempt(entries, "a-1")


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
