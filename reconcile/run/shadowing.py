"""An attempt that writes nothing, in mode `shadow`: all that comes before a write, and then an entry in the ledger.

    made ─> made again ─> permitted ─> shadowed

It has no writer. So it sends no dry run either: RBAC knows none, and who may ask for one may write. What admission
webhooks would refuse is shadowed nevertheless.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from exporter.kube.clocks import boottime
from exporter.store.kind import ApiKind

from ..act.ending import refused_as
from ..config.settings import Mode
from ..confirm.reading import Reads
from ..ledger import Entry, Event, Ledger
from ..plan.outcome import before_and_after
from ..plan.plan import Refused
from ..plan.remediation import SEND_SECONDS, Remediation
from ..plan.requests import request
from .attempt import AttemptState, Make, Permit, Result, prepared, too_old


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
