"""Pauses that last: of an object whose repairs somebody else takes back, until a person resumes it. A canary that
stopped is resumed in the same way.

The ledger holds a pause, so that it survives a restart; the annotation on the object is for who looks there.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from exporter.kube.errors import KubeError
from exporter.store.kind import ApiKind
from exporter.store.kinds import namespace

from ..config.settings import EditWarSettings
from ..ledger import Entry, Event, Ledger
from ..ledger.history import History
from ..ledger.trials import scope_of
from ..plan.annotations import PAUSED, PREFIX, RESUMED, resumed_at, resumed_by, resumes
from ..plan.requests import MANAGER
from .execute import ServerAnswer, WriteOutcome
from .fresh_reads import Reads, object_path
from .lease_record import NotLeadingError
from .situation import annotated

log = logging.getLogger(__name__)
_AHEAD = 60.0  # seconds by which another clock may be ahead; what is later would lift every pause to come

Annotate = Callable[[str, Mapping[str, str | None]], Awaitable[ServerAnswer]]


class Pauses:
    def __init__(
        self,
        history: History,
        ledger: Ledger,
        reads: Reads,
        kinds: Mapping[str, ApiKind[Any]],
        *,
        kept: Callable[[Entry], None],
        annotate: Annotate | None = None,
        authorized: Callable[[], bool] = lambda: False,
    ) -> None:
        """`annotate` sets annotations on the object of a URL path; it may raise NotLeadingError. `authorized` says
        whether the API server lets only those resume who may, under their own name.
        """
        self._history, self._ledger, self._reads, self._kinds = history, ledger, reads, kinds
        self._kept, self._annotate, self._authorized = kept, annotate, authorized

    async def look(self, now: float, settings: EditWarSettings, lease: Mapping[str, str]) -> None:
        """Pauses what is fought over, and takes in what a person resumed since; `lease` are the Lease's annotations
        under our prefix. Raises LedgerError.
        """
        everything = {f"{PREFIX}{name}": text for name, text in lease.items()}
        for scope, war in self._history.wars(settings.returns, settings.within.total_seconds()).items():
            if self._history.paused(scope) is None:
                await self._pause(scope, war.why)
        for scope, since in self._history.pauses_since().items():
            annotations = await self._annotations(scope) if scope else everything
            moment = resumed_at(annotations or {})
            if moment is not None and since < moment <= now + _AHEAD:
                self._kept(self._ledger.append(Event.RESUMED, scope=scope, why=f"{RESUMED} says so"))
                log.info('event="pause ended" scope="%s"', scope)
        self._resume_canaries(now, everything)

    def _resume_canaries(self, now: float, everything: Mapping[str, str]) -> None:
        """What stopped, and a person resumed since."""
        for remediation, canary in list(self._history.canaries.items()):
            annotation = resumes(remediation)
            moment = resumed_at(everything, annotation)
            if canary.strike and moment is not None and canary.strike.at < moment <= now + _AHEAD:
                scope, (by, why) = scope_of(remediation), resumed_by(everything, annotation)
                why = why or f"{annotation} says so: {everything[annotation]}"
                self._kept(
                    self._ledger.append(Event.RESUMED, scope=scope, by=by, why=why, authorized=self._authorized())
                )
                log.info('event="pause ended" scope="%s"', scope)

    async def _pause(self, scope: str, why: str) -> None:
        self._kept(self._ledger.append(Event.PAUSED, scope=scope, by=MANAGER, why=why))
        log.warning('event="edit war detected" object="%s" why="%s"', scope, why)
        found = self._object(scope)
        if self._annotate is None or found is None:
            return
        kind, within, name = found
        try:
            path = object_path(kind, await self._reads.served(kind), within, name)
            answer = await self._annotate(path, {PAUSED: f"edit war: {why}"})
        except (KubeError, NotLeadingError) as error:
            log.warning('event="pause annotation missing" object="%s" why="%s"', scope, error)
            return
        if answer.outcome is not WriteOutcome.ACCEPTED:
            log.warning('event="pause annotation missing" object="%s" why="%s"', scope, answer.why)

    async def _annotations(self, scope: str) -> Mapping[str, Any] | None:
        found = self._object(scope)
        return await annotated(self._reads, *found) if found is not None else None

    def _object(self, scope: str) -> tuple[ApiKind[Any], str, str] | None:
        """The kind, the namespace and the name of what is paused: a namespace, or an object."""
        sort, _, path = scope.rpartition(" ")
        if not sort:
            return namespace.KIND, "", scope
        within, _, name = path.rpartition("/")
        kind = self._kinds.get(sort)
        return (kind, within, name) if kind is not None else None
