"""What becomes true once a plan about firmware is carried out, and what a plan stays the same by."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from demo.apiserver.writing import JSON, patched
from exporter.facts.firmware import comparable, legacy
from exporter.facts.record import Ref
from exporter.store.kinds import namespace
from reconcile.carry_out.confirm import Confirmed
from reconcile.fresh import FreshCluster
from reconcile.plan.plan import Patch, Plan, Refused
from reconcile.plan.remediation import Remediation, Scene
from reconcile.plan.remediations._grounds import ending
from reconcile.plan.remediations.identity.persist_firmware_uuid import REMEDIATION as PERSIST
from reconcile.plan.remediations.identity.reassign_firmware_uuid import REMEDIATION as REASSIGN
from tests.all_of import each_of
from tests.confirming import MemoryReads, confirmed, hint_of
from tests.remediation_cases import cases_of
from tests.rows import full

Obj = dict[str, Any]
SHARED = "3e6c1f0a-6f0e-4d6b-9a43-0c8e5b1d2f31"
GROUP = "97031ff066"  # of those that have it
LATENT = {"check": "firmware_duplicates", "reason": "LatentDuplicate", "kind": "VirtualMachine", "group": GROUP}

PLANNED = [
    pytest.param(remediation, case, id=f"{remediation.id}-{name}")
    for remediation in (PERSIST, REASSIGN)
    for name, case in cases_of(remediation).items()
    if "plans" in case
]


def plan_of(remediation: Remediation, about: Obj, objects: list[Obj]) -> Plan | Refused:
    answer = confirmed(remediation, hint_of(about, objects), MemoryReads(objects), 1_800_000_000.0)
    return answer.plan if isinstance(answer, Confirmed) else answer


def planned(remediation: Remediation, about: Obj, objects: list[Obj]) -> Plan:
    plan = plan_of(remediation, about, objects)
    assert isinstance(plan, Plan), plan
    return plan


def carried_out(plan: Plan, objects: list[Obj]) -> list[Obj]:
    assert isinstance(plan.step, Patch)
    target, body = plan.target, msgspec.json.encode(plan.step.ops)
    return [patched(each, JSON, body) if each["metadata"]["uid"] == target.uid else each for each in objects]


@each_of(("remediation", "case"), PLANNED)
def test_once_it_is_carried_out_the_finding_is_gone_and_nothing_else_has_changed(
    remediation: Remediation, case: Obj
) -> None:
    objects = [full(row) for row in case["given"]]
    plan = planned(remediation, case["about"], objects)
    after = carried_out(plan, objects)

    again = plan_of(remediation, case["about"], after)
    assert isinstance(again, Refused)
    assert again.precondition == "finding_holds"

    old, new = (
        next(each for each in them if each["metadata"]["uid"] == plan.target.uid) for them in (objects, json_of(after))
    )
    before = old["spec"]["template"]["spec"]["domain"].pop("firmware", None) or {}
    kept = new["spec"]["template"]["spec"]["domain"].pop("firmware")
    assert old == new
    assert {name: kept[name] for name in before if name != "uuid" and before[name]} == {
        name: value for name, value in before.items() if name != "uuid" and value
    }


def json_of(objects: list[Obj]) -> list[Obj]:
    made: list[Obj] = json.loads(json.dumps(objects))
    return made


def twins(count: int) -> list[Obj]:
    """Stopped VMs with one UUID, the oldest first."""
    vms = [
        {
            "kind": "VirtualMachine",
            "name": f"vm-{number}",
            "uid": f"u{number}",
            "runStrategy": "Halted",
            "uuid": SHARED,
            "created": f"2026-01-0{number + 1}T00:00:00Z",
        }
        for number in range(count)
    ]
    return [full(row) for row in ({"kind": "Namespace", "name": "ns"}, *vms)]


def test_of_all_that_share_a_uuid_one_keeps_it_and_the_others_get_different_ones() -> None:
    objects = twins(4)
    for number in (2, 1, 3):
        plan = planned(REASSIGN, LATENT | {"subject": f"vm-{number}"}, objects)
        objects = carried_out(plan, objects)
    refused = plan_of(REASSIGN, LATENT | {"subject": "vm-0"}, objects)
    assert isinstance(refused, Refused)
    assert refused.precondition == "finding_holds"
    uuids = [each["spec"]["template"]["spec"]["domain"]["firmware"]["uuid"] for each in objects[1:]]
    assert uuids[0] == SHARED
    assert len(set(map(comparable, uuids))) == 4
    assert not {legacy(f"vm-{number}") for number in range(4)} & set(uuids)


def test_the_oldest_of_them_is_refused() -> None:
    refused = plan_of(REASSIGN, LATENT | {"subject": "vm-0"}, twins(4))
    assert isinstance(refused, Refused)
    assert refused.precondition == "another_keeps_it"


def touched(vm: Obj) -> None:
    vm["metadata"] |= {"resourceVersion": "99", "generation": 7, "labels": {"team": "shop"}}
    vm["status"] = {"printableStatus": "Stopped"}


def given_a_serial(vm: Obj) -> None:
    vm["spec"]["template"]["spec"]["domain"]["firmware"]["serial"] = "s1"


def created_anew(vm: Obj) -> None:
    vm["metadata"]["uid"] = "other"


@pytest.mark.parametrize(("change", "same"), [(touched, True), (given_a_serial, False), (created_anew, False)])
def test_a_plan_is_the_same_as_long_as_what_it_is_about_is(change: Callable[[Obj], None], same: bool) -> None:
    about, objects = LATENT | {"subject": "vm-1"}, twins(2)
    before = planned(REASSIGN, about, objects).hash
    change(objects[2])
    assert (planned(REASSIGN, about, objects).hash == before) is same


def test_an_object_that_is_being_deleted_is_left_whatever_the_check_says() -> None:
    scene = Scene(FreshCluster((namespace.KIND,), ()), PERSIST, 0.0)
    ref = Ref("VirtualMachine", "ns", "db", "u1")
    refused = ending(scene, ref, {"metadata": {"deletionTimestamp": "2026-09-21T14:12:20Z"}})
    assert refused is not None
    assert refused.precondition == "not_being_deleted"
