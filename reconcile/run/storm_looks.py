"""Looks whether there is a storm: once in a run, by what is found, with the VMs counted where that matters."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping

from ..decide.rises import Open
from ..decide.storm import Storm
from ..decide.storms import Sizes, Storms
from ..observe.situation import of_namespace
from ..observe.source import Observed
from ..plan.annotations import PREFIX, resumed_at
from .context import RunContext

log = logging.getLogger(__name__)
_MOST = 50  # namespaces that are asked about in one run; the VMs of others count as not known
_AHEAD = 60.0  # seconds by which the clock of who resumes may be ahead


class StormLooks:
    def __init__(self, context: RunContext, event: str = "storm") -> None:
        """`event` is how changes are logged."""
        self._context, self._event = context, event
        self._storms: Storms | None = None

    def forget(self) -> None:
        """Another replica leads: what it leaves in the Lease counts, if this one leads again."""
        self._storms = None

    async def look(
        self, observed: Observed, writable: Collection[str], lease: Mapping[str, str], now: float, fleet: int | None
    ) -> Storms:
        """`writable` are the fingerprints of what could be written now, `lease` the Lease's annotations under our
        prefix, `fleet` is the number of VMs.
        """
        context, settings = self._context, self._context.config.storm
        if self._storms is None:
            self._storms = Storms(lease)
        storms = self._storms
        before = {"": storms.fleet, **storms.namespaces}
        if not observed.ready or observed.age > context.config.source.oldest.total_seconds():
            storms.unseen(now, settings)
        else:
            answered = {check for each in context.remediations for check in each.answers} & context.checks.keys()
            storms.take(self._open(observed), answered - observed.unknown, now, settings)
            rising = storms.rising(writable, settings)[:_MOST]
            vms = {namespace: await context.vms.within(namespace) for namespace in rising}
            storms.next(writable, now, settings, Sizes(fleet, vms, await self._resumed(storms, lease, now)))
        _report(self._event, before, {"": storms.fleet, **storms.namespaces})
        return storms

    def _open(self, observed: Observed) -> list[Open]:
        """Of all findings that there is a remediation for, whatever its mode: that may be another one tomorrow."""
        answers = {
            (check, reason)
            for each in self._context.remediations
            for check in each.answers
            for reason in each.answers[check]
        }
        hints = (each.hint for each in observed.findings)
        return [
            Open(each.fingerprint, each.subject.namespace, each.check)
            for each in hints
            if (each.check, each.reason) in answers
        ]

    async def _resumed(self, storms: Storms, lease: Mapping[str, str], now: float) -> dict[str, float]:
        """When a person resumed everything, or a namespace with a storm."""
        found = {"": resumed_at({f"{PREFIX}{name}": text for name, text in lease.items()})}
        for namespace in [each for each in storms.namespaces if each][:_MOST]:
            found[namespace] = resumed_at(await of_namespace(self._context.reads, namespace) or {})
        return {name: moment for name, moment in found.items() if moment is not None and moment <= now + _AHEAD}


def _report(event: str, before: Mapping[str, Storm], after: Mapping[str, Storm]) -> None:
    for namespace in sorted({*before, *after}):
        was, now = before.get(namespace, Storm()), after.get(namespace, Storm())
        if was.weather is not now.weather:
            scope = f"namespace {namespace}" if namespace else "all"
            log.warning('event="%s" state=%s scope="%s" why="%s"', event, now.weather.value, scope, now.why)
