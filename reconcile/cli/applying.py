"""Carries out plans as a person asks: each with the gates, the ledger and the Event of one."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from exporter.cli.input.once import aim_of
from exporter.cli.output.text.terminal import complain, one_line, say

from ..carry_out.attempt import Attempts, AttemptState, Result
from ..carry_out.confirm import Confirmed
from ..carry_out.finding_source import Observed
from ..carry_out.ledger_in_lease import cluster_uid
from ..config.settings import Mode
from ..decide.repair import Found
from ..plan.plan import Refused
from ..plan.remediation import Remediation
from .fitting import readable
from .gating import Gating
from .session import Session
from .several import Chosen
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
