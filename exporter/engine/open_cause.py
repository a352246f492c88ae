"""One cause and what is known of it, kept so that no row of it needs a look at all its findings."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from ..findings.causes import Reference
from ..findings.finding import Finding, Severity
from ..store.record import Ref
from .sorted_keys import SortedKeys

__all__ = ["HOUR", "OpenCause"]

HOUR = 3600.0
_MINUTE = 60.0
_WORST_FIRST = tuple(sorted(Severity, key=lambda each: -each.rank))


@dataclass(slots=True)
class _Activity:
    """What opened and closed, by the minute: those of the last hour, in their order."""

    minutes: list[list[int]] = field(default_factory=list)  # minute, opened, closed; 61 of them at most

    def count(self, now: float, opened: int, closed: int) -> None:
        minute = self._forget(now)
        if not self.minutes or self.minutes[-1][0] != minute:
            self.minutes.append([minute, 0, 0])
        self.minutes[-1][1] += opened
        self.minutes[-1][2] += closed

    def last_hour(self, now: float) -> tuple[int, int]:
        self._forget(now)
        return sum(each[1] for each in self.minutes), sum(each[2] for each in self.minutes)

    def _forget(self, now: float) -> int:
        """What was before the last hour; gives the present minute. What is ahead of a clock that was set back counts as
        of now: else it would be of the last hour for longer than one.
        """
        minute, ahead = int(now // _MINUTE), [0, 0]
        while self.minutes and self.minutes[-1][0] > minute:
            _, opened, closed = self.minutes.pop()
            ahead = [ahead[0] + opened, ahead[1] + closed]
        if any(ahead):
            if not self.minutes or self.minutes[-1][0] != minute:
                self.minutes.append([minute, 0, 0])
            self.minutes[-1][1] += ahead[0]
            self.minutes[-1][2] += ahead[1]
        while self.minutes and self.minutes[0][0] <= (now - HOUR) // _MINUTE:
            del self.minutes[0]
        return minute


@dataclass(slots=True, eq=False)
class OpenCause:
    """`members` are its findings by fingerprint. The namespace of cluster-wide objects is the empty text."""

    id: str
    check: str
    reason: str
    reference: Reference
    members: dict[str, Finding] = field(default_factory=dict)
    kinds: Counter[str] = field(default_factory=Counter)  # objects, and not findings
    namespaces: Counter[str] = field(default_factory=Counter)  # findings
    _subjects: Counter[Ref] = field(default_factory=Counter)
    _vms: Counter[tuple[str, str]] = field(default_factory=Counter)
    _ages: dict[Severity, SortedKeys[tuple[float, str]]] = field(default_factory=dict)  # of those that there are
    _names: SortedKeys[tuple[str, str, str, str]] = field(default_factory=SortedKeys)
    _places: SortedKeys[str] = field(default_factory=SortedKeys)
    _activity: _Activity = field(default_factory=_Activity)

    @property
    def severity(self) -> Severity:
        """The worst of its findings; info where there is none."""
        return next((each for each in _WORST_FIRST if each in self._ages), Severity.INFO)

    @property
    def objects(self) -> int:
        return len(self._subjects)

    @property
    def vms(self) -> int:
        """How many VMs its findings are about."""
        return len(self._vms)

    @property
    def worst(self) -> Finding | None:
        """Of the worst severity the oldest."""
        if not self.members:
            return None
        return self.members[self._ages[self.severity].first(1)[0][1]]

    @property
    def oldest(self) -> Finding | None:
        first = [key for ages in self._ages.values() for key in ages.first(1)]
        return self.members[min(first)[1]] if first else None

    def first(self, count: int) -> tuple[Ref, ...]:
        """Its first objects by namespace and name."""
        return tuple(Ref(kind, place, name, uid) for place, name, kind, uid in self._names.first(count))

    def first_namespaces(self, count: int) -> tuple[str, ...]:
        """The first namespaces of its objects, by name."""
        return tuple(self._places.first(count))

    def last_hour(self, now: float) -> tuple[int, int]:
        """How many findings opened and closed; `now` is in seconds since 1970."""
        return self._activity.last_hour(now)

    def count(self, now: float, opened: int, closed: int) -> None:
        self._activity.count(now, opened, closed)

    def put(self, finding: Finding) -> bool:
        """Takes in a finding, in the place of an earlier one with its fingerprint; whether there was none."""
        earlier = self.members.get(finding.fingerprint)
        if earlier is not None and _counted(earlier) == _counted(finding):
            self.members[finding.fingerprint] = finding
            return False
        self.remove(finding.fingerprint)
        subject = finding.subject
        self.members[finding.fingerprint] = finding
        if finding.severity not in self._ages:
            self._ages[finding.severity] = SortedKeys()
        self._ages[finding.severity].add(_age(finding))
        if _more(self._subjects, subject):
            self.kinds[subject.kind] += 1
            self._names.add(_name(subject))
        if _more(self.namespaces, subject.namespace) and subject.namespace:
            self._places.add(subject.namespace)
        if finding.vm:
            self._vms[subject.namespace, finding.vm] += 1
        return earlier is None

    def remove(self, fingerprint: str) -> bool:
        """Whether it was there."""
        finding = self.members.pop(fingerprint, None)
        if finding is None:
            return False
        subject = finding.subject
        ages = self._ages[finding.severity]
        ages.remove(_age(finding))
        if not ages:
            del self._ages[finding.severity]
        if _less(self._subjects, subject):
            _less(self.kinds, subject.kind)
            self._names.remove(_name(subject))
        if _less(self.namespaces, subject.namespace) and subject.namespace:
            self._places.remove(subject.namespace)
        if finding.vm:
            _less(self._vms, (subject.namespace, finding.vm))
        return True


def _counted(finding: Finding) -> tuple[object, ...]:
    """All of a finding by which it is counted."""
    return finding.severity, finding.since, finding.subject, finding.vm


def _age(finding: Finding) -> tuple[float, str]:
    return finding.since or float("inf"), finding.fingerprint


def _name(subject: Ref) -> tuple[str, str, str, str]:
    return subject.namespace, subject.name, subject.kind, subject.uid


def _more(counter: Counter[Any], key: object) -> bool:
    """Whether it is the first."""
    counter[key] += 1
    return counter[key] == 1


def _less(counter: Counter[Any], key: object) -> bool:
    """Whether it was the last."""
    counter[key] -= 1
    if counter[key] > 0:
        return False
    del counter[key]
    return True
