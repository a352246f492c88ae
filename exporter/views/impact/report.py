"""The impact of a change, in the shape that the JSON API and `steward impact -o json` share."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from ...findings import Unknown
from ...model.record import Ref
from ...preview import Difference
from ..findings import FindingReport

__all__ = ["BEFOREHAND", "MOST_UNKNOWN", "TITLES", "Affected", "Impact", "Outcome", "exit_code", "outcome_of"]

MOST_UNKNOWN = 100


class Outcome(StrEnum):
    """What a change means for the subject of a finding, the worst first."""

    BREAKS = "breaks"
    WORSE = "worse"
    SAFE = "safe"
    OTHER = "other"


TITLES = {
    Outcome.BREAKS: "Breaks",
    Outcome.WORSE: "Worse in another way",
    Outcome.SAFE: "Backed by a revision, and safe",
    Outcome.OTHER: "Different, and no worse",
}
BEFOREHAND = (
    "Before you delete it, have KubeVirt copy it for these VMs (VMInstancetypeUnversioned), or let VMs and pools refer "
    "to another one."
)
# Of a VM or pool whose object is gone: none has a copy of it, or one has.
_BREAKING = ("ObjectMissing", "PoolObjectMissing")
_BACKED = ("ObjectGone",)


class Affected(msgspec.Struct, frozen=True, rename="camel"):
    """A finding that `appears`, `goes` or `changes` its severity, as it would be; of one that goes, as it is.
    `severity_before` is empty for one that appears. `when` says when it is felt, where that is known.
    """

    change: str
    outcome: str
    when: str
    severity_before: str
    finding: FindingReport


class Totals(msgspec.Struct, frozen=True, rename="camel"):
    """How many findings of each outcome there are in a namespace; the namespace is empty for cluster-wide subjects."""

    namespace: str
    breaks: int
    worse: int
    safe: int
    other: int


class Impact(msgspec.Struct, frozen=True, rename="camel"):
    """`changes` are the changes in words. `unread` are files of a dump that may hold anything, `unknown` is what no
    check can say, the first of it, and `unknown_in_all` how much that is. `counts` and `namespaces` count all findings,
    by outcome; `left_out` of them are not among `findings`.
    """

    generation: int
    changes: tuple[str, ...]
    counts: dict[str, int]
    namespaces: tuple[Totals, ...]
    findings: tuple[Affected, ...]
    left_out: int
    unread: tuple[Ref, ...]
    unknown: tuple[Unknown, ...]
    unknown_in_all: int


def outcome_of(difference: Difference) -> Outcome:
    reason = difference.finding.reason
    if difference.worse:
        return Outcome.BREAKS if reason in _BREAKING else Outcome.WORSE
    return Outcome.SAFE if reason in _BACKED and difference.before is None else Outcome.OTHER


def exit_code(impact: Impact) -> int:
    """0 if nothing gets worse, 1 if something does; 2 goes before 1: the answer may be incomplete."""
    if impact.unread or impact.unknown_in_all:
        return 2
    return 1 if impact.counts[Outcome.BREAKS] or impact.counts[Outcome.WORSE] else 0
