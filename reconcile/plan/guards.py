"""The finalizer of `guard_instancetype` as a write that can be taken back, whichever ledger has it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exporter.store.record import Ref

from .plan import Add, Op, Patch, Plan, Risk
from .remediations._grounds import table, texts
from .remediations.instancetypes.guard_instancetype import FINALIZER, REMEDIATION
from .undo import Taken

GUARD = REMEDIATION.id


def guarded(whole: Mapping[str, Any]) -> bool:
    return FINALIZER in texts(table(whole.get("metadata")).get("finalizers"))


def guard(ref: Ref, whole: Mapping[str, Any], why: str) -> Taken:
    """The guard of an object that is guarded: what put the finalizer to where it is. `why` it is taken off is a
    sentence.
    """
    meta = table(whole.get("metadata"))
    finalizers = texts(meta.get("finalizers"))
    others = [each for each in finalizers if each != FINALIZER]
    before = {key: value for key, value in meta.items() if key != "finalizers"}
    op: Op = Add("/metadata/finalizers", [FINALIZER])
    if others:
        before["finalizers"] = others
        op = Add(f"/metadata/finalizers/{finalizers.index(FINALIZER)}", FINALIZER)
    plan = Plan(
        remediation=GUARD,
        fingerprint="",
        check="",
        reason="",
        subject=ref,
        step=Patch(target=ref, ops=(op,)),
        why=why,
        effect="",
        risk=Risk.NONE,
        undo=REMEDIATION.undo,
        settles=False,
    )
    return Taken(attempt="", plan=plan, before={**whole, "metadata": before}, after=whole, why=why)
