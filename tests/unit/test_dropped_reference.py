"""A reference that was taken out of a VM's status: KubeVirt puts another one there at once, and nobody puts it back."""

from __future__ import annotations

from typing import Any

import pytest

from exporter.model.record import Ref
from reconcile.cli.undo import _attempt
from reconcile.effects import happened
from reconcile.ledger import Entry, Event
from reconcile.plan import Patch, Plan, Remove, Risk
from reconcile.plan import Test as Expect  # pytest collects what is named Test

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
