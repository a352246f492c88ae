"""The impact of a change, in the shape that the JSON API and `steward impact -o json` share."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from ...facts.record import Ref
from ...findings.finding import Unknown
from ..edits import EditProbes
from ..findings import FindingReport
from ..trust import exit_code as ended
from .gates import GateChange
from .who_breaks import SubjectOutcome

MOST_UNKNOWN = 100


class Affected(msgspec.Struct, frozen=True, rename="camel"):
    """A finding that `appears`, `goes` or `changes` its severity, as it would be; of one that goes, as it is.
    `severity_before` is empty for one that appears. `when` says when it is felt and `answer` what KubeVirt says then,
    where that is known. Of what concerns the whole cluster `vms` are a few of the VMs that break by it, and
    `vms_in_all` says how many do; None of any other, and while they can't be seen.
    """

    change: str
    outcome: str
    when: str
    answer: str
    severity_before: str
    finding: FindingReport
    vms: tuple[Ref, ...] = ()
    vms_in_all: int | None = None


class Totals(msgspec.Struct, frozen=True, rename="camel"):
    """As `Impact.counts`, of a namespace; empty for cluster-wide subjects."""

    namespace: str
    breaks: int
    worse: int
    safe: int
    other: int


class FeatureTotals(msgspec.Struct, frozen=True, rename="camel"):
    """The same of a feature."""

    feature: str
    breaks: int
    worse: int
    safe: int
    other: int


class Impact(msgspec.Struct, frozen=True, rename="camel"):
    """`changes` are the changes in words, `beforehand` what to do before where something breaks, and `gates` the
    feature gates that are switched by them. `unread` are files of a dump that may hold anything, `unknown` is what no
    check can say, the first of it, and `unknown_in_all` how much that is. `counts`, `namespaces` and `features` count
    by outcome: what `breaks` by VMs and other objects, each once, and the rest by findings; `left_out` findings are not
    among `findings`. `probes` is there where the API server was
    asked too.
    """

    generation: int
    changes: tuple[str, ...]
    beforehand: tuple[str, ...]
    gates: tuple[GateChange, ...]
    counts: dict[str, int]
    namespaces: tuple[Totals, ...]
    features: tuple[FeatureTotals, ...]
    findings: tuple[Affected, ...]
    left_out: int
    unread: tuple[Ref, ...]
    unknown: tuple[Unknown, ...]
    unknown_in_all: int
    probes: EditProbes | UnsetType = UNSET


def exit_code(impact: Impact, *, whole: bool = True) -> int:
    """0 if nothing gets worse, 1 if something does, 2 where the answer may be incomplete: it is not `whole`."""
    worse = impact.counts[SubjectOutcome.BREAKS] or impact.counts[SubjectOutcome.WORSE]
    return ended(found=bool(worse), unknown=bool(impact.unread or impact.unknown_in_all) or not whole)
