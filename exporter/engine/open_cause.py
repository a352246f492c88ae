"""One cause and what is known of it, kept so that no row of it needs a look at all its findings."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, Generic, TypeVar

from ..facts.record import Ref
from ..findings.causes import Reference
from ..findings.finding import Finding, to_change
from ..findings.severity import Severity

# Keys in their order, of which the first are asked for at any time.
#
# They are kept in blocks of bounded length, so that a key comes and goes at the same cost among ten as among 100,000,
# and nothing is ever put in order again as a whole.

_LONGEST = 512  # keys of a block
K = TypeVar("K", bound=Any)


class SortedKeys(Generic[K]):
    """Each key once. `add` and `remove` are for who knows whether a key is there."""

    __slots__ = ("_blocks", "_lasts")

    def __init__(self) -> None:
        self._blocks: list[list[K]] = []  # none is empty
        self._lasts: list[K] = []  # the last key of each block

    def __len__(self) -> int:
        return sum(map(len, self._blocks))

    def __bool__(self) -> bool:
        return bool(self._blocks)

    def __iter__(self) -> Iterator[K]:
        return chain.from_iterable(self._blocks)

    def first(self, count: int) -> list[K]:
        """As many of the lowest as there are, up to `count`."""
        return list(islice(self, count))

    def below(self, key: K) -> int:
        """How many are lower, at the cost of a look at each block."""
        at = bisect_left(self._lasts, key)
        return sum(map(len, self._blocks[:at])) + (bisect_left(self._blocks[at], key) if at < len(self._blocks) else 0)

    def add(self, key: K) -> None:
        if not self._blocks:
            self._blocks.append([key])
            self._lasts.append(key)
            return
        at = min(bisect_left(self._lasts, key), len(self._blocks) - 1)
        block = self._blocks[at]
        insort(block, key)
        if len(block) > _LONGEST:
            half = _LONGEST // 2
            self._blocks.insert(at + 1, block[half:])
            self._lasts.insert(at + 1, block[-1])
            del block[half:]
        self._lasts[at] = block[-1]

    def remove(self, key: K) -> None:
        at = bisect_left(self._lasts, key)
        block = self._blocks[at]
        del block[bisect_left(block, key)]
        if block:
            self._lasts[at] = block[-1]
        else:
            del self._blocks[at], self._lasts[at]


_WORST_FIRST = tuple(
    (severity, changes) for severity in sorted(Severity, key=lambda each: -each.rank) for changes in (True, False)
)


@dataclass(slots=True, eq=False)
class _Members:
    """The findings of a cause that has several, and what they are counted by."""

    findings: dict[str, Finding] = field(default_factory=dict)  # by fingerprint
    kinds: dict[str, int] = field(default_factory=dict)  # objects, and not findings
    namespaces: dict[str, int] = field(default_factory=dict)  # findings
    subjects: dict[Ref, int] = field(default_factory=dict)
    vms: dict[tuple[str, str], int] = field(default_factory=dict)
    ages: dict[tuple[Severity, bool], SortedKeys[tuple[float, str]]] = field(default_factory=dict)  # as `_rank` has it
    names: SortedKeys[tuple[str, str, str, str]] = field(default_factory=SortedKeys)
    places: SortedKeys[str] = field(default_factory=SortedKeys)

    def put(self, finding: Finding) -> None:
        """One whose fingerprint there is not."""
        subject = finding.subject
        self.findings[finding.fingerprint] = finding
        if (rank := _rank(finding)) not in self.ages:
            self.ages[rank] = SortedKeys()
        self.ages[rank].add(_age(finding))
        if _more(self.subjects, subject):
            _more(self.kinds, subject.kind)
            self.names.add(_name(subject))
        if _more(self.namespaces, subject.namespace) and subject.namespace:
            self.places.add(subject.namespace)
        if finding.vm:
            _more(self.vms, (subject.namespace, finding.vm))

    def remove(self, finding: Finding) -> None:
        """One that is there."""
        subject = finding.subject
        del self.findings[finding.fingerprint]
        ages = self.ages[rank := _rank(finding)]
        ages.remove(_age(finding))
        if not ages:
            del self.ages[rank]
        if _less(self.subjects, subject):
            _less(self.kinds, subject.kind)
            self.names.remove(_name(subject))
        if _less(self.namespaces, subject.namespace) and subject.namespace:
            self.places.remove(subject.namespace)
        if finding.vm:
            _less(self.vms, (subject.namespace, finding.vm))


class OpenCause:
    """A cause with its findings. Most have one, of which there may be as many as objects: that one is kept alone."""

    __slots__ = ("_many", "_one", "check", "id", "reason", "reference")

    def __init__(self, id: str, check: str, reason: str, reference: Reference) -> None:  # noqa: A002
        self.id, self.check, self.reason, self.reference = id, check, reason, reference
        self._one: Finding | None = None
        self._many: _Members | None = None

    def __len__(self) -> int:
        """How many findings it has."""
        return len(self._many.findings) if self._many else int(self._one is not None)

    def __iter__(self) -> Iterator[Finding]:
        """Its findings, in no order."""
        return iter(self._many.findings.values()) if self._many else iter(() if self._one is None else (self._one,))

    @property
    def severity(self) -> Severity:
        """The worst of its findings; info where there is none."""
        if self._many:
            return next(rank[0] for rank in _WORST_FIRST if rank in self._many.ages)
        return self._one.severity if self._one else Severity.INFO

    @property
    def severities(self) -> dict[str, int]:
        """How many findings of each severity, the worst first."""
        if self._many:
            counts: dict[str, int] = {}
            for rank in _WORST_FIRST:
                if rank in self._many.ages:
                    counts[rank[0].value] = counts.get(rank[0].value, 0) + len(self._many.ages[rank])
            return counts
        return {self._one.severity.value: 1} if self._one else {}

    @property
    def objects(self) -> int:
        return len(self._many.subjects) if self._many else len(self)

    @property
    def kinds(self) -> dict[str, int]:
        """How many objects of each kind."""
        if self._many:
            return dict(self._many.kinds)
        return {self._one.subject.kind: 1} if self._one else {}

    @property
    def vms(self) -> int:
        """How many VMs its findings are about."""
        return len(self._many.vms) if self._many else int(self._one is not None and bool(self._one.vm))

    @property
    def namespaces(self) -> int:
        """In how many namespaces its findings are."""
        if self._many:
            return len(self._many.namespaces) - ("" in self._many.namespaces)
        return int(self._one is not None and bool(self._one.subject.namespace))

    @property
    def worst(self) -> Finding | None:
        """Of the worst severity the oldest, and of several with one value one that is to be changed."""
        if self._many:
            first = next(self._many.ages[each] for each in _WORST_FIRST if each in self._many.ages)
            return self._many.findings[first.first(1)[0][1]]
        return self._one

    @property
    def oldest(self) -> Finding | None:
        if self._many:
            first = min(key for ages in self._many.ages.values() for key in ages.first(1))
            return self._many.findings[first[1]]
        return self._one

    def first(self, count: int) -> tuple[Ref, ...]:
        """Its first objects by namespace and name."""
        if self._many:
            return tuple(Ref(kind, place, name, uid) for place, name, kind, uid in self._many.names.first(count))
        return (self._one.subject,) if self._one else ()

    def first_namespaces(self, count: int) -> tuple[str, ...]:
        """The first namespaces of its objects, by name."""
        if self._many:
            return tuple(self._many.places.first(count))
        return (self._one.subject.namespace,) if self._one and self._one.subject.namespace else ()

    def put(self, finding: Finding) -> bool:
        """Takes in a finding, in the place of an earlier one with its fingerprint; whether there was none."""
        if self._many is None:
            if self._one is None or self._one.fingerprint == finding.fingerprint:
                new, self._one = self._one is None, finding
                return new
            self._many = _Members()
            self._many.put(self._one)
            self._one = None
        earlier = self._many.findings.get(finding.fingerprint)
        if earlier is not None and _counted(earlier) == _counted(finding):
            self._many.findings[finding.fingerprint] = finding
            return False
        if earlier is not None:
            self._many.remove(earlier)
        self._many.put(finding)
        return earlier is None

    def remove(self, fingerprint: str) -> bool:
        """Whether it was there."""
        if self._many is None:
            there = self._one is not None and self._one.fingerprint == fingerprint
            if there:
                self._one = None
            return there
        finding = self._many.findings.get(fingerprint)
        if finding is None:
            return False
        self._many.remove(finding)
        if not self._many.findings:
            self._many = None
        return True


def _counted(finding: Finding) -> tuple[object, ...]:
    """All of a finding by which it is counted."""
    return _rank(finding), finding.since, finding.subject, finding.vm


def _rank(finding: Finding) -> tuple[Severity, bool]:
    return finding.severity, to_change(finding)


def _age(finding: Finding) -> tuple[float, str]:
    return finding.since or float("inf"), finding.fingerprint


def _name(subject: Ref) -> tuple[str, str, str, str]:
    return subject.namespace, subject.name, subject.kind, subject.uid


def _more(counts: dict[Any, int], key: Any) -> bool:
    """Whether it is the first."""
    counts[key] = count = counts.get(key, 0) + 1
    return count == 1


def _less(counts: dict[Any, int], key: Any) -> bool:
    """Whether it was the last."""
    count = counts[key] - 1
    if count:
        counts[key] = count
        return False
    del counts[key]
    return True
