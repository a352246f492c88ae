"""`steward reconcile undo`: takes one write back, if what rests on it by now allows that."""

from __future__ import annotations

import argparse
import shlex
import time
from dataclasses import replace

from exporter.cli.input.once import aim_of
from exporter.cli.output.text.terminal import complain, say

from ...carry_out.attempt import AttemptState, Result
from ...carry_out.execute import PlanWriter, WriteOutcome
from ...carry_out.fresh_reads import object_path
from ...carry_out.ledger_in_lease import cluster_uid
from ...carry_out.situation import annotated
from ...ledger.attempts import taken
from ...plan.annotations import APPROVED_PLAN, PAUSED, paused_by
from ...plan.plan import Create, Delete, Patch, Refused
from ...plan.remediations import undo_of
from ...plan.undo import AnyUndo, Unaccepted, UndoRequest
from ..applying import carried_out, ended, made, permitted, shown
from ..ledger_pages import entries_about, history_of
from ..session import Session, finish, open_session
from ..several import readable
from ..writing import agreed, attempts, directory_of, known, named_directory, opened, recreating, settled, who


def run(arguments: argparse.Namespace) -> int:
    return finish(_run(arguments))


async def _run(arguments: argparse.Namespace) -> int:
    async with open_session(arguments) as at:
        directory = directory_of(arguments, at)
        cluster = await cluster_uid(at.reads)
        if known(arguments, at) and history_of(directory, time.time()).unfinished():  # which may be in the way
            with opened(directory, cluster) as ledger:
                await settled(attempts(at, ledger), ledger)
        own = taken(entries_about(directory, arguments.attempt), arguments.attempt)
        own = replace(own, by=await who(at), accepted=tuple(dict.fromkeys(arguments.accept)))
        first = await made(at, own, _undo(own))
        if isinstance(first, Refused):
            return _refused(first, own, arguments, at)
        say(readable(shown(first.plan, f"{first.plan.remediation}: undo of attempt {first.plan.undoes}"), arguments))
        with opened(directory, cluster) as ledger:
            refused = await permitted(at, own.plan, ledger)
        if refused is not None:
            return _refused(refused, own, arguments, at)
        if (proposal := first.plan.proposal) is not None:
            return _refused(Refused("ours_to_write", f"{proposal.owner} owns it"), own, arguments, at)
        if not agreed(arguments, "Undo it?"):
            return 1
        with opened(directory, cluster) as ledger:
            taken(entries_about(directory, own.attempt), own.attempt)  # nobody was faster
            if _apart(own) and (why := await _pause(at, own)):
                complain(f"nothing was undone: {why}")
                return 2
            result = await carried_out(
                at,
                ledger,
                lambda: made(at, own, _undo(own)),
                first.plan,
                own.by,
                permit=lambda: permitted(at, own.plan, ledger),
            )
    return _ended(result, own, arguments, at)


def _ended(result: Result, own: UndoRequest, arguments: argparse.Namespace, at: Session) -> int:
    bound = own.plan.bound_to
    resume = f"steward reconcile resume {bound.kind} {bound.path}"
    paused = f"{bound} is paused. To resume: {resume}"
    if result.state == AttemptState.DONE:
        say(readable(f"Undone, attempt {result.attempt}. {paused}\n", arguments))
        return 0
    code = ended(result, named_directory(arguments, at), arguments)
    if _apart(own):
        complain(aim_of(arguments).command(paused))
    return code


def _undo(own: UndoRequest) -> AnyUndo:
    found = undo_of(own.plan.remediation)
    if found is None:
        raise ValueError(f"this release can't undo attempt {own.attempt} of {own.plan.remediation}")
    return found


def _refused(refused: Refused, own: UndoRequest, arguments: argparse.Namespace, at: Session) -> int:
    complain(aim_of(arguments).command(f"refused, {refused.precondition}: {refused.why}"))
    directory = named_directory(arguments, at)
    if isinstance(refused, Unaccepted):
        given = "".join(f" --accept {word}" for word in refused.words)
        ledger = f" --ledger {shlex.quote(str(directory))}" if directory is not None else ""
        complain(aim_of(arguments).command(f"To accept this loss: steward reconcile undo {own.attempt}{ledger}{given}"))
    if isinstance(own.plan.step, Delete):
        complain(recreating(own.attempt, directory))
    return 1


def _apart(own: UndoRequest) -> bool:
    """Whether the object is paused by a write of its own: of what was created, or where a subresource was patched."""
    step = own.plan.step
    return isinstance(step, Create) or (isinstance(step, Patch) and bool(step.subresource))


async def _pause(at: Session, own: UndoRequest) -> str:
    """Pauses the object for which another one was created, or of which a subresource was patched, and takes off an
    approval that it has; any other patch that takes back one does so itself.

    Before it is taken back: whatever runs would create it again at once. Gives why it could not be, or nothing.
    """
    ref = own.plan.bound_to
    kind = at.kinds[ref.kind]
    found = await annotated(at.reads, kind, ref.namespace, ref.name)
    wanted: dict[str, str | None] = {PAUSED: f"undone by {own.by}", APPROVED_PLAN: None}
    if found is not None and paused_by(found) is not None:
        del wanted[PAUSED]  # and keeps its reason
        if APPROVED_PLAN not in found:
            return ""
    path = object_path(kind, await at.reads.served(kind), ref.namespace, ref.name)
    answer = await PlanWriter(at.transport).annotate(path, wanted)
    return "" if answer.outcome is WriteOutcome.ACCEPTED else f"{ref} can't be paused: {answer.why}"
