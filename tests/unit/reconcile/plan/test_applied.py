"""An object as a write would leave it: as an API server leaves it, for what each remediation plans."""

from __future__ import annotations

import json

import msgspec
import pytest

from demo.apiserver.patching import JSON, patched
from exporter.store.record import Ref
from reconcile.confirm.confirm import Confirmed
from reconcile.plan.applied import applied
from reconcile.plan.plan import Add, Create, Op, Patch, Remove, Replace
from reconcile.plan.remediation import Remediation
from reconcile.plan.remediations import all_remediations
from tests.confirming import MemoryReads, confirmed, hint_of
from tests.evaluation import NOW
from tests.remediation_cases import cases_of
from tests.rows import full

OBJECT = {"metadata": {"name": "db", "annotations": {"a/b": "x"}, "finalizers": ["one", "two"]}, "spec": {"on": True}}
TARGET = Ref("IPAMClaim", "ns", "db", "u1")


@pytest.mark.parametrize("remediation", [each for each in all_remediations() if each.writes], ids=str)
def test_what_is_planned_is_applied_as_an_api_server_does(remediation: Remediation) -> None:
    seen = 0
    for case in cases_of(remediation).values():
        if "plans" not in case:
            continue
        objects = [full(row) for row in case["given"]]
        reads = MemoryReads(objects, case.get("fails"), case.get("absent", ()))
        made = confirmed(remediation, hint_of(case["about"], objects), reads, NOW + case.get("later", 0))
        if not isinstance(made, Confirmed):
            continue
        seen += 1
        step, after = made.plan.step, applied(made.plan.step, made.whole)
        if isinstance(step, Patch):
            assert after == patched(dict(made.whole), JSON, msgspec.json.encode(step.ops))
            assert after != made.whole
        else:
            assert after == (step.manifest if isinstance(step, Create) else None)
    assert seen


@pytest.mark.parametrize(
    "op",
    [
        Add("/metadata/annotations/c~1d", "y"),
        Add("/metadata/finalizers/-", "three"),
        Add("/metadata/finalizers/0", "zero"),
        Replace("/metadata/finalizers/1", "2"),
        Replace("/spec/on", False),
        Remove("/metadata/finalizers/0"),
        Remove("/metadata/annotations/a~1b"),
    ],
)
def test_each_operation_is_applied_as_an_api_server_does(op: Add | Replace | Remove) -> None:
    before = json.dumps(OBJECT)
    after = applied(Patch(target=TARGET, ops=(op,)), OBJECT)
    assert after == patched(OBJECT, JSON, msgspec.json.encode([op]))
    assert json.dumps(OBJECT) == before


@pytest.mark.parametrize("op", [Remove("/spec/off/now"), Add("/metadata/finalizers/x", "y"), Remove("/spec/off")])
def test_a_patch_that_the_object_does_not_take_is_an_error(op: Op) -> None:
    with pytest.raises(ValueError, match=f"{op.path} is not there"):
        applied(Patch(target=TARGET, ops=(op,)), OBJECT)
