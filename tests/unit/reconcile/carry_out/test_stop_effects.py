"""Whether a VM was stopped, by what is left of the request for it; and what there is to take back."""

from __future__ import annotations

from typing import Any

import pytest

from exporter.facts.record import Ref
from reconcile.ledger.settling import may_arrive
from reconcile.plan.effects import REQUESTS, happened, inverse
from reconcile.plan.plan import Add, Create, Patch, Remove, Replace
from reconcile.plan.plan import Test as Expect

from ....all_of import each_of

VM = Ref("VirtualMachine", "ns", "db", "v")
STOP = {"action": "Stop", "uid": "i"}
ASK = Patch(target=VM, ops=(Expect("/spec/runStrategy", "Manual"), Add(REQUESTS, [STOP])), subresource="status")
HALT = Patch(target=VM, ops=(Expect("/spec/runStrategy", "Once"), Replace("/spec/runStrategy", "Halted")))


def vm(strategy: str = "Manual", uid: str = "v", **status: Any) -> dict[str, Any]:
    return {"metadata": {"uid": uid}, "spec": {"runStrategy": strategy}, "status": status}


@each_of(
    ("before", "now", "done"),
    [
        (vm(created=True), vm(created=True), False),
        (vm(created=True), vm(created=True, stateChangeRequests=[STOP]), True),
        (vm(created=True), vm(created=True, stateChangeRequests=[{**STOP, "uid": "another"}]), False),
        (vm(created=True), vm(), True),
        (vm(created=True), vm(created=False), True),
        (vm(), vm(), False),
        (vm(created=True), vm(uid="another"), False),
        (vm(created=True), None, False),
    ],
)
def test_a_request_is_there_until_the_vmi_is_gone(before: dict[str, Any], now: Any, done: bool) -> None:
    assert happened(ASK, before, now) is done


@each_of(
    ("before", "now", "done"),
    [
        (vm(), vm(), False),
        (vm(), vm(stateChangeRequests=[{"action": "Start"}]), True),
        (vm(), vm(stateChangeRequests=[STOP]), False),
        (vm(), vm(created=True), True),
        (vm(created=False), vm(created=True), True),
        (vm(created=True), vm(), False),
        (vm(created=True), vm(created=True), False),
        (vm(), vm(uid="another", created=True), False),
    ],
)
def test_a_start_is_there_until_the_vmi_is(before: dict[str, Any], now: Any, done: bool) -> None:
    ask = Patch(target=VM, ops=(Add(REQUESTS, [{"action": "Start"}]),), subresource="status")
    assert happened(ask, before, now) is done


@pytest.mark.parametrize(
    ("managers", "ours"), [(["kubevirt-steward", "kubectl"], True), (["kubectl"], False), (["virt-controller"], False)]
)
def test_what_is_there_by_the_name_was_made_by_us_or_by_somebody_else(managers: list[str], ours: bool) -> None:
    manifest = {"metadata": {"name": "x"}, "data": {"spec": {}}}
    step = Create(target=Ref("ControllerRevision", "ns", "x"), manifest=manifest, of=Ref("VirtualMachine", "ns", "v"))
    signed = [{"manager": each, "operation": "Update"} for each in managers]
    now = {**manifest, "metadata": {"name": "x", "uid": "u", "managedFields": signed}}
    assert happened(step, {}, now) is ours
    assert may_arrive(step, {}, now) is not ours  # what somebody else made may go meanwhile


def test_a_stop_and_what_it_left_are_taken_back_together() -> None:
    note = "/metadata/annotations/steward.kubevirt-steward.io~1stopped-for-drain"
    step = Patch(target=VM, ops=(Replace("/spec/runStrategy", "Halted"), Add(note, "x")))
    before, after = vm("Always"), vm("Halted")
    before["metadata"]["annotations"] = {"a": "b"}
    after["metadata"]["annotations"] = {"a": "b", "steward.kubevirt-steward.io/stopped-for-drain": "x"}
    back = inverse(step, before, after)
    assert isinstance(back, Patch)
    assert back.ops[:4] == (
        Expect("/spec/runStrategy", "Halted"),
        Replace("/spec/runStrategy", "Always"),
        Expect(note, "x"),
        Remove(note),
    )


def test_a_run_strategy_says_so_whatever_runs() -> None:
    assert not happened(HALT, vm("Once", created=True), vm("Once"))
    assert happened(HALT, vm("Once", created=True), vm("Halted", created=True))


def test_the_run_strategy_comes_back_while_it_is_what_was_written() -> None:
    back = inverse(HALT, vm("Once"), vm("Halted"))
    assert isinstance(back, Patch)
    assert back.ops[:2] == (Expect("/spec/runStrategy", "Halted"), Replace("/spec/runStrategy", "Once"))
