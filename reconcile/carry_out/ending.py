"""What came of a write: by its answer, by the object as it is then, and by a second look at who might use what it
released.

    written ─> read back ─> looked again ─> Event ─> done

Without an answer the attempt stays unclear for as long as the write may still arrive (`settling`), and then the object
says whether it happened. The same holds for an entry without an end that a process left.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from exporter.kube.errors import KubeError
from exporter.store.kind import ApiKind

from ..ledger import Entry, Ledger
from ..ledger import Event as Kept
from ..ledger.settling import Settling, may_arrive
from ..plan.effects import happened, never_happened
from ..plan.plan import Create, Plan, Refused, Step, moment
from ..plan.remediation import Remediation
from ..plan.remediations import undo_of
from ..plan.undo import NoUndo
from .confirm import Confirmed, look_again
from .execute import PlanWriter, ServerAnswer, WriteOutcome, event
from .fresh_reads import Reads, document

log = logging.getLogger(__name__)


class AttemptState:
    DONE, FAILED, UNCLEAR, REFUSED, DRY = "done", "failed", "unclear", "refused", "dry_run"
    SHADOWED = "shadowed"  # it would have been written


@dataclass(frozen=True)
class Result:
    """How an attempt ended, by `AttemptState`; `refused` names the precondition or gate, and `why` is a sentence. Of
    one that is done it says what uses what was released, or that it could not be seen. `unseen` and `remedy` are those
    of `Refused`.
    """

    state: str
    plan: Plan | None = None
    attempt: str = ""
    refused: str = ""
    why: str = ""
    unseen: str = ""
    remedy: str = ""


class Ending:
    def __init__(
        self,
        reads: Reads,
        writer: PlanWriter,
        ledger: Ledger,
        kinds: Mapping[str, ApiKind[Any]],
        remediations: Mapping[str, Remediation],
        settling: Settling,
        *,
        clock: Callable[[], float],
        kept: Callable[[Entry], None],
        reached: Callable[[str], None],
    ) -> None:
        self._reads, self._writer, self._ledger, self._kinds = reads, writer, ledger, kinds
        self._remediations, self._settling = remediations, settling
        self._clock, self._kept, self._reached = clock, kept, reached

    def keep(self, event: Kept, **fields: Any) -> Entry:
        entry = self._ledger.append(event, **fields)
        self._kept(entry)
        return entry

    async def served(self, plan: Plan) -> tuple[ApiKind[Any], str]:
        kind = self._kinds[plan.target.kind]
        return kind, await self._reads.served(kind)

    async def ended(self, made: Confirmed, intended: Entry, answer: ServerAnswer) -> Result:
        """After the write was sent, or was not. Raises LedgerError."""
        plan, attempt = made.plan, intended.attempt
        if answer.outcome is WriteOutcome.UNSENT:
            self.keep(Kept.FAILED, attempt=attempt, why=f"not written: {answer.why}")
            return refused_as(plan, Refused("read_just_now", answer.why), attempt)
        if answer.outcome in (WriteOutcome.CHANGED, WriteOutcome.REFUSED):
            self.keep(Kept.FAILED, attempt=attempt, why=f"{answer.request} was rejected: {answer.why}")
            if answer.outcome is WriteOutcome.CHANGED:
                why = f"{plan.target} changed in the meantime: {answer.why}"
                return refused_as(plan, Refused("unchanged", why), attempt)
            await self._record(plan, attempt, AttemptState.FAILED)
            return Result(AttemptState.FAILED, plan, attempt, why=answer.why)
        unanswered = answer.outcome is WriteOutcome.UNCLEAR
        if unanswered:
            self._settling.dropped(attempt)
        try:
            now = await self._target(plan)
        except KubeError as error:
            why = f"{answer.request} was sent, but its outcome can't be read: {error}"
            return self._unclear(plan, attempt, why)
        self._reached("read_back")
        if unanswered and may_arrive(plan.step, made.whole, now):
            until = moment(self._clock() + self._settling.left(intended))
            return self._unclear(plan, attempt, f"{answer.request}: {answer.why}; it might arrive until {until}")
        shows = happened(plan.step, made.whole, now)
        if not shows and (unanswered or _untouched(plan.step, made.whole, now)):
            if unanswered:
                return self._resolved_without(made.plan, made.whole, now, intended, f"{answer.request}: {answer.why}")
            why = f"{answer.request} was answered with {answer.code}, but nothing changed"
            self.keep(Kept.FAILED, attempt=attempt, why=why)
            return Result(AttemptState.FAILED, plan, attempt, why=why)
        seen = await self._looked(plan, made.whole, intended)
        if isinstance(seen, Refused):
            return self._unclear(plan, attempt, f"{answer.request} happened, but {seen.why}", happened=True)
        self._reached("looked_again")
        await self._record(plan, attempt, AttemptState.DONE)
        self._reached("event")
        # It was answered, and the object is another one than before: what does not show was changed by somebody since.
        since = f"{answer.request} was answered with {answer.code}, and another client has changed the object since"
        why = "" if shows else since
        self.keep(Kept.DONE, attempt=attempt, why=why, whole=dict(now) if now is not None else None)
        self._reached("done")
        return Result(AttemptState.DONE, plan, attempt, why=seen)

    async def settle(self, intended: Entry) -> Result:
        """What became of an attempt that has no end, by the object as it is now; unclear while its request may still
        arrive. Raises KubeError, LedgerError.
        """
        plan, attempt, before = intended.plan, intended.attempt, intended.whole or {}
        if plan is None:
            self.keep(Kept.RESOLVED, attempt=attempt, happened=False, why="the entry has no plan")
            return Result(AttemptState.FAILED, None, attempt)
        left = self._settling.left(intended)  # before the read: what is read then is read after it can arrive
        now = await self._target(plan)
        self._reached("settle_read")
        if left > 0 and may_arrive(plan.step, before, now):
            until = moment(self._clock() + left)
            why = f"{plan.target} is unchanged, and the request might arrive until {until}"
            return Result(AttemptState.UNCLEAR, plan, attempt, why=why)
        if happened(plan.step, before, now):
            result = await self._resolved_done(plan, before, now, intended)
        else:
            result = self._resolved_without(plan, before, now, intended, "it had no response")
        if result.state != AttemptState.UNCLEAR:
            self._settling.settled(attempt)
            self._reached("settled")
        return result

    async def _resolved_done(
        self, plan: Plan, before: Mapping[str, Any], now: Mapping[str, Any] | None, intended: Entry
    ) -> Result:
        looked = await self._looked(plan, before, intended)
        if isinstance(looked, Refused):
            return Result(AttemptState.UNCLEAR, plan, intended.attempt, why=looked.why)
        self._reached("settle_looked")
        await self._record(plan, intended.attempt, AttemptState.DONE)
        self._reached("settle_event")
        why, whole = f"{plan.target} shows the effect", dict(now) if now is not None else None
        self.keep(Kept.RESOLVED, attempt=intended.attempt, happened=True, why=why, whole=whole)
        return Result(AttemptState.DONE, plan, intended.attempt, why=looked or why)

    def _resolved_without(
        self, plan: Plan, before: Mapping[str, Any], now: Mapping[str, Any] | None, intended: Entry, why: str
    ) -> Result:
        """An attempt whose effect is not there and can't come any more. It may have been there in between, unless the
        object proves that it was not.
        """
        never = never_happened(plan.step, before, now)
        shows = f"{plan.target} doesn't show the effect"
        so = "it did not happen" if never else "either it did not happen, or another client has reverted it"
        why = f"{why}; {shows}: {so}"
        self.keep(Kept.RESOLVED, attempt=intended.attempt, happened=False if never else None, why=why)
        return Result(AttemptState.FAILED, plan, intended.attempt, why=why)

    def _unclear(self, plan: Plan, attempt: str, why: str, happened: bool | None = None) -> Result:
        self.keep(Kept.UNCLEAR, attempt=attempt, why=why, happened=happened)
        return Result(AttemptState.UNCLEAR, plan, attempt, why=why)

    async def _looked(self, plan: Plan, before: Mapping[str, Any], intended: Entry) -> str | Refused:
        """Who uses what was released, or that it could not be seen, one sentence; empty for nobody. Refused where that
        can't be seen yet.
        """
        found = undo_of(plan.remediation) if intended.undoes else self._remediations.get(plan.remediation)
        if found is None or isinstance(found, NoUndo) or found.looks_again is None:
            return ""
        seen = await look_again(found, plan, before, self._reads, self._clock())
        if isinstance(seen, Refused):
            if self._settling.left(intended) > 0:
                return seen
            why = f"{seen.why}. Check by hand whether the address is in use"
            log.warning('event="released address not verified" attempt=%s why="%s"', intended.attempt, why)
            self.keep(Kept.UNSEEN, attempt=intended.attempt, why=why)
            return why
        if seen:
            log.error('event="released address in use" attempt=%s why="%s"', intended.attempt, seen)
            self.keep(Kept.IN_USE, attempt=intended.attempt, why=seen)
            await self._record(plan, intended.attempt, "in_use")
        return seen

    async def _target(self, plan: Plan) -> Mapping[str, Any] | None:
        kind, version = await self.served(plan)
        raw = await self._reads.get(kind, version, plan.target.namespace, plan.target.name)
        return None if raw is None else document(raw)

    async def _record(self, plan: Plan, attempt: str, state: str) -> None:
        """The Event; that there is none is no reason to stop."""
        kind = self._kinds[plan.bound_to.kind]
        version = await self._reads.served(kind)
        api_version = f"{kind.group}/{version}" if kind.group else version
        if why := await self._writer.record(*event(plan, attempt, state, self._clock(), api_version)):
            log.warning('event="Event creation failed" attempt=%s why="%s"', attempt, why)


def _untouched(step: Step, before: Mapping[str, Any], now: Mapping[str, Any] | None) -> bool:
    """Whether an object without the effect of an answered write proves that there was none: it is as it was before."""
    return not isinstance(step, Create) and may_arrive(step, before, now)


def refused_as(plan: Plan | None, refused: Refused, attempt: str = "") -> Result:
    """An attempt that ended since a precondition does not hold."""
    cause = {"unseen": refused.unseen, "remedy": refused.remedy}
    return Result(AttemptState.REFUSED, plan, attempt, refused=refused.precondition, why=refused.why, **cause)
