"""One attempt: from a plan to what the ledger says of it, in steps of which each may be the last.

    made ─> dry run ─> made again ─> permitted ─> intended ─> fenced ─> write ─> read back ─> Event ─> done

A plan is made twice, each time on fresh reads, and the second one, right before the write, has to be the same. A
process that ends anywhere leaves an entry without an end at most: then the object is read (`settle`), and nothing is
written again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from exporter.kube.errors import KubeError
from exporter.model.kind import ApiKind

from .confirm import Confirmed
from .effects import happened
from .events import event
from .execute import Answer, Outcome, Writer
from .fence import boottime
from .ledger import Entry, Ledger
from .ledger import Event as Kept
from .plan import Plan, Refused
from .reading import APPLY_ROLE, Reads, document
from .requests import request

__all__ = ["Attempts", "Fence", "Make", "Permit", "Result", "State", "dry_run"]


_HINT = {403: f"; where that is RBAC, {APPLY_ROLE}"}  # a webhook may answer with it as well


class Fence(Protocol):
    async def assure(self, seconds: float) -> None:
        """Raises NotLeadingError unless nobody else writes for so many seconds."""


class State:
    DONE, FAILED, UNCLEAR, REFUSED, DRY = "done", "failed", "unclear", "refused", "dry_run"


@dataclass(frozen=True)
class Result:
    """How an attempt ended, by `State`; `refused` names the precondition or gate, and `why` is a sentence. `unseen` and
    `remedy` are those of `Refused`.
    """

    state: str
    plan: Plan | None = None
    attempt: str = ""
    refused: str = ""
    why: str = ""
    unseen: str = ""
    remedy: str = ""


_FRESH = 5.0  # seconds: what appears in less can't have come to use what is released

Make = Callable[[], Awaitable[Confirmed | Refused]]
Permit = Callable[[Confirmed], Awaitable[Refused | None]]


class NoFence:
    """Of a person who runs one command."""

    async def assure(self, seconds: float) -> None:
        pass


class Attempts:
    def __init__(
        self,
        reads: Reads,
        writer: Writer,
        ledger: Ledger,
        kinds: Mapping[str, ApiKind[Any]],
        *,
        clock: Callable[[], float],
        fence: Fence | None = None,
        kept: Callable[[Entry], None] = lambda _: None,
        reached: Callable[[str], None] = lambda _: None,
        timer: Callable[[], float] = boottime,
    ) -> None:
        """`kept` gets each new entry of the ledger, `reached` the name of each step: what follows it may not happen."""
        self._reads, self._writer, self._ledger, self._kinds = reads, writer, ledger, kinds
        self._clock, self._fence = clock, fence or NoFence()
        self._kept, self._reached, self._timer = kept, reached, timer

    def _keep(self, event: Kept, **fields: Any) -> Entry:
        entry = self._ledger.append(event, **fields)
        self._kept(entry)
        return entry

    async def run(
        self, make: Make, permit: Permit, *, mode: str, by: Callable[[], str] = str, undoes: str = ""
    ) -> Result:
        """Makes the plan and carries it out, if that is permitted; `by` says who asked, once it is.

        Raises NotLeadingError, LedgerError, KubeError.
        """
        first = await make()
        self._reached("made")
        if isinstance(first, Refused):
            return _refused(None, first)
        plan = first.plan
        if plan.proposal is not None:
            return Result(State.REFUSED, plan, refused="ours_to_write", why=f"{plan.proposal.owner} owns it")
        if refused := await permit(first):
            return _refused(plan, refused)
        dry = await dry_run(first, self._writer, self._reads, self._kinds)
        self._reached("dry_run")
        if dry.state != State.DRY:
            return dry
        second, read = await make(), self._timer()
        self._reached("made_again")
        if isinstance(second, Refused):
            return _refused(plan, second)
        if refused := _same(first, second) or await permit(second):
            return _refused(plan, refused)
        served = await self._served(plan)
        intended = self._intended(second, served, mode=mode, by=by(), undoes=undoes)
        return await self._written(second, served, intended, read if second.read is None else second.read)

    def _intended(self, made: Confirmed, served: tuple[ApiKind[Any], str], **asked: str) -> str:
        """Keeps what is about to be sent; gives the attempt. Raises LedgerError."""
        sent = msgspec.to_builtins(request(made.plan.step, *served, made.whole, dry=False))
        kept = self._keep(Kept.INTENDED, plan=made.plan, whole=dict(made.whole), request=sent, **asked)
        self._reached("intended")
        return kept.attempt

    async def _written(self, made: Confirmed, served: tuple[ApiKind[Any], str], attempt: str, read: float) -> Result:
        """Right after everything was `read`; what ends it before the write is sent has written nothing."""
        plan = made.plan
        try:
            await self._fence.assure(self._writer.seconds)
        except Exception as error:
            self._keep(Kept.FAILED, attempt=attempt, why=f"not written: {error}")
            raise
        if (age := self._timer() - read) > _FRESH:
            why = f"what was read right before the write is {age:.1f} s old, and at most {_FRESH:g} s are allowed"
            self._keep(Kept.FAILED, attempt=attempt, why=f"not written: {why}")
            return _refused(plan, Refused("read_just_now", why), attempt)
        self._reached("fenced")
        answer = await self._writer.write(plan.step, *served, made.whole)
        self._reached("written")
        return await self._ended(plan, attempt, made.whole, answer)

    async def _ended(self, plan: Plan, attempt: str, before: Mapping[str, Any], answer: Answer) -> Result:
        if answer.outcome in (Outcome.CHANGED, Outcome.REFUSED):
            self._keep(Kept.FAILED, attempt=attempt, why=f"{answer.request} was refused: {answer.why}")
            if answer.outcome is Outcome.CHANGED:
                return _refused(plan, Refused("unchanged", f"{plan.target} changed meanwhile: {answer.why}"), attempt)
            await self._record(plan, attempt, State.FAILED)
            return Result(State.FAILED, plan, attempt, why=answer.why)
        try:
            now = await self._target(plan)
        except KubeError as error:
            why = f"{answer.request} was sent, and whether it happened can't be read: {error}"
            self._keep(Kept.UNCLEAR, attempt=attempt, why=why)
            return Result(State.UNCLEAR, plan, attempt, why=why)
        self._reached("read_back")
        if not happened(plan.step, before, now):
            if answer.outcome is Outcome.UNCLEAR:  # it may still be under way
                self._keep(Kept.UNCLEAR, attempt=attempt, why=f"{answer.request}: {answer.why}")
                return Result(State.UNCLEAR, plan, attempt, why=answer.why)
            why = f"{answer.request} was answered with {answer.code}, and nothing changed"
            self._keep(Kept.FAILED, attempt=attempt, why=why)
            return Result(State.FAILED, plan, attempt, why=why)
        await self._record(plan, attempt, State.DONE)
        self._reached("event")
        self._keep(Kept.DONE, attempt=attempt, whole=dict(now) if now is not None else None)
        self._reached("done")
        return Result(State.DONE, plan, attempt)

    async def settle(self, intended: Entry) -> Result:
        """What became of an attempt that has no end, by the object as it is now. Raises KubeError, LedgerError."""
        plan = intended.plan
        if plan is None:
            self._keep(Kept.RESOLVED, attempt=intended.attempt, happened=False, why="the entry has no plan")
            return Result(State.FAILED, None, intended.attempt)
        now = await self._target(plan)
        self._reached("settle_read")
        done = happened(plan.step, intended.whole or {}, now)
        why = f"{plan.target} {'shows' if done else 'does not show'} the effect"
        if done:
            await self._record(plan, intended.attempt, State.DONE)
            self._reached("settle_event")
        self._keep(
            Kept.RESOLVED,
            attempt=intended.attempt,
            happened=done,
            why=why,
            whole=dict(now) if done and now is not None else None,
        )
        self._reached("settled")
        return Result(State.DONE if done else State.FAILED, plan, intended.attempt, why=why)

    async def _target(self, plan: Plan) -> Mapping[str, Any] | None:
        kind, version = await self._served(plan)
        raw = await self._reads.get(kind, version, plan.target.namespace, plan.target.name)
        return None if raw is None else document(raw)

    async def _served(self, plan: Plan) -> tuple[ApiKind[Any], str]:
        kind = self._kinds[plan.target.kind]
        return kind, await self._reads.served(kind)

    async def _record(self, plan: Plan, attempt: str, state: str) -> None:
        """The Event; that there is none is no reason to stop."""
        ref = plan.bound_to
        kind = self._kinds[ref.kind]
        version = await self._reads.served(kind)
        api_version = f"{kind.group}/{version}" if kind.group else version
        await self._writer.record(*event(plan, attempt, state, self._clock(), api_version))


async def dry_run(made: Confirmed, writer: Writer, reads: Reads, kinds: Mapping[str, ApiKind[Any]]) -> Result:
    """Whether the API server and its webhooks would take the write. Raises KubeError."""
    plan = made.plan
    kind = kinds[plan.target.kind]
    try:
        answer = await writer.dry_run(plan.step, kind, await reads.served(kind), made.whole)
    except ValueError as error:  # it was read without what the preconditions are made of
        return Result(State.REFUSED, plan, refused="everything_seen", why=str(error))
    if answer.outcome is Outcome.ACCEPTED:
        return Result(State.DRY, plan)
    return Result(
        State.REFUSED, plan, refused="dry_run_clean", why=f"dry run: {answer.why}{_HINT.get(answer.code, '')}"
    )


def _same(first: Confirmed, second: Confirmed) -> Refused | None:
    if second.plan.proposal is None and first.plan.hash == second.plan.hash:
        return None
    return Refused("same_plan", f"the plan for {first.plan.target} is another one than a moment ago")


def _refused(plan: Plan | None, refused: Refused, attempt: str = "") -> Result:
    cause = {"unseen": refused.unseen, "remedy": refused.remedy}
    return Result(State.REFUSED, plan, attempt, refused=refused.precondition, why=refused.why, **cause)
