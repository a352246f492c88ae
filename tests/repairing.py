"""A repair on an API server: what carries it out, with its ledger, on objects made of rows."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from exporter.checks import all_checks
from exporter.kube.clocks import boottime
from exporter.kube.transport import Transport
from exporter.store.kind import ApiKind
from reconcile.carry_out.attempt import Attempts, Fence, Permit, Result
from reconcile.carry_out.confirm import Confirmed, confirm
from reconcile.carry_out.execute import PlanWriter
from reconcile.carry_out.fresh_reads import ApiReads, Reads
from reconcile.decide.repair import Hint
from reconcile.ledger import Entry, Ledger
from reconcile.ledger.settling import Settling
from reconcile.plan.plan import Refused
from reconcile.plan.remediation import Remediation
from reconcile.plan.remediations import all_remediations
from tests.evaluation import NOW, api_kinds

__all__ = ["Repairing", "permitted", "repairing"]


async def permitted(_: Confirmed) -> Refused | None:
    return None


@dataclass
class Repairing:
    reads: Reads
    writer: PlanWriter
    ledger: Ledger
    attempts: Attempts
    now: float = NOW
    reached: list[str] = field(default_factory=list)

    def make(self, remediation: Remediation, hint: Hint) -> Callable[[], Any]:
        check = next(each for each in all_checks() if each.id == hint.check)
        return lambda: confirm(hint, check, remediation, self.reads, now=self.now)

    async def repair(self, remediation: Remediation, hint: Hint, permit: Permit = permitted) -> Result:
        return await self.attempts.run(self.make(remediation, hint), permit, mode="auto")

    def entries(self) -> list[Entry]:
        return list(self.ledger.entries())


@asynccontextmanager
async def repairing(
    kubeconfig: str,
    directory: Path,
    *,
    fence: Fence | None = None,
    reached: Callable[[str], None] = lambda _: None,
    kinds: Iterable[ApiKind[Any]] = (),
    timer: Callable[[], float] = boottime,
) -> AsyncIterator[Repairing]:
    """On the API server of a kubeconfig; `reached` is called with each step, `timer` says what time has passed since a
    request was given up.
    """
    transport = Transport.from_environment(kubeconfig)
    steps: list[str] = []

    def note(step: str) -> None:
        steps.append(step)
        reached(step)

    all_kinds = api_kinds() | {kind.name: kind for kind in kinds}
    with Ledger.open(directory, clock=lambda: NOW) as ledger:
        reads, writer = ApiReads(transport), PlanWriter(transport)
        attempts = Attempts(
            reads,
            writer,
            ledger,
            all_kinds,
            clock=lambda: NOW,
            fence=fence,
            reached=note,
            remediations=all_remediations(),
            settling=Settling(lambda: NOW, timer=timer),
        )
        try:
            yield Repairing(reads, writer, ledger, attempts, reached=steps)
        finally:
            await transport.close()
