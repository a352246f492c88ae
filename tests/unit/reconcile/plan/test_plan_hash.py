"""What is approved is the write: a plan has the same hash for the same one, whatever stands beside it in the object."""

from __future__ import annotations

from typing import Any

import msgspec

from exporter.facts.record import Ref
from reconcile.plan.effects import annotation
from reconcile.plan.plan import Add, Op, Patch, Remove
from reconcile.plan.plan import Test as Holds
from tests.all_of import each_of
from tests.repairs import plan

NAME = "example.com/a~b"
TARGET = Ref("VirtualMachineInstance", "shop", "db", "u1")


def hash_of(*ops: Op) -> str:
    return msgspec.structs.replace(plan(target=TARGET), step=Patch(target=TARGET, ops=ops)).hash


def noting(annotations: Any) -> Op:
    return annotation({"metadata": {} if annotations is None else {"annotations": annotations}}, NAME, "x")


def test_an_approval_that_is_the_first_annotation_leaves_the_plan_the_same() -> None:
    holds = Holds("/status/nodeName", "node01")
    without, beside = noting(None), noting({"steward.kubevirt-steward.io/approved-plan": "…"})
    assert without.path != beside.path
    assert hash_of(holds, without) == hash_of(holds, beside)


@each_of(
    "ops",
    [
        (Add("/metadata/annotations", {NAME: "y"}),),
        (Add("/metadata/annotations", {"example.com/other": "x"}),),
        (Add("/metadata/annotations", {NAME: "x", "example.com/other": "x"}),),
        (Add("/metadata/labels", {NAME: "x"}),),
        (Add("/metadata/annotations/example.com~1a~b", "x"),),
        (Remove("/metadata/annotations/example.com~1a~0b"),),
        (Holds("/status/nodeName", "node01"), noting(None)),
        (Add("/spec/annotations", {NAME: "x"}),),
    ],
)
def test_another_write_has_another_hash(ops: tuple[Op, ...]) -> None:
    assert hash_of(*ops) != hash_of(noting(None))


def test_a_map_elsewhere_is_one_value() -> None:
    assert hash_of(Add("/spec/a", {"b": "x"})) != hash_of(Add("/spec/a/b", "x"))
