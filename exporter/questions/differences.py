"""What two reports differ in: which findings came, went, or became better or worse, and which nobody can tell of.

A finding that the later one lacks is gone only where its check has an answer for its place there, and one that the
earlier one lacks is new only where its check had one then.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from ..findings.finding import Unknown
from ..findings.severity import Severity
from .findings import FindingReport, Report


class FindingChange(StrEnum):
    NEW = "new"
    WORSE = "worse"
    BETTER = "better"
    GONE = "gone"
    UNKNOWN = "unknown"  # in one of both its check has no answer for its place


class Difference(msgspec.Struct, frozen=True, rename="camel"):
    """`finding` is as it is in the later report, or was in the earlier one. `before` is its severity there, empty where
    it was not found. `why` says why nobody can tell.
    """

    change: FindingChange
    finding: FindingReport
    before: str
    why: str = ""


class Differences(msgspec.Struct, frozen=True, rename="camel"):
    """`same` counts the findings that both have alike; `unanswered` are the ids of checks that answer in one alone."""

    differences: tuple[Difference, ...]
    same: int
    unanswered: tuple[str, ...]


def differences(before: Report, after: Report) -> Differences:
    """The new and the worse first, each in the order of its report."""
    old = {_key(each): each for each in before.findings}
    new = {_key(each): each for each in after.findings}
    found: list[Difference] = []
    for key, finding in new.items():
        earlier = old.get(key)
        if earlier is None:
            found.append(_appeared(finding, _why(finding, before.unknown)))
        elif earlier.severity != finding.severity:
            worse = Severity(finding.severity).rank > Severity(earlier.severity).rank
            found.append(Difference(FindingChange.WORSE if worse else FindingChange.BETTER, finding, earlier.severity))
    for key, finding in old.items():
        if key not in new:
            why = _why(finding, after.unknown)
            found.append(
                Difference(FindingChange.UNKNOWN if why else FindingChange.GONE, finding, finding.severity, why)
            )
    order = list(FindingChange)
    same = sum(1 for key, each in new.items() if key in old and old[key].severity == each.severity)
    silent = {each.check for each in before.unknown} ^ {each.check for each in after.unknown}
    return Differences(tuple(sorted(found, key=lambda each: order.index(each.change))), same, tuple(sorted(silent)))


def _key(finding: FindingReport) -> tuple[str, str]:
    return finding.cluster, finding.fingerprint


def _appeared(finding: FindingReport, why: str) -> Difference:
    return Difference(FindingChange.UNKNOWN if why else FindingChange.NEW, finding, "", why)


def _why(finding: FindingReport, unknown: Iterable[Unknown]) -> str:
    """Why its check has no answer for its place in the other report; empty where it has one."""
    for each in unknown:
        if each.check == finding.check and each.cluster == finding.cluster and _reaches(each.partition, finding):
            return each.why
    return ""


def _reaches(partition: str, finding: FindingReport) -> bool:
    """A partition that is no namespace of the finding may still be one that it counts in, such as its network."""
    place = finding.subject.namespace
    return not partition or not place or partition.partition("/")[0] == place or partition in _counts_in(finding)


def _counts_in(finding: FindingReport) -> tuple[str, ...]:
    return finding.network, finding.node, finding.group, *(each.namespace for each in finding.related)
