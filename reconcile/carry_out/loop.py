"""The sidecar's work: from findings to repairs, one after another, in runs.

    observed ─> settle what has no end ─> verify what was done ─> for each finding: gates ─> plan ─> attempt

Only the leader does anything. What a run may do is decided by gates on what is known at its begin, and again right
before each write on what is read then. What is planned only goes to `planning`, what may be written, or
shadowed, to `turns`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeAlias

from exporter.kube.errors import KubeError

from ..config.modes import mode_of
from ..config.settings import Mode
from ..decide.gates import Situation
from ..ledger import LedgerError
from .context import Candidate, RunContext
from .finding_source import Observed
from .lease import NotLeadingError
from .permission import Permission
from .turns import Planning, Turns

# In which order repairs get their turn: namespace by namespace, so that who has most of them does not get all writes.
#
# A namespace's turn is how many writes it had within the last day, and how many of its repairs come before. Of one turn
# the worst finding comes first, then the oldest. So a namespace that always has something to repair waits for one that
# has something for the first time, however bad its findings are. Pure.

_RANK = {"critical": 0, "warning": 1, "info": 2}


def in_turn(
    candidates: Iterable[Candidate], writable: Callable[[Candidate], bool], written: Mapping[str, int]
) -> list[Candidate]:
    """What can't be written takes nobody's turn; `written` has the writes of the last day by namespace."""
    turns: Counter[str] = Counter(written)
    found = []
    for candidate in sorted(candidates, key=_urgency):
        namespace = candidate.found.namespace
        found.append((turns[namespace], candidate))
        turns[namespace] += writable(candidate)
    found.sort(key=lambda each: each[0])
    return [candidate for _, candidate in found]


def _urgency(candidate: Candidate) -> tuple[Any, ...]:
    found = candidate.found
    since = found.since if found.since is not None else float("inf")
    return _RANK.get(found.severity, 3), since, found.hint.subject, candidate.remediation.id


Labels: TypeAlias = Mapping[str, Mapping[str, str] | None]

_DAY = 86_400.0


class Loop:
    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._planning = Planning(context)
        self._turns = Turns(context, self._planning)
        self._first_seen: dict[str, float] = {}

    def candidates(self, observed: Observed, labels: Labels) -> list[Candidate]:
        """Whatever has a remediation that is not off; `labels` are those of namespaces, where they matter."""
        config = self._context.config
        return [
            Candidate(each, remediation, mode)
            for each in observed.findings
            for remediation in self._context.remediations
            if each.hint.reason in remediation.answers.get(each.hint.check, ())
            and (mode := mode_of(config, remediation.id, each.namespace, labels.get(each.namespace))) is not Mode.OFF
        ]

    def writable(self, candidate: Candidate, *, shadow: bool = False) -> bool:
        """Whether it would be written unasked, as far as is known: what was not planned yet may be. With `shadow`, or
        shadowed.
        """
        shadowed = shadow and candidate.mode is Mode.SHADOW
        if not (shadowed or candidate.mode is Mode.AUTO) or candidate.remediation.proposes_only:
            return False
        following, fingerprint = self._context.following, candidate.found.hint.fingerprint
        if following.awaited(fingerprint) or (shadowed and following.shadowed(fingerprint)):
            return False
        shown = self._context.repairs.get(*candidate.key)
        return shown is None or shown.possible

    async def run(self, candidates: list[Candidate], situation: Situation, shadow: Situation | None = None) -> int:
        """One run; how many writes it made. `shadow` is what holds for mode `shadow`, where anything is in it. Raises
        NotLeadingError, LedgerError, KubeError.

        What may be written comes first: nothing that is shadowed holds it up.
        """
        now = self._context.clock()
        await self._context.repairs.keep(each.key for each in candidates)
        seen = {each.found.hint.fingerprint for each in candidates}
        self._first_seen = {each: self._first_seen.get(each, now) for each in seen}
        self._planning.begin(candidates)
        self._turns.begin(candidates)
        real = [each for each in candidates if each.mode is not Mode.SHADOW]
        turns = in_turn(real, self.writable, situation.history.written_by_namespace(now - _DAY))
        written = await self._each(turns, Permission(self._context, situation, self._first_seen), 0)
        if shadow is not None:
            rest = [each for each in candidates if each.mode is Mode.SHADOW]
            writable = partial(self.writable, shadow=True)
            turns = in_turn(rest, writable, shadow.history.written_by_namespace(now - _DAY))
            await self._each(turns, Permission(self._context, shadow, self._first_seen), written)
        return written

    async def _each(self, turns: list[Candidate], permission: Permission, written: int) -> int:
        """How many writes the run has made then, or shadowed; so many were made before."""
        for candidate in turns:
            try:
                if candidate.mode is Mode.PLAN or candidate.remediation.proposes_only:
                    await self._planning.show(candidate)
                else:
                    written += await self._turns.run(candidate, permission, written)
            except (NotLeadingError, LedgerError, KubeError):
                raise
            except Exception as error:  # noqa: BLE001 # one finding must not keep all others from being repaired
                await self._turns.raised(candidate, error)
                written += 1  # it may have been: the ledger then has an attempt without an end
            await asyncio.sleep(0)
        return written
