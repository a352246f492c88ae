"""What repairs leave on objects for themselves, and the write that takes it off. Pure.

That is every annotation of the steward, whoever wrote it: approvals, pauses, nudges, and what owners allowed; and the
label of migrations that a repair made. A finalizer that guards is another write (`guards`). What repairs mended stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from exporter.facts.drain_stop import STOPPED_FOR_DRAIN
from exporter.facts.record import Ref

from .annotations import PREFIX
from .guards import Guard, Needs
from .plan import Add, Op, Patch, Plan, Refused, Remove, Risk, Test, escaped
from .remediation import Remediation
from .remediations._grounds import table, texts
from .remediations.instancetypes.guard_instancetype import FINALIZER, REMEDIATION
from .requests import MANAGER
from .undo import UndoRequest

REMOVAL = Remediation(
    id="remove",
    title="Remove annotations and labels that repairs left on an object",
    writes=(),
    plan=Guard(lambda _, __: Refused("finding_holds", "no finding asks for it, but a person"), Needs()),
    risk=Risk.NONE,
    undo="none: only the steward reads it",
)
_MIGRATION, _MADE_BY = "VirtualMachineInstanceMigration", "app.kubernetes.io/managed-by"
_OVER = ("Succeeded", "Failed")


def leftovers(kind: str, whole: Mapping[str, Any]) -> list[str]:
    """JSON pointers to what is left on an object, the finalizer that guards it aside."""
    meta = table(whole.get("metadata"))
    notes = (name for name in sorted(table(meta.get("annotations"))) if name.startswith(PREFIX))
    found = [f"/metadata/annotations/{escaped(name)}" for name in notes]
    if kind == _MIGRATION and table(meta.get("labels")).get(_MADE_BY) == MANAGER:
        found.append(f"/metadata/labels/{escaped(_MADE_BY)}")
    return found


def left_alone(kind: str, whole: Mapping[str, Any]) -> str:
    """Why what is left on an object has to stay for now, and what to do; empty where it need not."""
    meta, spec, status = (table(whole.get(part)) for part in ("metadata", "spec", "status"))
    if meta.get("deletionTimestamp"):
        return "it is being deleted"
    if kind == "VirtualMachine" and STOPPED_FOR_DRAIN in table(meta.get("annotations")):
        halted = spec.get("runStrategy") == "Halted" or spec.get("running") is False
        if halted or status.get("created") is not True:
            forget = f"kubectl annotate virtualmachines.kubevirt.io -n {meta.get('namespace')} {meta.get('name')}"
            stay = f"or, if it is to stay off: {forget} {STOPPED_FOR_DRAIN}-"
            return f"a repair stopped it for a drain, and the annotation says how to start it. Start it, {stay}"
    if kind == _MIGRATION and status.get("phase") not in _OVER:
        return "it is an unfinished migration"
    return ""


def removal(ref: Ref, whole: Mapping[str, Any]) -> Plan | Refused:
    """Takes all of it off an object, as it was read."""
    if why := left_alone(ref.kind, whole):
        return Refused("left_alone", f"{ref}: {why}")
    ops = tuple(op for path in leftovers(ref.kind, whole) for op in _off(path, whole))
    if not ops:
        return Refused("something_left", f"repairs left nothing on {ref}")
    return Plan(
        remediation=REMOVAL.id,
        fingerprint="",
        check="",
        reason="",
        subject=ref,
        step=Patch(target=ref, ops=ops),
        why="repairs left annotations or labels.",
        effect="Only the steward reads the removed annotations and labels.",
        risk=Risk.NONE,
        undo=REMOVAL.undo,
        settles=False,
    )


def _off(path: str, whole: Mapping[str, Any]) -> Iterator[Op]:
    """With the value that it has: whoever sets it anew meanwhile means it."""
    *_, map_name, key = path.split("/")
    value = table(table(whole.get("metadata")).get(map_name))[key.replace("~1", "/").replace("~0", "~")]
    yield Test(path, value)
    yield Remove(path)


# The finalizer of `guard_instancetype` as a write that can be taken back, whichever ledger has it. Pure.

GUARD = REMEDIATION.id


def guarded(whole: Mapping[str, Any]) -> bool:
    return FINALIZER in texts(table(whole.get("metadata")).get("finalizers"))


def guard(ref: Ref, whole: Mapping[str, Any], why: str) -> UndoRequest:
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
    return UndoRequest(attempt="", plan=plan, before={**whole, "metadata": before}, after=whole, why=why)
