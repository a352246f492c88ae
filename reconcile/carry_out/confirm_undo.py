"""Whether a write can be taken back, and what that comes to: on fresh reads, which are made as for a finding."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from exporter.kube.clocks import boottime

from ..fresh import FreshCluster
from ..plan.annotations import APPROVED_PLAN, PAUSED, annotations_of, paused_by
from ..plan.effects import annotation, changed_since, inverse
from ..plan.managed_fields import applied
from ..plan.owners import rival
from ..plan.plan import Delete, Op, Patch, Plan, Refused, Remove, Risk, Step, escaped
from ..plan.remediation import Scene
from ..plan.undo import LOSSES, Loss, Lost, NoUndo, Unaccepted, Undo, UndoEffect, UndoRequest
from .confirm import Confirmed, answered, confirmed
from .fresh_reads import Reads

_WORST_FIRST = list(Risk)


async def confirm_undo(
    taken: UndoRequest,
    undo: Undo | NoUndo,
    reads: Reads,
    *,
    now: float,
    assumed: str = "",
    timer: Callable[[], float] = boottime,
) -> Confirmed | Refused:
    """The plan that takes a write back. Never raises for what the API answers.

    `now` is in seconds since 1970; `assumed` is the version to take KubeVirt for, empty for the one that it reports.
    """
    if isinstance(undo, NoUndo):
        return Refused("can_be_undone", _never(taken, undo))

    def plan(cluster: FreshCluster) -> Plan | Refused:
        return answered(undo, cluster, lambda: undo_plan(taken, undo, Scene(cluster, undo, now)))

    return await confirmed(plan, (undo,), reads, assumed, timer)


def _never(taken: UndoRequest, undo: NoUndo) -> str:
    step = inverse(taken.plan.step, taken.before, taken.after)
    return f"{step}. {undo.why}" if isinstance(step, str) else undo.why


def undo_plan(taken: UndoRequest, undo: Undo, scene: Scene) -> Plan | Refused:
    """What would be written to take a write back, if nothing stands against it but losses that were accepted."""
    written = taken.plan
    if written.undo.startswith("none") and not isinstance(written.step, Delete):
        return Refused("can_be_undone", f"attempt {taken.attempt} can't be undone: {written.undo}")
    step = inverse(written.step, taken.before, taken.after)
    if isinstance(step, str):
        return Refused("can_be_undone", step)
    whole = scene.of(step.target)
    if whole is None:
        return Refused("same_object", f"{step.target} with UID {step.target.uid} no longer exists")
    if why := _changed(taken, step, whole):
        return Refused("unchanged_since", f"{step.target}: {why}")
    given = undo.weigh(taken, scene)
    if isinstance(given, Refused):
        return given
    return _unaccepted(taken, undo, given) or _plan(taken, undo, step, given, whole)


def _changed(taken: UndoRequest, step: Step, now: Mapping[str, Any]) -> str:
    """What somebody else wrote: since the object was read after the write, or before that; empty for nothing."""
    after, ops = taken.after or {}, taken.plan.step.ops if isinstance(taken.plan.step, Patch) else ()
    if ops and (why := changed_since(step, applied(taken.before, ops), after)):
        return f"another client wrote too: {why}"
    why = changed_since(step, after, now)
    return f"{why}{_by(step, after, now)}" if why else ""


def _by(step: Step, after: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Who wrote it since, by the managedFields; empty where they do not say."""
    name = rival(after, now, step.ops) if isinstance(step, Patch) else ""
    return f"; field manager {name} wrote since" if name else ""


def _unaccepted(taken: UndoRequest, undo: Undo, given: UndoEffect) -> Refused | None:
    lost = {_word(undo, each).value for each in given.losses}
    if idle := [word for word in taken.accepted if word not in lost]:
        known = f"; it would lose {', '.join(sorted(lost))}" if lost else ""
        return Refused("accepted_is_lost", f"the undo would lose no {idle[0]} now{known}")
    left = {each.precondition: each.why for each in given.losses if _word(undo, each) not in taken.accepted}
    if not left:
        return None
    (first, why), *others = left.items()
    also = "".join(f"; {each}: {why}" for each, why in others)
    return Unaccepted(first, f"{why}{also}", words=tuple(sorted(lost)))


def _plan(taken: UndoRequest, undo: Undo, step: Step, given: UndoEffect, whole: Mapping[str, Any]) -> Plan:
    written = taken.plan
    return Plan(
        remediation=written.remediation,
        fingerprint=written.fingerprint,
        check=written.check,
        reason=written.reason,
        subject=written.subject,
        vm=written.vm,
        step=_pausing(step, whole, f"undone by {taken.by}") if taken.pauses else step,
        why=taken.why or f"attempt {taken.attempt} is being undone.",
        effect=given.effect,
        risk=min((given.risk, *(LOSSES[_word(undo, each)][1] for each in given.losses)), key=_WORST_FIRST.index),
        undo="none: repair the object again",
        loses=tuple(each.what for each in given.losses),
        settles=written.settles,
        undoes=taken.attempt,
        accepted=taken.accepted,
    )


def _word(undo: Undo, loss: Loss) -> Lost:
    return undo.losses[loss.precondition][0]


def _pausing(step: Step, whole: Mapping[str, Any], text: str) -> Step:
    """The same with a pause of the object, so that nobody repairs again at once what a person took back, and without
    an approval of that, which may not have been used.

    A patch of a subresource can't pause, what is deleted need not be, and a pause that is there keeps its reason.
    """
    if not isinstance(step, Patch) or step.subresource:
        return step
    found, more = annotations_of(whole) or {}, list[Op]()
    if APPROVED_PLAN in found:
        more.append(Remove(f"/metadata/annotations/{escaped(APPROVED_PLAN)}"))
    if paused_by(found) is None:
        more.append(annotation(applied(whole, step.ops), PAUSED, text))
    return Patch(target=step.target, ops=(*step.ops, *more)) if more else step
