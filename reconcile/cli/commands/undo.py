"""`steward reconcile undo`: takes one write back, if what rests on it by now allows that."""

from __future__ import annotations

import argparse
import shlex
import time
from collections.abc import Iterator
from dataclasses import replace

from exporter.cli.output.terminal import complain, one_line, say

from ...act.execute import PlanWriter, WriteOutcome
from ...config.settings import Mode
from ...confirm.confirm import Confirmed
from ...confirm.confirm_undo import confirm_undo
from ...confirm.reading import object_path
from ...decide.gates import Ask, Situation, blocked
from ...decide.storm import Storm
from ...ledger import Ledger
from ...ledger.taken import taken
from ...observe.situation import annotated, upgrading
from ...plan.annotations import PAUSED, paused_by
from ...plan.plan import Create, Delete, Plan, Refused
from ...plan.remediations import all_remediations
from ...plan.undo import AnyUndo, Taken, Unaccepted
from ...plan.undos import undo_of
from ...run.attempt import AttemptState, Result
from ...run.witness import cluster_uid
from ...show.plans import sentence
from ..ledger_pages import entries_about, history_of
from ..next_commands import aimed
from ..session import Session, desk, finish
from ..writing import (
    agreed,
    attempts,
    directory_of,
    known,
    named_directory,
    opened,
    recreating,
    settled,
    who,
)
from .apply import ended

__all__ = ["run"]


def run(arguments: argparse.Namespace) -> int:
    return finish(_run(arguments))


async def _run(arguments: argparse.Namespace) -> int:
    async with desk(arguments) as at:
        directory = directory_of(arguments, at)
        cluster = await cluster_uid(at.reads)
        if known(arguments, at) and history_of(directory, time.time()).unfinished():  # which may be in the way
            with opened(directory, cluster) as ledger:
                await settled(attempts(at, ledger), ledger)
        own = taken(entries_about(directory, arguments.attempt), arguments.attempt)
        own = replace(own, by=await who(at), accepted=tuple(dict.fromkeys(arguments.accept)))
        first = await _made(at, own, _undo(own))
        if isinstance(first, Refused):
            return _refused(first, own, arguments, at)
        say(_shown(first.plan))
        with opened(directory, cluster) as ledger:
            refused = await _permitted(at, own, ledger)
        if refused is not None:
            return _refused(refused, own, arguments, at)
        if (proposal := first.plan.proposal) is not None:
            return _refused(Refused("ours_to_write", f"{proposal.owner} owns it"), own, arguments, at)
        if not agreed(arguments, "Take it back?"):
            return 1
        with opened(directory, cluster) as ledger:
            taken(entries_about(directory, own.attempt), own.attempt)  # nobody was faster
            if isinstance(own.plan.step, Create) and (why := await _pause(at, own)):
                complain(f"nothing was taken back: {why}")
                return 2
            result = await _carried_out(at, own, first.plan, ledger)
    return _ended(result, own, arguments, at)


async def _carried_out(at: Session, own: Taken, shown: Plan, ledger: Ledger) -> Result:
    """Raises LedgerError, KubeError."""
    undo, attempting = _undo(own), attempts(at, ledger)

    async def make() -> Confirmed | Refused:
        again = await _made(at, own, undo)
        if isinstance(again, Confirmed) and (again.plan.hash, again.plan.loses) != (shown.hash, shown.loses):
            return Refused("same_plan", "the plan is another one than the one that was shown")
        return again

    async def permit(_: Confirmed) -> Refused | None:
        return await _permitted(at, own, ledger)

    return await attempting.run(make, permit, mode=Mode.UNDO.value, by=lambda: own.by, undoes=own.attempt)


def _ended(result: Result, own: Taken, arguments: argparse.Namespace, at: Session) -> int:
    bound = own.plan.bound_to
    resume = f"steward reconcile resume {bound.kind} {bound.path}"
    paused = aimed(f"{bound} is paused; to resume it: {resume}", arguments)
    if result.state == AttemptState.DONE:
        say(f"Taken back, attempt {result.attempt}. {paused}\n")
        return 0
    code = ended(result, named_directory(arguments, at), arguments)
    if isinstance(own.plan.step, Create):
        complain(paused)
    return code


