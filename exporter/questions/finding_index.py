"""The open findings by what a page or a question asks for, kept by each change: none looks through all for a few."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from ..engine.engine import Engine
from ..engine.open_cause import SortedKeys
from ..facts.record import Ref
from ..findings.finding import Finding
from .selection import AGES, FACETS, Counts, value_of

_Object = tuple[str, str, str]  # kind, namespace, name
_OF_VM = ""  # in place of a kind: all findings of the VM of that name
_KEPT = tuple(name for name in FACETS if name != "since")


class FindingIndex:
    def __init__(self, engine: Engine) -> None:
        self._findings: dict[str, Finding] = {}  # by fingerprint
        self._about: dict[_Object, Finding | dict[str, Finding]] = {}  # most objects have one
        self._counts: Counts = {name: Counter() for name in _KEPT}
        self._ages: SortedKeys[tuple[float, str]] = SortedKeys()
        self._publish((), engine.findings())
        engine.listen(self._publish)

    def __len__(self) -> int:
        return len(self._findings)

    def get(self, fingerprint: str) -> Finding | None:
        return self._findings.get(fingerprint)

    def about(self, ref: Ref) -> list[Finding]:
        """Those whose subject it is."""
        return self._of((ref.kind, ref.namespace, ref.name))

    def of_vm(self, namespace: str, name: str) -> list[Finding]:
        """Those about one VM, whichever of its objects is the subject."""
        return self._of((_OF_VM, namespace, name))

    def severities(self) -> Counter[str]:
        """How many findings there are of each severity."""
        return self._counts["severity"]

    def counts(self, moment: float) -> Counts:
        """How many findings have each value, by facet; `moment` is in seconds since 1970."""
        since: Counter[str] = Counter()
        left = len(self)
        for name, most in AGES.items():
            older = self._ages.below((moment - most, "~")) if most != float("inf") else 0
            since[name], left = left - older, older
        return {**{name: +counter for name, counter in self._counts.items()}, "since": +since}

    def _of(self, key: _Object) -> list[Finding]:
        found = self._about.get(key, {})
        return list(found.values()) if isinstance(found, dict) else [found]

    def _publish(self, gone: Iterable[Finding], come: Iterable[Finding]) -> None:
        for finding in gone:
            self._remove(finding.fingerprint)
        for finding in come:
            self._remove(finding.fingerprint)  # two partitions may have found one, one after another
            self._findings[finding.fingerprint] = finding
            self._ages.add(_age(finding))
            for name, value in _values(finding):
                self._counts[name][value] += 1
            for key in _keys(finding):
                self._put(key, finding)

    def _put(self, key: _Object, finding: Finding) -> None:
        there = self._about.get(key)
        if there is None:
            self._about[key] = finding
        elif isinstance(there, dict):
            there[finding.fingerprint] = finding
        else:
            self._about[key] = {there.fingerprint: there, finding.fingerprint: finding}

    def _remove(self, fingerprint: str) -> None:
        finding = self._findings.pop(fingerprint, None)
        if finding is None:
            return
        self._ages.remove(_age(finding))
        for name, value in _values(finding):
            self._counts[name][value] -= 1
            if not self._counts[name][value]:
                del self._counts[name][value]
        for key in _keys(finding):
            there = self._about[key]
            if isinstance(there, dict):
                del there[fingerprint]
            if not isinstance(there, dict) or not there:
                del self._about[key]


def _age(finding: Finding) -> tuple[float, str]:
    return finding.since or 0.0, finding.fingerprint


def _values(finding: Finding) -> Iterator[tuple[str, str]]:
    return ((name, value) for name in _KEPT if (value := value_of(finding, name, 0.0)))


def _keys(finding: Finding) -> Iterator[_Object]:
    subject = finding.subject
    yield subject.kind, subject.namespace, subject.name
    if finding.vm:
        yield _OF_VM, subject.namespace, finding.vm
