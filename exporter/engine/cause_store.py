"""The causes of the open findings, kept by each change: a change costs the same however many findings a cause has."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from ..findings.check import Check
from ..findings.finding import Finding, Severity
from ..store.record import Ref
from .cause_history import WEEK, CauseHistory, Changes
from .open_cause import OpenCause


class EndedCause(NamedTuple):
    """A cause without findings, since when in seconds since 1970, and the object whose finding closed last."""

    cause: OpenCause
    at: float
    last: Ref


class CauseStore:
    def __init__(self, checks: Iterable[Check], clock: Callable[[], float]) -> None:
        """`clock` gives seconds since 1970."""
        self._checks: Mapping[str, Check] = {check.id: check for check in checks}
        self._clock = clock
        self._causes: dict[str, OpenCause] = {}
        # Those without findings, the first ones ended first, as long as the history knows them. Of a dict the first one
        # would be searched past all that were taken out.
        self._ended: OrderedDict[str, EndedCause] = OrderedDict()
        self._latest = 0.0  # what the clock said last
        self.history = CauseHistory()
        self.version = 0  # another one after each change

    def __iter__(self) -> Iterator[OpenCause]:
        """Those with findings, in the order in which they came."""
        return (cause for cause in self._causes.values() if cause)

    def __len__(self) -> int:
        return len(self._causes) - len(self._ended)

    def ended(self) -> Iterator[EndedCause]:
        """Those whose last finding closed within the last week, the last one first."""
        self._forget(self._clock())
        return reversed(self._ended.values())

    def get(self, cause: str) -> OpenCause | None:
        return self._causes.get(cause)

    def severity_of(self, cause: str) -> Severity | None:
        """None where no finding has the cause."""
        found = self._causes.get(cause)
        return found.severity if found else None

    def changes(self, cause: str) -> Changes:
        """What opened and closed of one lately."""
        return self.history.of(cause, self._clock())

    def update(self, gone: Iterable[Finding], come: Iterable[Finding], *, counts: bool = True) -> None:
        """Takes in a batch of differences; a changed finding is in both. Without `counts` nothing has opened or closed:
        it is only seen for the first time.
        """
        now = self._clock()
        self.version += 1
        # Two partitions may have found one, one after another.
        after = {finding.fingerprint: finding for finding in come}
        for finding in gone:
            later = after.get(finding.fingerprint)
            if later is None or later.cause != finding.cause:
                self._remove(finding, now, counts=counts)
        for finding in after.values():
            self._add(finding, now, counts=counts)
        self._forget(now)

    def _remove(self, finding: Finding, now: float, *, counts: bool) -> None:
        cause = self._causes.get(finding.cause)
        if cause is None or not cause.remove(finding.fingerprint):
            return
        if counts:
            self.history.note(cause.id, now, 0, 1)
        if not cause:
            self._ended.pop(cause.id, None)
            self._ended[cause.id] = EndedCause(cause, now, finding.subject)

    def _add(self, finding: Finding, now: float, *, counts: bool) -> None:
        cause = self._causes.get(finding.cause)
        if cause is None:
            reference = self._checks[finding.check].cause_of(finding)
            cause = self._causes[finding.cause] = OpenCause(finding.cause, finding.check, finding.reason, reference)
        self._ended.pop(cause.id, None)
        if cause.put(finding) and counts:
            self.history.note(cause.id, now, 1, 0)

    def _forget(self, now: float) -> None:
        if now < self._latest:  # the clock was set back: what ended ahead of it ended now
            self._ended = OrderedDict((key, each._replace(at=min(each.at, now))) for key, each in self._ended.items())
        self._latest = now
        self.history.forget(now)
        while self._ended:
            cause, ended = next(iter(self._ended.items()))
            if ended.at > now - WEEK and cause in self.history:
                return
            self._ended.popitem(last=False)
            del self._causes[cause]