def _undo(own: Taken) -> AnyUndo:
    found = undo_of(own.plan.remediation)
    if found is None:
        raise ValueError(f"attempt {own.attempt} is of {own.plan.remediation}, which this release can't take back")
    return found


async def _made(at: Session, own: Taken, undo: AnyUndo) -> Confirmed | Refused:
    return await confirm_undo(own, undo, at.reads, now=time.time(), assumed=at.checks.assumed)


def _shown(plan: Plan) -> str:
    return "".join(f"{line}\n" for line in _lines(plan))


def _lines(plan: Plan) -> Iterator[str]:
    yield f"{plan.remediation}: undo of attempt {plan.undoes}"
    rows = (
        ("write", sentence(plan)),
        ("why", plan.why),
        ("effect", plan.effect),
        ("risk", plan.risk.value),
        ("loses", ", ".join(plan.loses)),
        ("accepted", ", ".join(plan.accepted)),
        ("undo", plan.undo),
        ("plan", plan.hash),
        ("owner", plan.proposal.owner if plan.proposal else ""),
        ("propose", plan.proposal.where if plan.proposal else ""),
    )
    yield from (f"  {name:<8} {one_line(text)}" for name, text in rows if text)


def _refused(refused: Refused, own: Taken, arguments: argparse.Namespace, at: Session) -> int:
    complain(aimed(f"refused, {refused.precondition}: {refused.why}", arguments))
    directory = named_directory(arguments, at)
    if isinstance(refused, Unaccepted):
        given = "".join(f" --accept {word}" for word in refused.words)
        ledger = f" --ledger {shlex.quote(str(directory))}" if directory is not None else ""
        complain(aimed(f"to give that up: steward reconcile undo {own.attempt}{ledger}{given}", arguments))
    if isinstance(own.plan.step, Delete):
        complain(recreating(own.attempt, directory))
    return 1


async def _permitted(at: Session, own: Taken, ledger: Ledger) -> Refused | None:
    """By the gates of an undo, which ask of the ledger, the clocks and KubeVirt's upgrade; the rest is not read."""
    plan, now = own.plan, time.time()
    situation = Situation(
        now=now,
        leading=False,
        paused=None,
        namespaces={},
        history=history_of(ledger.directory, now),
        storm=Storm(),
        fleet=None,
        source_age=None,
        ready=False,
        unknown_checks=None,
        upgrading=await upgrading(at.reads),
        silenced=lambda _: None,
        query=None,
        firing=None,
        ledger=ledger.probe(),
        skew=at.transport.clocks.skew(now),
        by_hand=tuple,  # their entries are among the others
    )
    ask = Ask(
        remediation=next(each for each in all_remediations() if each.id == plan.remediation),
        namespace=plan.target.namespace,
        subject=plan.subject,
        check=plan.check,
        fingerprint=plan.fingerprint,
        mode=Mode.UNDO,
        target=plan.bound_to,
        vm=plan.vm,
    )
    gates = blocked(ask, situation, at.config)
    return Refused(gates[0].gate, gates[0].why) if gates else None


async def _pause(at: Session, own: Taken) -> str:
    """Pauses the object for which another one was created; a patch that takes back another one does so itself.

    Before it is taken back: whatever runs would create it again at once. Gives why it could not be, or nothing.
    """
    ref = own.plan.bound_to
    kind = at.kinds[ref.kind]
    found = await annotated(at.reads, kind, ref.namespace, ref.name)
    if found is not None and paused_by(found) is not None:
        return ""  # and keeps its reason
    path = object_path(kind, await at.reads.served(kind), ref.namespace, ref.name)
    answer = await PlanWriter(at.transport).annotate(path, {PAUSED: f"taken back by {own.by}"})
    return "" if answer.outcome is WriteOutcome.ACCEPTED else f"{ref} cannot be paused: {answer.why}"
