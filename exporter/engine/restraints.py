"""What the open findings forbid to be done to their VMs, kept by each change: few findings forbid anything."""

from __future__ import annotations

from collections.abc import Iterable

from ..findings.beside import key_of, with_others
from ..findings.finding import Finding

__all__ = ["Restraints"]


class Restraints:
    def __init__(self) -> None:
        self._forbidding: dict[tuple[str, str], tuple[Finding, ...]] = {}  # by VM

    def update(self, gone: Iterable[Finding], come: Iterable[Finding]) -> None:
        """Takes in a batch of differences; a changed finding is in both."""
        for finding in gone:
            if _forbids(finding):
                self._remove(finding)
        for finding in come:
            if _forbids(finding):
                self._remove(finding)  # two partitions may have found one, one after another
                self._forbidding[key_of(finding)] = (*self._forbidding.get(key_of(finding), ()), finding)

    def _remove(self, finding: Finding) -> None:
        key = key_of(finding)
        left = tuple(each for each in self._forbidding.get(key, ()) if each.fingerprint != finding.fingerprint)
        if left:
            self._forbidding[key] = left
        else:
            self._forbidding.pop(key, None)

    def applied(self, finding: Finding) -> Finding:
        """The finding with the advice that may be given beside the others of its VM."""
        if not finding.does:
            return finding
        return with_others(finding, self._forbidding.get(key_of(finding), ()))


def _forbids(finding: Finding) -> bool:
    return finding.forbids is not None and bool(finding.forbids.acts)
