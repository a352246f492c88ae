"""Plans about IPAMClaims over time: they stay the same while they wait, and one does not undo another."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from demo.apiserver.resources import Obj
from reconcile.carry_out.confirm import Confirmed
from reconcile.decide.repair import Hint
from reconcile.plan.plan import Patch, Refused
from reconcile.plan.remediation import Remediation
from reconcile.plan.remediations import all_remediations
from reconcile.plan.remediations.networks import release_ipam_claim
from reconcile.plan.remediations.networks.release_ipam_claim import NUDGED
from tests.all_of import each_of
from tests.confirming import MemoryReads, confirmed, hint_of
from tests.evaluation import NOW
from tests.remediation_cases import answered, cases_of
from tests.rows import full

OURS = [each for each in all_remediations() if not {"ipam_claims", "ipam_vms"}.isdisjoint(each.answers)]
RELEASE = release_ipam_claim.REMEDIATION
PLANNED = [
    pytest.param(remediation, case, id=f"{remediation.id}-{name}")
    for remediation in OURS
    for name, case in cases_of(remediation).items()
    if "plans" in case
]


@each_of(("remediation", "case"), PLANNED)
def test_a_plan_is_the_same_a_day_later(remediation: Remediation, case: dict[str, Any]) -> None:
    objects = [full(row) for row in case["given"]]
    reads = MemoryReads(objects, absent=case.get("absent", ()))
    after = NOW + case.get("later", 0) + 86_400
    answers = answered(remediation, case), confirmed(remediation, hint_of(case["about"], objects), reads, after)
    assert len({answer.plan.hash for answer in answers if isinstance(answer, Confirmed)}) == 1, answers
    assert all(isinstance(answer, Confirmed) for answer in answers), answers


def hint_for(claim: str, objects: list[Obj]) -> Hint:
    about = {"check": "ipam_claims", "reason": "StuckTerminatingBlocksOwnerDeletion", "kind": "IPAMClaim"}
    return hint_of(about | {"subject": claim}, objects)


def annotated(vm: Obj, plan: Confirmed, at: str) -> Obj:
    """The VM after the plan, with what the API server notes of it."""
    step = plan.plan.step
    assert isinstance(step, Patch)
    written = step.ops[-1].value  # type: ignore[union-attr] # an annotation is added or replaced
    value = written[NUDGED] if isinstance(written, dict) else written
    vm = copy.deepcopy(vm)
    vm["metadata"]["annotations"] = {NUDGED: value}
    fields: Obj = {"f:metadata": {"f:annotations": {".": {}, f"f:{NUDGED}": {}}}}
    vm["metadata"]["managedFields"] = [{"manager": "steward", "operation": "Update", "time": at, "fieldsV1": fields}]
    return vm


def test_two_ipam_claims_of_one_vm_are_both_released() -> None:
    vm = full({"kind": "VirtualMachine", "name": "db", "uid": "u1", "deleting": True})
    row = {"kind": "IPAMClaim", "vm": "db", "owner": "u1", "deleting": True}
    rest = [full(row | {"name": name, "uid": name}) for name in ("db.blue", "db.red")]

    def asked(name: str, vm: Obj, seconds: float) -> Confirmed | Refused:
        objects = [vm, *rest]
        return confirmed(RELEASE, hint_for(name, objects), MemoryReads(objects), NOW + seconds)

    first = asked("db.blue", vm, 0)
    assert isinstance(first, Confirmed)
    vm = annotated(vm, first, "2026-09-21T14:13:20Z")
    second = asked("db.red", vm, 30)
    assert isinstance(second, Confirmed)
    vm = annotated(vm, second, "2026-09-21T14:13:50Z")

    for name in ("db.blue", "db.red"):
        early = asked(name, vm, 149)
        assert isinstance(early, Refused), early
        assert early.precondition == "nudge_had_time"
        in_time = asked(name, vm, 150)
        assert isinstance(in_time, Confirmed), in_time
        assert in_time.plan.target.name == name
