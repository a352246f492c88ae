"""The guard of an object as a write that can be taken back: exactly the finalizer goes, wherever it stands."""

from __future__ import annotations

from typing import Any

import pytest

from exporter.facts.record import Ref
from reconcile.plan.effects import changed_since, inverse
from reconcile.plan.managed_fields import applied
from reconcile.plan.plan import Patch
from reconcile.plan.remediations.instancetypes.guard_instancetype import FINALIZER
from reconcile.plan.removal import guard, guarded
from tests.all_of import each_of

REF = Ref("VirtualMachineInstancetype", "shop", "small", "u1")


def obj(finalizers: Any) -> dict[str, Any]:
    return {"kind": REF.kind, "metadata": {"name": "small", "uid": "u1", "finalizers": finalizers}, "spec": {"a": 1}}


@pytest.mark.parametrize(
    "finalizers",
    [[FINALIZER], [FINALIZER, "a/b"], ["a/b", FINALIZER], ["a/b", FINALIZER, "c/d"], ["a/b", "c/d", FINALIZER]],
)
def test_what_takes_it_back_leaves_those_of_others_in_their_order(finalizers: list[str]) -> None:
    whole = obj(finalizers)
    taken = guard(REF, whole, "it goes.")
    step = inverse(taken.plan.step, taken.before, taken.after)
    assert isinstance(step, Patch)
    assert isinstance(taken.plan.step, Patch)
    assert applied(taken.before, taken.plan.step.ops) == whole  # as if it had been put to where it is
    assert applied(whole, step.ops)["metadata"].get("finalizers", []) == [
        each for each in finalizers if each != FINALIZER
    ]
    assert not changed_since(step, whole, whole)
    assert changed_since(step, whole, obj([*finalizers, "new/one"]))


@each_of("finalizers", [None, [], ["a/b"], "steward", {FINALIZER: 1}, [5, {}]])
def test_what_has_no_such_finalizer_is_not_guarded(finalizers: Any) -> None:
    assert not guarded(obj(finalizers))
    assert not guarded({})
    assert guarded(obj([FINALIZER]))
