"""Carries out plans as a person asks: each with the gates, the ledger and the Event of one.

Writes that repair nothing take a write back, or away what repairs left: how they are shown, and carried out with the
gates of an undo.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

from exporter.cli.input.once import aim_of
from exporter.cli.output.text.terminal import complain, one_line, say

from ..carry_out.attempt import Attempts, AttemptState, Fence, Make, Result
from ..carry_out.confirm import Confirmed, confirm_undo
from ..carry_out.finding_source import Observed
from ..carry_out.ledger_in_lease import cluster_uid
from ..carry_out.situation import upgrading
from ..config.settings import Mode
from ..decide.gates import Ask, Situation, blocked
from ..decide.repair import Found
from ..decide.storms import Storm
from ..ledger import Ledger
from ..plan.plan import Plan, Refused
from ..plan.remediation import Remediation
from ..plan.remediations import all_remediations
from ..plan.text import sentence
from ..plan.undo import AnyUndo, UndoRequest
from .gating import Gating, first
from .ledger_pages import history_of
from .session import Session
from .several import Chosen, readable
from .writing import attempts, directory_of, opened, settled, taking_back, who

_GONE = "finding_holds"  # the precondition by which nothing is left to do


class Applying:
    def __init__(self, at: Session, attempting: Attempts, gating: Gating, by: str) -> None:
        self._at, self._attempting, self._gating, self._by = at, attempting, gating, by

    @classmethod
    @asynccontextmanager
    async def begun(cls, at: Session, observed: Observed) -> AsyncIterator[Applying]:
        """With the ledger open, and what earlier commands left in it settled. Raises KubeError, LedgerError."""
        by, directory = await who(at), directory_of(at.arguments, at)
        with opened(directory, await cluster_uid(at.reads)) as ledger:
            attempting = attempts(at, ledger)
            await settled(attempting, ledger)
            yield cls(at, attempting, Gating(at, observed, directory, ledger.probe()), by)

    async def carried_out(
        self,
        found: Found,
        remediation: Remediation,
        shown: Confirmed,
        written: int = 0,
        before: Callable[[], Awaitable[Refused | None]] | None = None,
    ) -> Result:
        """The plan that was shown, after so many others of this command; `before` each look says whether it may still
        be. Raises LedgerError, KubeError.
        """

        async def make() -> Confirmed | Refused:
            if before is not None and (refused := await before()):
                return refused
            again = await self._at.planned(found, remediation)
            if isinstance(again, Confirmed) and again.plan.hash != shown.plan.hash:
                return Refused("same_plan", "the plan changed after it was shown")
            return again

        async def permit(confirmed: Confirmed) -> Refused | None:
            return await self._gating.refused(found, remediation, confirmed, Mode.APPLY, written)

        return await self._attempting.run(make, permit, mode=Mode.APPLY.value, by=lambda: self._by)

    async def all_carried_out(self, plans: list[Chosen], remediation: Remediation, directory: Path | None) -> int:
        """One after the other, until one does not end as it should; the exit code. `directory` is as of `taking_back`.

        However it ends, what was carried out and what was not is said. Raises LedgerError, KubeError.
        """
        left, unknown, written, code = list(plans), list[Chosen](), 0, 0
        try:
            while left and not code:
                unknown = [left.pop(0)]  # until it has an end
                say(readable(f"{one_line(unknown[0].repair.write)}\n", self._at.arguments))
                result = await self.carried_out(unknown[0].found, remediation, unknown[0].made, written)
                if result.state == AttemptState.REFUSED and result.refused == _GONE:
                    complain(f"nothing left to do: {result.why}")
                else:
                    code = ended(result, directory, self._at.arguments)
                    written += result.state == AttemptState.DONE
                if result.state != AttemptState.UNCLEAR:
                    left = [*(unknown if code and result.state != AttemptState.DONE else ()), *left]
                    unknown = []
        finally:
            say(_summary(written, len(plans), unknown, left))
        return code


def _summary(written: int, count: int, unknown: list[Chosen], left: list[Chosen]) -> str:
    lines = [f"{written} of {count} {'plan was' if count == 1 else 'plans were'} carried out."]
    for what, plans in (("Outcome unknown, see the ledger", unknown), ("Not carried out", left)):
        if plans:
            lines += [
                f"{what}:",
                *(f"  {one_line(f'{each.repair.target}, plan {each.repair.hash}')}" for each in plans),
            ]
    return "".join(f"{line}\n" for line in lines)


def ended(result: Result, directory: Path | None, arguments: argparse.Namespace) -> int:
    """Says how an attempt ended, and gives the exit code; `directory` is as of `taking_back`."""
    if result.state == AttemptState.DONE:
        back = taking_back(result.plan, result.attempt, directory) if result.plan is not None else ""
        say(readable(f"Done, attempt {result.attempt}. {back}\n", arguments))
        if result.why:
            complain(result.why)
        return 2 if result.why else 0
    what = f"refused, {result.refused}" if result.state == AttemptState.REFUSED else result.state
    complain(aim_of(arguments).command(f"{what}: {result.why}"))
    return 2 if result.state == AttemptState.UNCLEAR else 1


async def made(at: Session, own: UndoRequest, undo: AnyUndo) -> Confirmed | Refused:
    """What takes a write back, on fresh reads."""
    return await confirm_undo(own, undo, at.reads, now=time.time(), assumed=at.checks.assumed)


def shown(plan: Plan, heading: str) -> str:
    return "".join(f"{line}\n" for line in (heading, *_rows(plan)))


def _rows(plan: Plan) -> Iterator[str]:
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


async def permitted(at: Session, plan: Plan, ledger: Ledger, of: Remediation | None = None) -> Refused | None:
    """By the gates of an undo, which ask of the ledger, the clocks and KubeVirt's upgrade; the rest is not read. `of`
    stands for the remediation of a plan that is none of those that there are: KubeVirt knows nothing of what it takes
    away, and may be gone.
    """
    now = time.time()
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
        upgrading=await upgrading(at.reads) if of is None else False,
        silenced=lambda _: None,
        ledger=ledger.probe(),
        skew=at.transport.clocks.skew(now),
        by_hand=tuple,  # their entries are among the others
    )
    ask = Ask(
        remediation=of or next(each for each in all_remediations() if each.id == plan.remediation),
        namespace=plan.target.namespace,
        subject=plan.subject,
        check=plan.check,
        fingerprint=plan.fingerprint,
        mode=Mode.UNDO,
        target=plan.bound_to,
        vm=plan.vm,
    )
    return first(blocked(ask, situation, at.config))


async def carried_out(
    at: Session,
    ledger: Ledger,
    make: Make,
    plan: Plan,
    by: str,
    *,
    permit: Callable[[], Awaitable[Refused | None]],
    fence: Fence | None = None,
) -> Result:
    """The plan that was shown, made again. Raises LedgerError, KubeError, and what the fence raises."""

    async def again() -> Confirmed | Refused:
        found = await make()
        if isinstance(found, Confirmed) and (found.plan.hash, found.plan.loses) != (plan.hash, plan.loses):
            return Refused("same_plan", "the plan changed after it was shown")
        return found

    attempting = attempts(at, ledger, fence)
    return await attempting.run(again, lambda _: permit(), mode=Mode.UNDO.value, by=lambda: by, undoes=plan.undoes)
