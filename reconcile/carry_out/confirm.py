"""Whether a finding still holds, and what would be done about it: on fresh reads, by the same check.

The check is evaluated and the remediation plans on a `FreshCluster`, again and again, until nothing was asked that had
not been read. All that both read is read for this one answer: objects by their names, lists where the absence of others
counts, and what is not there. Anything unknown refuses.

Listing all pods of a large cluster takes seconds, in which a VM can be created and use what had no user, a restore can
begin, or a controller can fail. So everything is read once more before a plan is given, and of long lists of the whole
cluster the namespace of the object, with VMs, VMIs, migrations and pods late, and last what saves or restores VMs. A
pod of another namespace that the list lacks can't refer to the object.

A plan that is not made again without what users of other namespaces write is a proposal (`plan/words.py`).

Whether a write can be taken back, and what that comes to, is asked on reads that are made as for a finding.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import msgspec

from exporter.engine.evaluate import Answer, Outcome, evaluate, standing
from exporter.facts.record import Record, Ref, UnansweredError
from exporter.findings.check import Check
from exporter.findings.finding import Finding, fingerprint
from exporter.kube.clocks import boottime
from exporter.store.kind import ApiKind
from exporter.store.reader import Reader
from exporter.store.source import Source, Undecodable

from ..decide.repair import Hint
from ..fresh import FreshCluster, Need
from ..plan.annotations import APPROVED_PLAN, PAUSED, annotations_of, paused_by
from ..plan.effects import annotation, changed_since, inverse
from ..plan.guards import unanswered, undecodable
from ..plan.lost import Lost
from ..plan.managed_fields import applied
from ..plan.owners import claimed, rival
from ..plan.plan import Delete, Op, Patch, Plan, Refused, Remove, Risk, Step, escaped
from ..plan.remediation import Remediation, Scene
from ..plan.undo import LOSSES, Loss, NoUndo, Unaccepted, Undo, UndoEffect, UndoRequest
from ..plan.words import allowed, of_strangers, unsupported
from .fresh_reads import Reads, kinds_of, settled

T = TypeVar("T")


@dataclass(frozen=True)
class Confirmed:
    """A plan. `whole` is the object that the write is about, as it was read: its resourceVersion is the precondition.
    `read` is when it was begun to read everything once more, by the timer; None where it was not.
    """

    plan: Plan
    whole: Mapping[str, Any]
    read: float | None = None


async def confirm(
    hint: Hint,
    check: Check,
    remediation: Remediation,
    reads: Reads,
    *,
    now: float,
    settings: Any = None,
    assumed: str = "",
    timer: Callable[[], float] = boottime,
) -> Confirmed | Refused:
    """The plan for a finding that still holds. Never raises for what the API answers.

    `settings` are the check's; `assumed` is the version to take KubeVirt for, empty for the one that it reports.
    """

    def made(cluster: FreshCluster) -> Plan | Refused:
        finding = _finding(hint, check, cluster, settings)
        if isinstance(finding, Refused):
            return finding
        plan = answered(remediation, cluster, lambda: remediation.plan(finding, Scene(cluster, remediation, now)))
        if isinstance(plan, Refused):
            return plan
        if early := _early(finding, check, now):
            return Refused("finding_holds", early)
        return msgspec.structs.replace(plan, cause=check.cause_of(finding))

    def plan(cluster: FreshCluster) -> Plan | Refused:
        found = made(cluster)
        if isinstance(found, Refused) or found.proposal is not None:
            return found
        if allowed(remediation, _whole(cluster, found.bound_to, (check, remediation))):
            return found
        without = made(cluster.without(of_strangers(found.bound_to.namespace)))
        return msgspec.structs.replace(found, proposal=unsupported(found, without))

    return await confirmed(plan, (check, remediation), reads, assumed, timer)


async def confirmed(
    make: Callable[[FreshCluster], Plan | Refused],
    readers: tuple[Reader, ...],
    reads: Reads,
    assumed: str,
    timer: Callable[[], float],
) -> Confirmed | Refused:
    """The plan that is made of what the readers declare, once all that it takes was read twice."""

    def ask(cluster: FreshCluster) -> Confirmed | Refused:
        plan = make(cluster)
        if isinstance(plan, Refused):
            return plan
        bound_to = plan.bound_to
        whole = _whole(cluster, bound_to, readers)
        if whole is None or (whole.get("metadata") or {}).get("uid") != bound_to.uid:
            return Refused("same_object", f"{bound_to} with UID {bound_to.uid} no longer exists")
        if plan.proposal is None:
            plan = msgspec.structs.replace(plan, proposal=claimed(plan, whole))
        return Confirmed(plan, whole)

    moments: list[float] = []

    def again(confirmed: Confirmed) -> str:
        moments.append(timer())
        return confirmed.plan.bound_to.namespace

    answer = await settled(ask, readers, reads, assumed, again)
    return answer if isinstance(answer, Refused) else replace(answer, read=moments[0])


def _whole(cluster: FreshCluster, ref: Ref, readers: tuple[Reader, ...]) -> Mapping[str, Any] | None:
    kind = kinds_of(readers)[ref.kind]
    return cluster.whole(kind, ref.namespace, ref.name)


async def holds(hint: Hint, check: Check, reads: Reads, settings: Any = None, assumed: str = "") -> Finding | Refused:
    """The finding as it is now, or why it is not there, by the check alone."""
    return await settled(lambda cluster: _finding(hint, check, cluster, settings), (check,), reads, assumed)


def _early(finding: Finding, check: Check, now: float) -> str:
    """Why a finding would not be reported yet: what it is about began anew after the hint; empty where it would."""
    grace = check.reasons[finding.reason].grace
    if finding.since is None or now >= finding.since + grace:
        return ""
    return f"{finding.reason} of {finding.subject} is {now - finding.since:.0f}s old and is reported after {grace:.0f}s"


def answered(
    reader: Reader,
    cluster: FreshCluster,
    answer: Callable[[], T | Refused],
    sure: Callable[[T], bool] = lambda _: False,
) -> T | Refused:
    """What is answered by what the reader reads, if all of that could be seen, or it is `sure` whatever could not."""
    with cluster.noting() as asked:
        found = _made(reader, answer)
    if not isinstance(found, Refused) and sure(found):
        return found
    return _unseen(reader, cluster, asked) or found


def _made(reader: Reader, answer: Callable[[], T | Refused]) -> T | Refused:
    try:
        return answer()
    except UnansweredError as error:
        return unanswered(str(error), error.ref)
    except Exception as error:  # noqa: BLE001 # an object that nobody thought of must not end the process
        return Refused("everything_seen", f"{reader} raised {type(error).__name__}: {error}; please report it")


def _finding(hint: Hint, check: Check, cluster: FreshCluster, settings: Any) -> Finding | Refused:
    kind = next((each for each in check.reads if each.name == hint.subject.kind), None)
    if kind is None:
        return Refused("finding_holds", f"{check} doesn't read kind {hint.subject.kind}")
    known = standing(check, cluster)
    if known.unknown:
        return Refused("everything_seen", known.unknown)
    subject = cluster.get(kind.record, hint.subject.namespace, hint.subject.name)
    if subject is None:
        unreadable = cluster.get(Undecodable, hint.subject.namespace, f"{kind.name} {hint.subject.name}")
        if unreadable is not None:
            return undecodable(unreadable)
        return Refused("same_object", f"{hint.subject} does not exist")
    if hint.subject.uid and subject.uid != hint.subject.uid:
        return Refused("same_object", f"{hint.subject} was recreated: its UID is {subject.uid}")
    unknown: Refused | None = None
    for partition in _partitions(check, subject, cluster):
        answer = evaluate(check, cluster, partition, settings)
        if answer.outcome is Outcome.UNKNOWN:
            unknown = _without_answer(check, answer)
        elif found := _same(hint, check, answer):
            return found
    return unknown or Refused("finding_holds", f"{check} no longer reports {hint.reason} of {hint.subject}")


def _partitions(check: Check, subject: Record, cluster: FreshCluster) -> tuple[str, ...]:
    """Where the subject is evaluated: a VMI has no key among the migrations, which are read through it and have one."""
    found, by = tuple(check.partitions(subject, cluster)), check.scope.by
    if found or by is None:
        return found
    place = f"{subject.namespace}/{subject.name}"
    read = [each for kind, index in by.through if isinstance(subject, kind) for each in cluster.sharing(index, place)]
    return tuple(dict.fromkeys(key for each in read for key in cluster.keys_of(by, each)))


def _without_answer(check: Check, answer: Answer) -> Refused:
    why = f"{check} is incomplete: {answer.unknown}"
    if answer.hidden_by is not None:
        return undecodable(answer.hidden_by, why)
    return unanswered(why, answer.unread)


def _same(hint: Hint, check: Check, answer: Answer) -> Finding | None:
    for found in answer.findings:
        same = found.reason == hint.reason and fingerprint(check.id, found) == hint.fingerprint
        # Modes, pauses and budgets were looked up by the hint's subject: a finding of another object has passed none.
        if same and str(found.subject) == str(hint.subject):
            return msgspec.structs.replace(found, check=check.id, fingerprint=hint.fingerprint)
    return None


def _unseen(reader: Reader, cluster: FreshCluster, asked: Collection[Need]) -> Refused | None:
    """Refuses for what the remediation, or the undo, reads and could not be seen: a kind, or an object that was asked
    for.
    """
    for kind in reader.reads:
        if not isinstance(kind, ApiKind):
            continue
        source = cluster.get(Source, "", kind.name)
        if source is None or not source.current:
            why = source.why if source is not None else "it was not read"
            return Refused("everything_seen", f"{reader} can't see {kind.resource}: {why}")
        for record in cluster.undecodable(kind.name, asked):
            return undecodable(record)
    return None


# A second look, right after a write, at who might use what it released: by what is read then.


async def look_again(
    about: Remediation | Undo, plan: Plan, before: Mapping[str, Any], reads: Reads, now: float
) -> str | Refused:
    """One sentence with who does, empty for nobody; Refused where that can't be seen. `before` is the object as it was.

    Never raises for what the API answers.
    """
    look = about.looks_again
    if look is None:
        return ""

    def ask(cluster: FreshCluster) -> str | Refused:
        # Who was seen to use it does, whatever else could not be seen.
        return answered(about, cluster, lambda: look(plan, before, Scene(cluster, about, now)), sure=bool)

    seen = await settled(ask, (about,), reads)
    if isinstance(seen, Refused):
        return msgspec.structs.replace(seen, why=f"who uses what it released can't be seen: {seen.why}")
    return seen


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
