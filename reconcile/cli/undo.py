"""`steward reconcile undo`: takes one write back, as the ledger has it."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from typing import Any

from exporter.cli.terminal import complain, say

from ..annotations import PAUSED
from ..attempt import State
from ..board import sentence
from ..config import Mode
from ..confirm import Confirmed
from ..effects import inverse
from ..execute import Outcome, Writer
from ..gates import Ask, Situation, blocked
from ..history import History
from ..ledger import Entry, Event, Ledger
from ..plan import Delete, Patch, Plan, Refused, Risk
from ..reading import document, object_path
from ..remediations import all_remediations
from ..storm import Storm
from ..surroundings import upgrading
from .apply import ended
from .desk import Desk, add_options, desk, finish
from .writing import (
    add_ledger_option,
    agreed,
    attempts,
    directory_of,
    entries_of,
    named_directory,
    opened,
    settled,
    taking_back,
    who,
)

__all__ = ["add"]


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "undo",
        help="take one write back",
        description="Puts back what a patch changed, if nobody else changed it since, and pauses the object. Of what "
        "was deleted it says how to create it again.",
    )
    parser.add_argument("attempt", metavar="ATTEMPT", help="as `steward reconcile ledger` lists it")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    add_ledger_option(parser)
    add_options(parser, findings=False)
    parser.set_defaults(run=lambda arguments: finish(_run(arguments)))


async def _run(arguments: argparse.Namespace) -> int:
    async with desk(arguments) as at:
        directory = directory_of(arguments, at)
        intended, after = _attempt(entries_of(directory), arguments.attempt)
        by = await who(at)
        first = await _inverted(at, intended, after, by)
        if isinstance(first, Refused):
            complain(f"refused, {first.precondition}: {first.why}")
            if intended.plan is not None and isinstance(intended.plan.step, Delete):
                complain(taking_back(intended.plan, intended.attempt, named_directory(arguments, at)))
            return 1
        say(f"{sentence(first.plan)}\n")
        if not agreed(arguments, "Take it back?"):
            return 1

        async def make() -> Confirmed | Refused:
            return await _inverted(at, intended, after, by)

        if isinstance(first.plan.step, Delete) and (why := await _pause(at, intended, by)):
            complain(f"nothing was taken back: {why}")
            return 2
        with opened(directory) as ledger:
            attempting = attempts(at, ledger)
            await settled(attempting, ledger)
            entries = entries_of(directory)

            async def permit(made: Confirmed) -> Refused | None:
                return await _permitted(at, made, ledger, entries)

            result = await attempting.run(make, permit, mode=Mode.UNDO.value, by=lambda: by, undoes=intended.attempt)
    if result.state == State.DONE:
        bound = first.plan.bound_to
        resume = f"steward reconcile resume {bound.kind} {bound.path}"
        say(f"Taken back, attempt {result.attempt}. {bound} is paused; to resume it: {resume}\n")
        return 0
    return ended(result, named_directory(arguments, at))


async def _permitted(at: Desk, made: Confirmed, ledger: Ledger, entries: list[Entry]) -> Refused | None:
    """By the gates of mode undo; what others ask for need not be known."""
    plan, now = made.plan, time.time()
    situation = Situation(
        now=now,
        leading=True,
        paused="",
        namespaces={},
        history=History.of(entries, now),
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
        by_hand=tuple,
    )
    ask = Ask(
        remediation=next(each for each in all_remediations() if each.id == plan.remediation),
        namespace=plan.bound_to.namespace,
        subject=plan.bound_to,
        check=plan.check,
        fingerprint=plan.fingerprint,
        mode=Mode.UNDO,
        target=plan.bound_to,
    )
    gates = blocked(ask, situation, at.config)
    return Refused(gates[0].gate, gates[0].why) if gates else None


def _attempt(entries: list[Entry], attempt: str) -> tuple[Entry, Mapping[str, Any] | None]:
    """What was intended, and the object after it. Raises ValueError, one sentence."""
    own = [each for each in entries if each.attempt == attempt]
    intended = next((each for each in own if each.event is Event.INTENDED), None)
    if intended is None or intended.plan is None:
        raise ValueError(f"the ledger has no attempt {attempt}; `steward reconcile ledger` lists them")
    if isinstance(intended.plan.step, Patch) and intended.plan.undo.startswith("none"):
        raise ValueError(f"attempt {attempt} can't be taken back: {intended.plan.undo}")
    ends = [each for each in own if _happened(each)]
    if not ends:
        raise ValueError(f"attempt {attempt} changed nothing, as far as the ledger knows")
    undos = {each.attempt for each in entries if each.undoes == attempt}
    if any(each.attempt in undos and _happened(each) for each in entries):
        raise ValueError(f"attempt {attempt} was taken back before; see `steward reconcile ledger {attempt}`")
    return intended, ends[-1].whole


def _happened(entry: Entry) -> bool:
    return entry.event is Event.DONE or (entry.event is Event.RESOLVED and bool(entry.happened))


async def _pause(at: Desk, intended: Entry, by: str) -> str:
    """Pauses the object for which another one was created; a patch that takes back another one does so itself.

    Before it is taken back: whatever runs would create it again at once. Gives why it could not be, or nothing.
    """
    assert intended.plan is not None
    ref = intended.plan.bound_to
    kind = at.kinds[ref.kind]
    path = object_path(kind, await at.reads.served(kind), ref.namespace, ref.name)
    answer = await Writer(at.transport).annotate(path, {PAUSED: f"taken back by {by}"})
    return "" if answer.outcome is Outcome.ACCEPTED else f"{ref} cannot be paused: {answer.why}"


async def _inverted(at: Desk, intended: Entry, after: Mapping[str, Any] | None, by: str) -> Confirmed | Refused:
    """The plan that takes a write back, on the object as it is now."""
    plan = intended.plan
    assert plan is not None
    step = inverse(plan.step, intended.whole or {}, after, f"taken back by {by}")
    if isinstance(step, str):
        return Refused("can_be_undone", step)
    kind = at.kinds[step.target.kind]
    raw = await at.reads.get(kind, await at.reads.served(kind), step.target.namespace, step.target.name)
    whole = None if raw is None else document(raw)
    uid = step.target.uid
    if whole is None or (uid and whole["metadata"].get("uid") != uid):
        return Refused("same_object", f"{step.target} is no longer there")
    undone = Plan(
        remediation=plan.remediation,
        fingerprint=plan.fingerprint,
        check=plan.check,
        reason=plan.reason,
        subject=plan.subject,
        vm=plan.vm,
        step=step,
        why=f"attempt {intended.attempt} is taken back.",
        effect=f"What it wrote to {step.target} is as before.",
        risk=Risk.NONE,
        undo="repair it again",
    )
    return Confirmed(undone, whole)
