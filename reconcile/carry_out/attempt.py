"""One attempt: from a plan to what the ledger says of it, in steps of which each may be the last.

    made ─> dry run ─> made again ─> permitted ─> intended ─> fenced ─> written ─> …

A plan is made twice, each time on fresh reads, and the second one, right before the write, has to be the same. A
process that ends anywhere leaves an entry without an end at most. What follows the write is in `ending`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Protocol

import msgspec

from exporter.kube.clocks import boottime
from exporter.store.kind import ApiKind

from ..config.settings import Mode
from ..ledger import Entry, Event, Ledger
from ..ledger import Event as Kept
from ..ledger.settling import Settling
from ..plan.effects import before_and_after
from ..plan.plan import Refused
from ..plan.remediation import SEND_SECONDS, Remediation
from ..plan.requests import request
from .confirm import Confirmed
from .ending import AttemptState, Ending, Result, refused_as
from .execute import PlanWriter, WriteOutcome
from .fresh_reads import APPLY_ROLE, Reads

__all__ = ["AttemptState", "Attempts", "Fence", "Make", "Permit", "Result", "dry_run", "prepared", "too_old"]

_HINT = {403: f"; where that is RBAC, {APPLY_ROLE}"}  # a webhook may answer with it as well


class Fence(Protocol):
    async def assure(self, seconds: float) -> None:
        """Raises NotLeadingError unless nobody else writes for so many seconds."""


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
        writer: PlanWriter,
        ledger: Ledger,
        kinds: Mapping[str, ApiKind[Any]],
        *,
        clock: Callable[[], float],
        fence: Fence | None = None,
        kept: Callable[[Entry], None] = lambda _: None,
        reached: Callable[[str], None] = lambda _: None,
        timer: Callable[[], float] = boottime,
        remediations: Iterable[Remediation] = (),
        settling: Settling | None = None,
    ) -> None:
        """`kept` gets each new entry of the ledger, `reached` the name of each step: what follows it may not happen.
        `remediations` say how soon they write, and what they look at again.
        """
        self._reads, self._writer, self._kinds = reads, writer, kinds
        self._fence, self._reached, self._timer = fence or NoFence(), reached, timer
        by_id = {each.id: each for each in remediations}
        self._soon = {each.id: each.send_seconds for each in by_id.values()}
        settling = settling or Settling(clock, timer=timer)
        self._ending = Ending(reads, writer, ledger, kinds, by_id, settling, clock=clock, kept=kept, reached=reached)
        self._keep = self._ending.keep

    async def settle(self, intended: Entry) -> Result:
        """What became of an attempt that has no end: see `Ending`. Raises KubeError, LedgerError."""
        return await self._ending.settle(intended)

    async def run(
        self,
        make: Make,
        permit: Permit,
        *,
        mode: str,
        by: Callable[[], str] = str,
        undoes: str = "",
        canary: Callable[[], str] = str,
        still: Callable[[], Refused | None] = lambda: None,
        authorized: Callable[[], bool] = lambda: False,
    ) -> Result:
        """Makes the plan and carries it out, if that is permitted; `by` says who asked, once it is, `authorized`
        whether the API server held them to what they may, and `canary` what is on trial by it. Right before it is sent
        `still` says whether it may be.

        Raises NotLeadingError, LedgerError, KubeError.
        """

        async def tried(first: Confirmed) -> Result:
            dry = await dry_run(first, self._writer, self._reads, self._kinds)
            self._reached("dry_run")
            return dry

        made = await prepared(make, permit, tried=tried, reached=self._reached, timer=self._timer)
        if isinstance(made, Result):
            return made
        second, read = made
        served = await self._ending.served(second.plan)
        intended = self._intended(
            second, served, mode=mode, by=by(), undoes=undoes, canary=canary(), authorized=authorized()
        )
        return await self._written(second, served, intended, read, still)

    def _intended(self, made: Confirmed, served: tuple[ApiKind[Any], str], **asked: str | bool) -> Entry:
        """Keeps what is about to be sent. Raises LedgerError."""
        sent = msgspec.to_builtins(request(made.plan.step, *served, made.whole, dry=False))
        kept = self._keep(Kept.INTENDED, plan=made.plan, whole=dict(made.whole), request=sent, **asked)
        self._reached("intended")
        return kept

    async def _written(
        self,
        made: Confirmed,
        served: tuple[ApiKind[Any], str],
        intended: Entry,
        read: float,
        still: Callable[[], Refused | None],
    ) -> Result:
        """Right after everything was `read`; what ends it before the write is sent has written nothing."""
        plan, attempt = made.plan, intended.attempt
        try:
            await self._fence.assure(self._writer.seconds)
        except Exception as error:
            self._keep(Kept.FAILED, attempt=attempt, why=f"not written: {error}")
            raise
        if refused := still():
            self._keep(Kept.FAILED, attempt=attempt, why=f"not written: {refused.why}")
            return refused_as(plan, refused, attempt)
        soon = self._soon.get(plan.remediation, SEND_SECONDS)
        if old := too_old(self._timer() - read, soon):
            self._keep(Kept.FAILED, attempt=attempt, why=f"not written: {old.why}")
            return refused_as(plan, old, attempt)
        self._reached("fenced")
        answer = await self._writer.write(plan.step, *served, made.whole, by=read + soon)
        self._reached("written")
        return await self._ending.ended(made, intended, answer)


async def prepared(
    make: Make,
    permit: Permit,
    *,
    tried: Callable[[Confirmed], Awaitable[Result]] | None = None,
    reached: Callable[[str], None],
    timer: Callable[[], float],
) -> tuple[Confirmed, float] | Result:
    """The plan that may be written now, made and permitted twice, and when what it rests on was read, by the timer; or
    why there is none. In between it is `tried`. Raises KubeError.
    """
    first = await make()
    reached("made")
    if isinstance(first, Refused):
        return refused_as(None, first)
    plan = first.plan
    if plan.proposal is not None:
        return refused_as(plan, plan.proposal.refused)
    if refused := await permit(first):
        return refused_as(plan, refused)
    if tried is not None and (result := await tried(first)).state != AttemptState.DRY:
        return result
    second, read = await make(), timer()
    reached("made_again")
    if isinstance(second, Refused):
        return refused_as(plan, second)
    if refused := _same(first, second) or await permit(second):
        return refused_as(plan, refused)
    return second, read if second.read is None else second.read


def too_old(age: float, most: float) -> Refused | None:
    """Whether what a write rests on was read longer ago than `most` seconds."""
    if age <= most:
        return None
    why = f"the last read before the write is {age:.1f} s old, and the limit is {most:g} s"
    return Refused("read_just_now", why)


async def dry_run(made: Confirmed, writer: PlanWriter, reads: Reads, kinds: Mapping[str, ApiKind[Any]]) -> Result:
    """Whether the API server and its webhooks would take the write. Raises KubeError."""
    plan = made.plan
    kind = kinds[plan.target.kind]
    try:
        answer = await writer.dry_run(plan.step, kind, await reads.served(kind), made.whole)
    except ValueError as error:  # it was read without what the preconditions are made of
        return Result(AttemptState.REFUSED, plan, refused="everything_seen", why=str(error))
    if answer.outcome is WriteOutcome.ACCEPTED:
        return Result(AttemptState.DRY, plan)
    return Result(
        AttemptState.REFUSED, plan, refused="dry_run_clean", why=f"dry run: {answer.why}{_HINT.get(answer.code, '')}"
    )


def _same(first: Confirmed, second: Confirmed) -> Refused | None:
    if second.plan.proposal is None and first.plan.hash == second.plan.hash:
        return None
    return Refused("same_plan", f"the plan for {first.plan.target} has changed within the attempt")


# An attempt that writes nothing, in mode `shadow`: all that comes before a write, and then an entry in the ledger.
#
#     made ─> made again ─> permitted ─> shadowed
#
# It has no writer. So it sends no dry run either: RBAC knows none, and who may ask for one may write. What admission
# webhooks would refuse is shadowed nevertheless.


class Shadowing:
    def __init__(
        self,
        reads: Reads,
        ledger: Ledger,
        kinds: Mapping[str, ApiKind[Any]],
        *,
        kept: Callable[[Entry], None],
        reached: Callable[[str], None] = lambda _: None,
        timer: Callable[[], float] = boottime,
        remediations: Iterable[Remediation] = (),
    ) -> None:
        """`kept`, `reached` and `remediations` are as those of `Attempts`."""
        self._reads, self._ledger, self._kinds = reads, ledger, kinds
        self._kept, self._reached, self._timer = kept, reached, timer
        self._soon = {each.id: each.send_seconds for each in remediations}

    async def run(self, make: Make, permit: Permit) -> Result:
        """Makes the plan, and keeps what would be written now. Raises LedgerError, KubeError."""
        made = await prepared(make, permit, reached=self._reached, timer=self._timer)
        if isinstance(made, Result):
            return made
        confirmed, read = made
        plan, whole = confirmed.plan, confirmed.whole
        kind = self._kinds[plan.target.kind]
        version = await self._reads.served(kind)
        if old := too_old(self._timer() - read, self._soon.get(plan.remediation, SEND_SECONDS)):
            return refused_as(plan, old)
        try:
            sent = msgspec.to_builtins(request(plan.step, kind, version, whole, dry=False))
            _, after = before_and_after(plan.step, whole)
        except ValueError as error:  # it was read without what the write is made of
            return refused_as(plan, Refused("everything_seen", str(error)))
        left = dict(after) if after is not None else None
        entry = self._ledger.append(
            Event.SHADOWED, plan=plan, mode=Mode.SHADOW.value, whole=dict(whole), after=left, request=sent
        )
        self._kept(entry)
        self._reached("shadowed")
        return Result(AttemptState.SHADOWED, plan, entry.attempt)
