"""Writes of a person that repair nothing: what takes a write back, or away what repairs left. How they are shown, and
carried out with the gates of an undo.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator

from exporter.cli.output.text.terminal import one_line

from ..carry_out.attempt import Fence, Make, Result
from ..carry_out.confirm import Confirmed
from ..carry_out.confirm_undo import confirm_undo
from ..carry_out.situation import upgrading
from ..config.settings import Mode
from ..decide.gates import Ask, Situation, blocked
from ..decide.storm import Storm
from ..ledger import Ledger
from ..plan.plan import Plan, Refused
from ..plan.remediation import Remediation
from ..plan.remediations import all_remediations
from ..plan.text import sentence
from ..plan.undo import AnyUndo, UndoRequest
from .gating import first
from .ledger_pages import history_of
from .session import Session
from .writing import attempts


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
