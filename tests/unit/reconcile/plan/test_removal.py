"""What repairs left on an object, what takes it off, and what has to stay."""

from __future__ import annotations

import re
from typing import Any

import pytest

from exporter.facts.drain_stop import STOPPED_FOR_DRAIN
from exporter.facts.record import Ref
from reconcile.plan.annotations import APPROVED_PLAN, PAUSED, PREFIX, RESUMED
from reconcile.plan.managed_fields import applied
from reconcile.plan.plan import Patch, Plan, Refused
from reconcile.plan.removal import left_alone, leftovers, removal
from tests.all_of import each_of
from tests.shared import REPO

Obj = dict[str, Any]
VM, MIGRATION = "VirtualMachine", "VirtualMachineInstanceMigration"
MADE_BY = "app.kubernetes.io/managed-by"


def obj(kind: str = VM, notes: Obj | None = None, **more: Any) -> Obj:
    meta = {"namespace": "shop", "name": "db", "uid": "u1", "annotations": notes}
    return {"kind": kind, "metadata": meta | more.pop("metadata", {}), **more}


def removed(whole: Obj) -> Plan | Refused:
    return removal(Ref(whole["kind"], "shop", "db", "u1"), whole)


def test_every_annotation_that_is_written_anywhere_is_a_leftover() -> None:
    """By hand, too: the commands of the checks annotate objects to have controllers look at them again."""
    code = "".join(
        path.read_text(encoding="utf-8") for part in ("reconcile", "exporter") for path in (REPO / part).rglob("*.py")
    )
    written = {f"{PREFIX}{each}" for each in re.findall(rf"{re.escape(PREFIX)}([a-z-]+[a-z])", code)}
    written |= {PAUSED, RESUMED, APPROVED_PLAN, STOPPED_FOR_DRAIN}
    assert len(written) > 6
    found = leftovers(VM, obj(notes=dict.fromkeys((*written, "example.com/x"), "x")))
    assert {each.removeprefix("/metadata/annotations/").replace("~1", "/") for each in found} == written


def test_it_is_taken_off_by_its_value_and_nothing_else_changes() -> None:
    notes = {PAUSED: "x", "example.com/x": "y", f"{PREFIX}odd~name": "z"}
    before = obj(notes=notes, metadata={"labels": {MADE_BY: "kubevirt-steward"}}, spec={"a": 1})
    plan = removed(before)
    assert isinstance(plan, Plan)
    assert isinstance(plan.step, Patch)
    after = applied(before, plan.step.ops)
    assert after["metadata"]["annotations"] == {"example.com/x": "y"}
    assert {**after, "metadata": {}} == {**before, "metadata": {}}
    assert after["metadata"]["labels"] == {MADE_BY: "kubevirt-steward"}  # of a VM it is somebody else's
    changed = removed(obj(notes={**notes, PAUSED: "another"}))
    assert isinstance(changed, Plan)
    assert changed.hash != plan.hash


@pytest.mark.parametrize(
    ("phase", "made_by", "wanted"),
    [
        ("Succeeded", "kubevirt-steward", True),
        ("Failed", "kubevirt-steward", True),
        ("Running", "kubevirt-steward", False),
        ("", "kubevirt-steward", False),
        ("Succeeded", "somebody", False),
    ],
)
def test_of_a_migration_that_is_over_the_label_goes(phase: str, made_by: str, wanted: bool) -> None:
    whole = obj(MIGRATION, metadata={"labels": {MADE_BY: made_by}}, status={"phase": phase})
    plan = removed(whole)
    assert isinstance(plan, Plan) is wanted
    if isinstance(plan, Plan):
        assert isinstance(plan.step, Patch)
        assert applied(whole, plan.step.ops)["metadata"]["labels"] == {}


@each_of(
    ("state", "stays"),
    [
        ({"spec": {"runStrategy": "Halted"}, "status": {"created": True}}, True),  # its guest is about to shut down
        ({"spec": {"running": False}, "status": {"created": True}}, True),
        ({"spec": {"runStrategy": "Manual"}, "status": {}}, True),
        ({"spec": {"runStrategy": "Manual"}}, True),
        ({"spec": {"runStrategy": "Manual"}, "status": {"created": True}}, False),
        ({"spec": {"runStrategy": "Always"}, "status": {"created": True}}, False),
        ({"spec": None, "status": None}, True),
    ],
)
def test_a_vm_that_was_stopped_for_a_drain_and_is_off_keeps_all(state: Obj, stays: bool) -> None:
    whole = obj(notes={STOPPED_FOR_DRAIN: "{}", PAUSED: "x"}, **state)
    assert bool(left_alone(VM, whole)) is stays
    assert isinstance(removed(whole), Refused) is stays
    assert not left_alone(VM, obj(notes={PAUSED: "x"}, **state))


def test_what_is_being_deleted_stays_as_it_is() -> None:
    whole = obj(notes={PAUSED: "x"}, metadata={"deletionTimestamp": "2026-05-04T08:12:31Z"})
    assert left_alone(VM, whole) == "it is being deleted"
    assert isinstance(removed(whole), Refused)


@pytest.mark.parametrize("whole", [obj(), obj(notes={"example.com/x": "y"}), {"kind": VM}, {"kind": VM, "metadata": 5}])
def test_where_nothing_is_left_nothing_is_written(whole: Obj) -> None:
    found = removed(whole)
    assert isinstance(found, Refused)
    assert found.precondition == "something_left"
