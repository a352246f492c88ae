"""How the guard's finalizer is taken off instancetypes and preferences that bear it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from exporter.cli.output.text.terminal import say
from exporter.facts.record import Ref
from exporter.store.kind import ApiKind

from ..carry_out.attempt import AttemptState, Fence, Result
from ..carry_out.confirm import Confirmed
from ..ledger import Entry, Event, Ledger
from ..ledger.attempts import taken
from ..plan.plan import Refused
from ..plan.remediations import all_undos
from ..plan.removal import GUARD, guard
from ..plan.requests import metadata
from ..plan.undo import Unaccepted, UndoRequest
from .applying import ended
from .fitting import readable
from .ledger_pages import entries_of
from .session import Session
from .undoing import carried_out, made, permitted
from .writing import named_directory

_WHY = "the guard is taken off."


class _Guard(NamedTuple):
    attempt: str
    entries: list[Entry]


def ref_of(kind: ApiKind[Any], whole: Mapping[str, Any]) -> Ref:
    meta = metadata(whole)
    return Ref(kind.name, str(meta.get("namespace") or ""), str(meta.get("name")), str(meta.get("uid") or ""))


def guard_of(ref: Ref, whole: Mapping[str, Any], by: str, known: dict[str, str]) -> UndoRequest:
    """The guard of an object that is guarded; `known` are the attempts by the UIDs of their objects."""
    own = replace(guard(ref, whole, _WHY), by=by)
    return replace(own, attempt=known[ref.uid], why="") if ref.uid in known else own


def known_guards(directory: Path | None) -> dict[str, str]:
    """The attempts that put a guard and were not taken back, by the UIDs of what they guard. Raises LedgerError."""
    found: dict[str, _Guard] = {}
    by_attempt: dict[str, list[Entry]] = {}
    for entry in entries_of(directory) if directory is not None else ():
        plan = entry.plan
        if entry.event is Event.INTENDED and plan is not None and plan.remediation == GUARD:
            if not entry.undoes:
                found[plan.target.uid] = _Guard(entry.attempt, by_attempt.setdefault(entry.attempt, []))
            elif entry.undoes in by_attempt:
                by_attempt[entry.attempt] = by_attempt[entry.undoes]
        if entry.attempt in by_attempt:
            by_attempt[entry.attempt].append(entry)
    return {uid: each.attempt for uid, each in found.items() if _stands(each.entries, each.attempt)}


def _stands(entries: Iterable[Entry], attempt: str) -> bool:
    try:
        taken(entries, attempt)
    except ValueError:
        return False
    return True


class Unguarding(NamedTuple):
    own: UndoRequest
    plan: Confirmed


async def considered(at: Session, own: UndoRequest, accepted: Iterable[str]) -> Unguarding | str:
    """What taking a guard off comes to, or why it stays, one sentence; a loss is accepted where there is one."""
    undo, words = all_undos()[GUARD], {*accepted}
    found = await made(at, own, undo)
    if isinstance(found, Unaccepted) and set(found.words) <= words:
        own = replace(own, accepted=found.words)
        found = await made(at, own, undo)
    if isinstance(found, Refused):
        more = "; to give that up: steward reconcile clean --guards --accept copy"
        needs = more if isinstance(found, Unaccepted) else ""
        return f"{own.plan.target} stays guarded, {found.precondition}: {found.why}{needs}"
    if (proposal := found.plan.proposal) is not None:
        return f"{own.plan.target} stays guarded, ours_to_write: {proposal.owner} owns it; {proposal.where}"
    return Unguarding(own, found)


async def unguarded(at: Session, ledger: Ledger, ready: Iterable[Unguarding], fence: Fence | None = None) -> int:
    """Takes the guards off, each by itself; the worst exit code. Raises LedgerError, KubeError, and what the fence
    raises.
    """
    code = 0
    for each in ready:
        result = await _one(at, ledger, each, fence)
        target = each.own.plan.target
        if result.state == AttemptState.DONE:
            paused = f" It is paused; to resume it: steward reconcile resume {target.kind} {target.path}"
            text = f"{target} is not guarded any more, attempt {result.attempt}.{paused if each.own.pauses else ''}\n"
            say(readable(text, at.arguments))
        else:
            say(f"{target}:\n")
            code = max(code, ended(result, named_directory(at.arguments, at), at.arguments))
    return code


async def _one(at: Session, ledger: Ledger, each: Unguarding, fence: Fence | None) -> Result:
    undo, own = all_undos()[GUARD], each.own
    return await carried_out(
        at,
        ledger,
        lambda: made(at, own, undo),
        each.plan.plan,
        own.by,
        permit=lambda: permitted(at, own.plan, ledger),
        fence=fence,
    )
