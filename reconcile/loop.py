"""The sidecar's work: from findings to repairs, one after another, in runs.

    observed ─> settle what has no end ─> verify what was done ─> for each finding: gates ─> plan ─> attempt

Only the leader does anything. What a run may do is decided by gates on what is known at its begin, and again right
before each write on what is read then.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from exporter.checks.base import Check
from exporter.kube.errors import KubeError
from exporter.model.kinds import virtual_machine

from .approval import approved
from .attempt import Attempts, Result, State
from .board import Board, Repair
from .config import Config, Mode, mode_of
from .confirm import Confirmed, confirm
from .gates import Ask, Blocked, Situation, blocked
from .lease import NotLeadingError
from .ledger import LedgerError
from .metrics import Measures
from .plan import Refused
from .reading import Reads
from .remediation import Remediation
from .source import Found, Observed
from .surroundings import of_namespace, of_vm

__all__ = ["Candidate", "Loop"]

log = logging.getLogger(__name__)
_RANK = {"critical": 0, "warning": 1, "info": 2}
_READS = 50  # plans that are made for display in one run
_LASTS = 600.0  # seconds that such a plan is shown


@dataclass(frozen=True)
class Candidate:
    found: Found
    remediation: Remediation
    mode: Mode

    @property
    def key(self) -> tuple[str, str]:
        return self.found.hint.fingerprint, self.remediation.id


@dataclass(frozen=True)
class Parts:
    """What a loop works with."""

    config: Config
    remediations: tuple[Remediation, ...]
    checks: Mapping[str, Check]
    settings: Mapping[str, Any]  # of the checks
    reads: Reads
    attempts: Attempts
    board: Board
    measures: Measures
    clock: Callable[[], float]  # seconds since 1970
    timer: Callable[[], float]


class Loop:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._first_seen: dict[str, float] = {}
        self._round = 0

    def candidates(self, observed: Observed) -> list[Candidate]:
        """Whatever has a remediation that is not off: the worst first, then the oldest."""
        found = [
            Candidate(each, remediation, mode)
            for each in observed.findings
            for remediation in self._parts.remediations
            if each.hint.reason in remediation.answers.get(each.hint.check, ())
            and (mode := mode_of(self._parts.config, remediation.id, each.namespace)) is not Mode.OFF
        ]
        return sorted(found, key=_urgency)

    async def run(self, observed: Observed, situation: Situation) -> int:
        """One run; how many writes it made. Raises NotLeadingError, LedgerError."""
        now = self._parts.clock()
        candidates = self.candidates(observed)
        await self._parts.board.keep(each.key for each in candidates)
        seen = {each.found.hint.fingerprint for each in candidates}
        self._first_seen = {each: self._first_seen.get(each, now) for each in seen}
        self._round += 1
        displayed = written = 0
        for candidate in candidates:
            if candidate.mode is Mode.PLAN or candidate.remediation.proposes_only:
                if displayed < _READS and self._outdated(candidate):
                    displayed += 1
                    await self._show(candidate, situation)
                continue
            written += await self._pursue(candidate, situation, written)
            await asyncio.sleep(0)
        return written

    def _outdated(self, candidate: Candidate) -> bool:
        shown = self._parts.board.get(*candidate.key)
        return shown is None or self._parts.clock() - shown.at > _LASTS

    async def _show(self, candidate: Candidate, situation: Situation) -> None:
        """Plans, and does nothing."""
        repair = self._repair(candidate)
        made = await self._make(candidate)
        if isinstance(made, Refused):
            await self._parts.board.put(msgspec.structs.replace(repair, state="refused", refused=made))
            return
        gates = blocked(_asked(candidate, made, None), situation, self._parts.config)
        await self._parts.board.put(msgspec.structs.replace(repair.planned(made), blocked=gates))

    async def _pursue(self, candidate: Candidate, situation: Situation, written: int) -> int:
        """Carries out what nothing blocks; how many writes were made."""
        parts, repair = self._parts, self._repair(candidate)
        if situation.history.awaited(candidate.found.hint.fingerprint):
            await parts.board.put(msgspec.structs.replace(repair, state="verifying"))
            return 0
        ask = replace(_asked(candidate, None, None), planned=written)
        if gates := (*self._young(candidate), *blocked(ask, situation, parts.config)):
            shown = parts.board.get(*candidate.key)
            base = shown if shown is not None and shown.hash else repair
            await parts.board.put(msgspec.structs.replace(base, state="blocked", blocked=gates, at=parts.clock()))
            if base is repair and self._round == 1:
                await self._show(candidate, situation)
            return 0
        started = parts.timer()
        made: list[Confirmed] = []

        async def make() -> Confirmed | Refused:
            answer = await self._make(candidate)
            if isinstance(answer, Confirmed):
                made.append(answer)
            return answer

        async def permit(confirmed: Confirmed) -> Refused | None:
            return await self._permitted(candidate, confirmed, situation, written)

        try:
            result = await parts.attempts.run(make, permit, mode=candidate.mode.value)
        except (NotLeadingError, LedgerError):
            raise
        except KubeError as error:
            result = Result(State.REFUSED, refused="everything_seen", why=str(error))
        await self._ended(repair.planned(made[0]) if made else repair, result, parts.timer() - started)
        return int(result.state in (State.DONE, State.FAILED, State.UNCLEAR))

    async def _ended(self, repair: Repair, result: Result, seconds: float) -> None:
        parts, refused = self._parts, None
        state = {State.DONE: "verifying", State.UNCLEAR: "verifying", State.FAILED: "failed"}.get(
            result.state, "refused"
        )
        if result.state == State.REFUSED:
            refused = Refused(result.refused, result.why)
            state = "waiting" if result.refused == "approved" else "refused"
        else:
            parts.measures.ended(repair.remediation, repair.mode, result.state, seconds)
        log.info(
            'event="repair ended" remediation=%s finding=%s target="%s" outcome=%s by=%s why="%s" attempt=%s took=%.3f',
            repair.remediation,
            repair.fingerprint,
            repair.target,
            result.state,
            result.refused,
            result.why,
            result.attempt,
            seconds,
        )
        await parts.board.put(msgspec.structs.replace(repair, state=state, refused=refused))

    async def _permitted(
        self, candidate: Candidate, made: Confirmed, situation: Situation, written: int
    ) -> Refused | None:
        """By the gates, with what is read now of the object, its VM and its namespace; and by the approval."""
        parts, found = self._parts, candidate.found
        namespace = found.namespace
        vm = await self._vm(made, namespace)
        now = replace(
            situation,
            now=parts.clock(),
            namespaces={**situation.namespaces, namespace: await of_namespace(parts.reads, namespace)},
        )
        ask = replace(_asked(candidate, made, vm), planned=written)
        if gates := blocked(ask, now, parts.config):
            return Refused(gates[0].gate, gates[0].why)
        if candidate.remediation.opt_in and (vm or {}).get(candidate.remediation.opt_in) != "true":
            return Refused("opted_in", f"VM {made.plan.vm} has no annotation {candidate.remediation.opt_in}: true")
        if candidate.mode is Mode.APPROVE:
            longest = parts.config.approval.longest.total_seconds()
            if why := approved(made.plan, made.whole, now.now, longest):
                return Refused("approved", why)
        return None

    async def _vm(self, made: Confirmed, namespace: str) -> Mapping[str, Any] | None:
        bound = made.plan.bound_to
        if bound.kind == virtual_machine.KIND.name and bound.name == made.plan.vm:
            return None  # it is the object itself
        return await of_vm(self._parts.reads, namespace, made.plan.vm)

    async def _make(self, candidate: Candidate) -> Confirmed | Refused:
        hint = candidate.found.hint
        check = self._parts.checks[hint.check]
        return await confirm(
            hint,
            check,
            candidate.remediation,
            self._parts.reads,
            now=self._parts.clock(),
            settings=self._parts.settings.get(check.id),
        )

    def _young(self, candidate: Candidate) -> Iterator[Blocked]:
        wanted = self._parts.config.of(candidate.remediation.id).min_age.total_seconds()
        since = self._first_seen[candidate.found.hint.fingerprint]
        age = self._parts.clock() - since
        if age < wanted:
            why = f"the finding has been seen for {age:.0f} s, and {wanted:.0f} s are wanted (minAge)"
            yield Blocked("min_age", why, since + wanted)

    def _repair(self, candidate: Candidate) -> Repair:
        hint = candidate.found.hint
        return Repair(
            fingerprint=hint.fingerprint,
            remediation=candidate.remediation.id,
            check=hint.check,
            reason=hint.reason,
            namespace=candidate.found.namespace,
            mode=candidate.mode.value,
            state="planned",
            at=self._parts.clock(),
        )


def _asked(candidate: Candidate, made: Confirmed | None, vm: Mapping[str, Any] | None) -> Ask:
    hint = candidate.found.hint
    return Ask(
        remediation=candidate.remediation,
        namespace=candidate.found.namespace,
        subject=hint.subject,
        check=hint.check,
        fingerprint=hint.fingerprint,
        mode=candidate.mode,
        vm=candidate.found.vm,
        whole=made.whole if made is not None else None,
        planned=0,
    )


def _urgency(candidate: Candidate) -> tuple[Any, ...]:
    found = candidate.found
    since = found.since if found.since is not None else float("inf")
    return _RANK.get(found.severity, 3), since, found.hint.subject, candidate.remediation.id
