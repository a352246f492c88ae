"""Whether a VM was stopped, by what is left of the request for it; and what there is to take back."""

from __future__ import annotations

from typing import Any

import pytest

from exporter.model.record import Ref
from reconcile.effects import REQUESTS, happened, inverse
from reconcile.plan import Add, Patch, Replace
from reconcile.plan import Test as Expect

VM = Ref("VirtualMachine", "ns", "db", "v")
STOP = {"action": "Stop", "uid": "i"}
ASK = Patch(target=VM, ops=(Expect("/spec/runStrategy", "Manual"), Add(REQUESTS, [STOP])), subresource="status")
HALT = Patch(target=VM, ops=(Expect("/spec/runStrategy", "Once"), Replace("/spec/runStrategy", "Halted")))


def vm(strategy: str = "Manual", uid: str = "v", **status: Any) -> dict[str, Any]:
    return {"metadata": {"uid": uid}, "spec": {"runStrategy": strategy}, "status": status}


@pytest.mark.parametrize(
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


def test_a_run_strategy_says_so_whatever_runs() -> None:
    assert not happened(HALT, vm("Once", created=True), vm("Once"))
    assert happened(HALT, vm("Once", created=True), vm("Halted", created=True))


def test_the_run_strategy_comes_back_while_it_is_what_was_written() -> None:
    back = inverse(HALT, vm("Once"), vm("Halted"))
    assert isinstance(back, Patch)
    assert back.ops[:2] == (Expect("/spec/runStrategy", "Halted"), Replace("/spec/runStrategy", "Once"))
