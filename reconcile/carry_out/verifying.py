"""Looks after what was done: whether the finding went, stayed, or came back because somebody else wrote."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from exporter.facts.times import Skew
from exporter.findings.check import Check
from exporter.kube.errors import KubeError
from exporter.store.kind import ApiKind

from ..ledger import Entry, Event, Ledger
from ..plan.effects import happened
from ..plan.owners import rival
from ..plan.plan import Create, Patch, Plan, Refused, Step
from .confirm import holds
from .fresh_reads import Reads, document
from .metrics import Measures
from .outcomes import AttemptOutcomes, Followed

_MOST = 50  # looks at what was shadowed, in one run
_WENT = {
    True: "the finding is resolved, and the object shows the shadowed write: another client made it",
    False: "the finding is resolved without the shadowed write",
    None: "the finding is resolved",
}


class Verifying:
    def __init__(
        self,
        following: AttemptOutcomes,
        ledger: Ledger,
        reads: Reads,
        kinds: Mapping[str, ApiKind[Any]],
        checks: Mapping[str, Check],
        settings: Mapping[str, Any],
        *,
        assumed: str = "",
        measures: Measures,
        kept: Callable[[Entry], None],
        takers: Callable[[], Mapping[str, str] | None] = dict,
        skew: Callable[[], Skew | None] = lambda: Skew(0.0, 0.0, ""),
    ) -> None:
        """`skew` is between our clock and the API server's: by a wrong one no canary is over. `takers` are the attempts
        of people that took some of ours back, by those; empty while it is not known whether one did, and None where
        nothing of them is.
        """
        self._following, self._ledger, self._reads, self._kinds = following, ledger, reads, kinds
        self._checks, self._settings, self._measures, self._kept = checks, settings, measures, kept
        self._assumed, self._takers, self._skew = assumed, takers, skew

    async def look(
        self, now: float, after: float, found: set[str], stays: Callable[[str], float] = lambda _: 0.0
    ) -> None:
        """Looks at what is due; `found` are the fingerprints of the findings now, and `stays` is for how many seconds
        a finding has to stay gone, by its remediation, while that is a canary. Raises LedgerError.
        """
        due = self._following.due(now, after, found, stays)
        takers = self._takers() if due else None
        if takers is None:
            return
        for followed in due:
            if (taker := takers.get(followed.attempt)) is not None:
                if taker:
                    why = f"a person undid the repair: steward reconcile ledger {taker}"
                    self._keep(Event.TAKEN_BACK, followed, why)
                continue
            check = self._checks.get(followed.hint.check)
            if check is None:
                continue
            if not followed.settles:  # what is done about it does not make the finding go
                self._keep_of_canary(Event.STAYED, followed, "no sign of a failure")
                continue
            stayed = followed.stayed(now, stays(followed.remediation))
            answer = await holds(followed.hint, check, self._reads, self._settings.get(check.id), self._assumed)
            if isinstance(answer, Refused):
                if answer.precondition != "everything_seen" and followed.state == "done":
                    self._keep_of_canary(Event.VERIFIED, followed, "the finding is resolved")
                elif answer.precondition != "everything_seen" and stayed:
                    self._keep_of_canary(Event.STAYED, followed, "the finding stayed resolved")
                continue
            await self._found_again(followed)

    async def look_at_shadowed(self, found: set[str]) -> None:
        """Whether findings of what was shadowed went, some in one run; `found` are those that are reported now. Raises
        LedgerError.
        """
        for followed in self._following.unreported(found)[:_MOST]:
            check = self._checks.get(followed.hint.check)
            if check is None:
                continue
            answer = await holds(followed.hint, check, self._reads, self._settings.get(check.id), self._assumed)
            if not isinstance(answer, Refused) or answer.precondition == "everything_seen":
                continue
            entry = self._ledger.intended(followed.attempt)
            try:
                shows = await self._shows(entry)
            except KubeError:
                continue
            self._kept(self._ledger.append(Event.WENT, attempt=followed.attempt, happened=shows, why=_WENT[shows]))

    async def _shows(self, entry: Entry | None) -> bool | None:
        """Whether an object shows what was only shadowed; None where what that was is not known any more."""
        if entry is None or entry.plan is None:
            return None
        step, now_there = entry.plan.step, await self._target(entry.plan)
        return now_there is not None if isinstance(step, Create) else happened(step, entry.whole or {}, now_there)

    async def _found_again(self, followed: Followed) -> None:
        """The finding is there: either what was written had no effect on it, or somebody took it back."""
        intended = self._ledger.intended(followed.attempt)
        plan = intended.plan if intended is not None else None
        if intended is None or plan is None:
            # It may persist as well; a return closes more gates.
            self._measures.returned(followed.remediation)
            self._keep(Event.RETURNED, followed, "the finding is open again, and the entry of the repair is missing")
            return
        before = intended.whole or {}
        try:
            now_there = await self._target(plan)
        except KubeError:
            return
        if happened(plan.step, before, now_there):
            if followed.state == "done" or followed.canary:
                self._keep(Event.PERSISTS, followed, "the write took effect, but the finding persists")
            return
        self._measures.returned(followed.remediation)
        self._keep(Event.RETURNED, followed, _who(plan.step, before, now_there))

    async def _target(self, plan: Plan) -> Mapping[str, Any] | None:
        target = plan.target
        kind = self._kinds[target.kind]
        raw = await self._reads.get(kind, await self._reads.served(kind), target.namespace, target.name)
        return None if raw is None else document(raw)

    def _keep_of_canary(self, event: Event, followed: Followed, why: str) -> None:
        """From when its finding is gone is counted by our clock: not while that is wrong."""
        skew = self._skew()
        if not followed.canary or (skew is not None and skew.agree):
            self._keep(event, followed, why)

    def _keep(self, event: Event, followed: Followed, why: str) -> None:
        self._kept(self._ledger.append(event, attempt=followed.attempt, why=why))


def _who(step: Step, before: Mapping[str, Any], now: Mapping[str, Any] | None) -> str:
    """Who reverted the write, by the managedFields."""
    name = rival(before, now or {}, step.ops) if isinstance(step, Patch) and now is not None else ""
    return f"{name} reverted it" if name else "the object is again as before the repair"
