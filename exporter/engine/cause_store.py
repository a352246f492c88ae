"""The causes of the open findings, kept by each change: a change costs the same however many findings a cause has."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..findings.causes import Reference
from ..findings.check import Check
from ..findings.finding import Finding, Severity
from ..store.record import Ref

__all__ = ["HOUR", "CauseStore", "OpenCause"]

HOUR = 3600.0
_MINUTE = 60.0
_MOST_ENDED = 100  # causes without findings that are kept for what closed of them in the last hour


@dataclass(slots=True)
class _Activity:
    """What opened and closed, by the minute."""

    minutes: deque[list[float]] = field(default_factory=deque)  # minute, opened, closed

    def count(self, now: float, opened: int, closed: int) -> None:
        minute = now // _MINUTE
        if not self.minutes or self.minutes[-1][0] != minute:
            self.minutes.append([minute, 0, 0])
        self.minutes[-1][1] += opened
        self.minutes[-1][2] += closed
        self._forget(now)

    def last_hour(self, now: float) -> tuple[int, int]:
        self._forget(now)
        return int(sum(each[1] for each in self.minutes)), int(sum(each[2] for each in self.minutes))

    def _forget(self, now: float) -> None:
        while self.minutes and self.minutes[0][0] <= (now - HOUR) // _MINUTE:
            self.minutes.popleft()


@dataclass(slots=True, eq=False)
class OpenCause:
    """`members` are its findings by fingerprint, the other tables count them. The namespace of cluster-wide objects is
    the empty text.
    """

    id: str
    check: str
    reason: str
    reference: Reference
    members: dict[str, Finding] = field(default_factory=dict)
    subjects: Counter[Ref] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)  # objects, and not findings
    namespaces: Counter[str] = field(default_factory=Counter)
    severities: Counter[Severity] = field(default_factory=Counter)
    _activity: _Activity = field(default_factory=_Activity)

    @property
    def severity(self) -> Severity:
        """The worst of its findings; info where there is none."""
        return max(self.severities, key=lambda each: each.rank, default=Severity.INFO)

    @property
    def objects(self) -> int:
        return len(self.subjects)

    def last_hour(self, now: float) -> tuple[int, int]:
        """How many findings opened and closed."""
        return self._activity.last_hour(now)

    def add(self, finding: Finding) -> None:
        self.members[finding.fingerprint] = finding
        self.severities[finding.severity] += 1
        self.namespaces[finding.subject.namespace] += 1
        self.subjects[finding.subject] += 1
        if self.subjects[finding.subject] == 1:
            self.kinds[finding.subject.kind] += 1

    def remove(self, fingerprint: str) -> None:
        finding = self.members.pop(fingerprint, None)
        if finding is None:
            return
        _less(self.severities, finding.severity)
        _less(self.namespaces, finding.subject.namespace)
        _less(self.subjects, finding.subject)
        if finding.subject not in self.subjects:
            _less(self.kinds, finding.subject.kind)

    def count(self, now: float, opened: int, closed: int) -> None:
        self._activity.count(now, opened, closed)


class CauseStore:
    def __init__(self, checks: Iterable[Check], clock: Callable[[], float]) -> None:
        """`clock` gives seconds since 1970."""
        self._checks: Mapping[str, Check] = {check.id: check for check in checks}
        self._clock = clock
        self._causes: dict[str, OpenCause] = {}
        self._ended: dict[str, float] = {}  # those without findings, and since when; the first ones ended first
        self.version = 0  # another one after each change

    def __iter__(self) -> Iterator[OpenCause]:
        """Those with findings, in the order in which they came."""
        return (cause for cause in self._causes.values() if cause.members)

    def __len__(self) -> int:
        return len(self._causes) - len(self._ended)

    def ended(self) -> Iterator[OpenCause]:
        """Those whose last finding closed within the last hour."""
        self._forget(self._clock())
        return (self._causes[each] for each in self._ended)

    def get(self, cause: str) -> OpenCause | None:
        return self._causes.get(cause)

    def update(self, gone: Iterable[Finding], come: Iterable[Finding], *, counts: bool = True) -> None:
        """Takes in a batch of differences; a changed finding is in both. Without `counts` nothing has opened or closed:
        it is only seen for the first time.
        """
        now, gone, come = self._clock(), tuple(gone), tuple(come)
        self.version += 1
        before = {finding.fingerprint: finding.cause for finding in gone}
        after = {finding.fingerprint: finding.cause for finding in come}
        for finding in gone:
            self._remove(finding, now, closed=counts and after.get(finding.fingerprint) != finding.cause)
        for finding in come:
            self._add(finding, now, opened=counts and before.get(finding.fingerprint) != finding.cause)
        self._forget(now)

    def _remove(self, finding: Finding, now: float, *, closed: bool) -> None:
        cause = self._causes.get(finding.cause)
        if cause is None:
            return
        cause.remove(finding.fingerprint)
        if closed:
            cause.count(now, 0, 1)
        if not cause.members:
            self._ended.pop(cause.id, None)
            self._ended[cause.id] = now

    def _add(self, finding: Finding, now: float, *, opened: bool) -> None:
        cause = self._causes.get(finding.cause)
        if cause is None:
            reference = self._checks[finding.check].cause_of(finding)
            cause = self._causes[finding.cause] = OpenCause(finding.cause, finding.check, finding.reason, reference)
        self._ended.pop(cause.id, None)
        cause.add(finding)
        if opened:
            cause.count(now, 1, 0)

    def _forget(self, now: float) -> None:
        while self._ended:
            cause, since = next(iter(self._ended.items()))
            if since > now - HOUR and len(self._ended) <= _MOST_ENDED:
                return
            del self._ended[cause], self._causes[cause]


def _less(counter: Counter[Any], key: object) -> None:
    counter[key] -= 1
    if counter[key] <= 0:
        del counter[key]
