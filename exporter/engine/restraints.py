"""What the open findings forbid to be done to their VMs, kept by each change: few findings forbid anything.

A change and a look cost the same however many findings a VM has: anybody may label thousands of IPAMClaims with its
name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from ..domain.identity import Standing
from ..facts.record import Ref
from ..findings.advice import Advice, key_of, of_standing, places_of, restrained, with_others, with_standing
from ..findings.finding import Finding


class _Several:
    """The forbidding findings of a VM that has more than one, by reason, and by reason and subject."""

    __slots__ = ("_by_reason", "_by_subject")

    def __init__(self) -> None:
        self._by_reason: dict[str, dict[str, Finding]] = {}
        self._by_subject: dict[tuple[str, Ref], dict[str, Finding]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_reason)

    def put(self, finding: Finding) -> None:
        self._by_reason.setdefault(finding.reason, {})[finding.fingerprint] = finding
        self._by_subject.setdefault((finding.reason, finding.subject), {})[finding.fingerprint] = finding

    def remove(self, finding: Finding) -> None:
        of_reason = self._by_reason.get(finding.reason, {})
        kept = of_reason.pop(finding.fingerprint, None)
        if not of_reason:
            self._by_reason.pop(finding.reason, None)
        if kept is not None:
            of_subject = self._by_subject[kept.reason, kept.subject]
            del of_subject[finding.fingerprint]
            if not of_subject:
                del self._by_subject[kept.reason, kept.subject]

    def beside(self, subject: Ref) -> Iterator[Finding]:
        """One of each reason: about the subject, where there is such a one."""
        for reason, some in self._by_reason.items():
            yield next(iter((self._by_subject.get((reason, subject)) or some).values()))


class Restraints:
    """`standing` says of a VMI, by namespace and name, what a stop comes to."""

    def __init__(self, standing: Callable[[str, str], Standing] = lambda _, __: Standing()) -> None:
        self._standing = standing
        self._forbidding: dict[tuple[str, str], Finding | _Several] = {}  # by VM

    def update(self, gone: Iterable[Finding], come: Iterable[Finding]) -> None:
        """Takes in a batch of differences; a changed finding is in both."""
        for finding in gone:
            if _forbids(finding):
                self._remove(finding)
        for finding in come:
            if _forbids(finding):
                self._put(finding)

    def _put(self, finding: Finding) -> None:
        key = key_of(finding)
        there = self._forbidding.get(key)
        if there is None or (isinstance(there, Finding) and there.fingerprint == finding.fingerprint):
            self._forbidding[key] = finding
            return
        if isinstance(there, Finding):
            several = self._forbidding[key] = _Several()
            several.put(there)
            there = several
        there.remove(finding)  # two partitions may have found one, one after another
        there.put(finding)

    def _remove(self, finding: Finding) -> None:
        key = key_of(finding)
        there = self._forbidding.get(key)
        if isinstance(there, _Several):
            there.remove(finding)
        if there is not None and (
            not there if isinstance(there, _Several) else there.fingerprint == finding.fingerprint
        ):
            del self._forbidding[key]

    def applied(self, finding: Finding) -> Finding:
        """The finding with the advice that may be given beside the others of its VM."""
        subject = finding.subject
        if finding.vm:
            finding = with_standing(finding, self._standing(subject.namespace, finding.vm))
        if not finding.does:
            return finding
        return with_others(finding, self._around(key_of(finding), places_of(subject.namespace, finding.node), subject))

    def advice(self, own: Advice, vm: str, node: str = "") -> Advice:
        """An advice about this VM as it may be given beside the findings of it, and of the place where it is."""
        namespace = own.subject.namespace
        own = of_standing(own, self._standing(namespace, vm))
        if not own.does:
            return own
        return restrained(own, self._around((namespace, vm), places_of(namespace, node), own.subject))

    def of(self, namespace: str, vm: str, node: str = "", nads: Iterable[str] = ()) -> Iterable[Finding]:
        """The findings on this VM, and on where it is, that forbid something to be done to it: of each reason one."""
        subject = Ref("VirtualMachine", namespace, vm, "")
        return self._around((namespace, vm), places_of(namespace, node, nads), subject)

    def _around(self, key: tuple[str, str], places: Iterable[tuple[str, str]], subject: Ref) -> Iterable[Finding]:
        """Each finding once: a key may be that of a place, too."""
        return chain.from_iterable(self._beside(each, subject) for each in dict.fromkeys((key, *places)))

    def _beside(self, key: tuple[str, str], subject: Ref) -> Iterable[Finding]:
        there = self._forbidding.get(key)
        if isinstance(there, _Several):
            return there.beside(subject)
        return (there,) if there is not None else ()


def _forbids(finding: Finding) -> bool:
    return finding.forbids is not None and bool(finding.forbids.acts)
