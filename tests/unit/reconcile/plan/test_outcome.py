"""An object as a write would leave it: as an API server leaves it, for what each remediation plans."""

from __future__ import annotations

import msgspec

from demo.apiserver.patching import JSON, patched
from reconcile.confirm.confirm import Confirmed
from reconcile.plan.outcome import before_and_after
from reconcile.plan.plan import Create, Delete, Patch
from reconcile.plan.remediation import Remediation
from reconcile.plan.remediations import all_remediations
from tests.all_of import each_of
from tests.confirming import MemoryReads, confirmed, hint_of
from tests.evaluation import NOW
from tests.remediation_cases import cases_of
from tests.rows import full


@each_of("remediation", [each for each in all_remediations() if each.writes], ids=str)
def test_what_is_planned_is_applied_as_an_api_server_does(remediation: Remediation) -> None:
    seen = 0
    for case in cases_of(remediation).values():
        if "plans" not in case:
            continue
        objects = [full(row) for row in case["given"]]
        reads = MemoryReads(objects, case.get("fails"), case.get("absent", ()))
        made = confirmed(remediation, hint_of(case["about"], objects), reads, NOW + case.get("later", 0))
        if not isinstance(made, Confirmed) or made.plan.proposal:
            continue
        seen += 1
        step, (_, after) = made.plan.step, before_and_after(made.plan.step, made.whole)
        if isinstance(step, Patch):
            assert after == patched(dict(made.whole), JSON, msgspec.json.encode(step.ops))
            proposed = made.plan.proposal is not None and not step.ops  # of which nothing is written
            assert (after != made.whole) is not proposed
        elif isinstance(step, Create | Delete):
            assert after == (step.manifest if isinstance(step, Create) else None)
    assert seen
