"""An object as a write would leave it: as an API server leaves it, for what each remediation plans."""

from __future__ import annotations

import msgspec

from demo.apiserver.writing import JSON, patched
from reconcile.plan.effects import before_and_after
from reconcile.plan.plan import Create, Delete, Patch
from reconcile.plan.remediation import Remediation
from reconcile.plan.remediations import all_remediations
from tests.all_of import each_of
from tests.remediation_cases import made


@each_of("remediation", [each for each in all_remediations() if each.writes], ids=str)
def test_what_is_planned_is_applied_as_an_api_server_does(remediation: Remediation) -> None:
    seen = 0
    for _, each in made(remediation):
        seen += 1
        step, (_, after) = each.plan.step, before_and_after(each.plan.step, each.whole)
        if isinstance(step, Patch):
            assert after == patched(dict(each.whole), JSON, msgspec.json.encode(step.ops))
            assert after != each.whole
        elif isinstance(step, Create | Delete):
            assert after == (step.manifest if isinstance(step, Create) else None)
    assert seen
