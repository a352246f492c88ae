"""The impact of a change: the same checks on the changed cluster, and what their answers differ in.

Its shape is that of the JSON API and of `steward impact -o json`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field

import msgspec
from msgspec import UNSET, UnsetType

from ...checks import all_checks
from ...checks.features.feature_mismatch import CHECK
from ...engine.engine import Engine
from ...engine.preview import PreviewedChange, previewed
from ...facts.record import Record, Ref
from ...facts.rules import BY_ID, RULES
from ...findings.check import PER_FLEET
from ...findings.finding import Unknown
from ...store.cluster import Cluster
from ...store.kinds.kube_virt import KubeVirt
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from ...store.source import FILE, Undecodable, unseen
from ..edits import EditProbes
from ..findings import FindingReport, order, supposed
from ..question import in_order
from ..trust import exit_code as ended
from .gates import GateChange, Hit, Users, gates_of, users
from .proposals import ProposedChange
from .who_breaks import SubjectOutcome, answer_of, outcome_of, when

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


# What a change comes to in numbers: VMs that break, each once whatever breaks it, and findings of all else.

# What KubeVirt is set to and nodes lack, by the feature of its finding: whom it concerns.
_GROUND: dict[str, Hit] = {
    "cpu_model_default": lambda vm, requests: (
        not vm.demand.model and all(rule != "obsolete_cpu_models" for rule, _ in requests)
    ),
    "image_volume": lambda _, requests: any(rule == "image_volume" for rule, _ in requests),
    "iommufd": lambda _vm, _requests: True,
    "use_emulation": lambda _vm, _requests: True,
}
_COUNTED_AT_ONCE = 1000

_Key = tuple[str, str, str]


@dataclass
class _Tally:
    broken: set[_Key] = field(default_factory=set)
    others: Counter[SubjectOutcome] = field(default_factory=Counter)

    def __iter__(self) -> Iterator[int]:
        yield len(self.broken)
        yield from (self.others[each] for each in SubjectOutcome if each is not SubjectOutcome.BREAKS)


@dataclass
class Counts:
    """In all, by namespace, and by the feature that it is about. `ground` has whom findings of KubeVirt concern."""

    ground: dict[str, Users]
    all: _Tally = field(default_factory=_Tally)
    namespaces: dict[str, _Tally] = field(default_factory=dict)
    features: dict[str, _Tally] = field(default_factory=dict)

    def take(self, difference: PreviewedChange) -> Generator[None, None, None]:
        finding, outcome = difference.finding, outcome_of(difference)
        named = finding.feature in BY_ID or finding.feature in _GROUND
        of_feature = self.features.setdefault(finding.feature, _Tally()) if named else _Tally()
        if outcome is not SubjectOutcome.BREAKS:
            of_namespace = self.namespaces.setdefault(finding.subject.namespace, _Tally())
            for tally in (self.all, of_namespace, of_feature):
                tally.others[outcome] += 1
            return
        for at, key in enumerate(self._broken(difference)):
            of_namespace = self.namespaces.setdefault(key[1], _Tally())
            for tally in (self.all, of_namespace, of_feature):
                tally.broken.add(key)
            if at % _COUNTED_AT_ONCE == _COUNTED_AT_ONCE - 1:
                yield

    def concerned(self, difference: PreviewedChange) -> Users | None:
        """Of a finding of KubeVirt that breaks VMs, those that are seen; None of any other."""
        finding = difference.finding
        of_kubevirt = finding.subject.kind == KubeVirt.__name__ and outcome_of(difference) is SubjectOutcome.BREAKS
        return self.ground.get(finding.feature) if of_kubevirt else None

    def _broken(self, difference: PreviewedChange) -> Iterable[_Key]:
        """A VM and its VMI are one."""
        found, subject = self.concerned(difference), difference.finding.subject
        if found is not None and found.once:
            return (("VirtualMachine", *key) for key in found.once)
        kind = "VirtualMachine" if subject.kind == VirtualMachineInstance.__name__ else subject.kind
        return ((kind, subject.namespace, subject.name),)


def idle(difference: PreviewedChange, ground: dict[str, Users]) -> bool:
    """Whether it is about container disks, and all VMs are seen and none has one: it says nothing to such a cluster."""
    finding = difference.finding
    if finding.subject.kind != KubeVirt.__name__ or finding.feature != "image_volume":
        return False
    of = ground.get(finding.feature)
    return of is not None and not of.once


def ground_users(cluster: Cluster, differences: Iterable[PreviewedChange]) -> Generator[None, None, dict[str, Users]]:
    """Whom the findings of KubeVirt among them concern, by their features; none while that can't be seen."""
    if unseen(cluster, tuple(kind.record for kind in CHECK.reads)):
        return {}
    features = {each.finding.feature for each in differences if each.finding.subject.kind == KubeVirt.__name__}
    return (yield from users(cluster, {name: hit for name, hit in _GROUND.items() if name in features}))


_SLICE = 100  # findings counted between two looks at the event loop
_REPORTED = 20  # findings, each with its commands filled in


def steps(engine: Engine, proposal: ProposedChange, most: int | None = None) -> Generator[None, None, Impact]:
    """With at most so many findings, the worst first; stops after every few, so that others get their turn."""
    cluster = engine.cluster
    gates, unsaid = yield from gates_of(cluster, proposal.edits)
    preview = yield from previewed(engine.checks, cluster, proposal.edits, engine.settings(), proposal.within)
    ground = yield from ground_users(cluster, preview.differences)
    counts = Counts(ground)
    preview.differences[:] = [each for each in preview.differences if not idle(each, ground)]
    for at, each in enumerate(preview.differences):
        yield from counts.take(each)
        if at % _SLICE == 0:
            yield
    ordered = yield from in_order(preview.differences, _rank)
    in_all = len(ordered)
    preview.differences.clear()
    findings = []
    for at, each in enumerate(ordered[:most]):
        findings.append(_affected(cluster, each, counts.concerned(each)))
        if at % _REPORTED == 0:
            yield
    while ordered:  # what is let go of at once takes its time at once
        del ordered[-_SLICE:]
        yield
    disabled = _disabled(engine, {edit.kind for edit in proposal.edits})
    unread = (Unknown("impact", "", sentence) for sentence in proposal.unread)
    unknown = dict.fromkeys((*disabled, *unsaid, *unread, *preview.unknown))
    return Impact(
        generation=engine.generation,
        changes=proposal.changes,
        beforehand=proposal.beforehand if counts.all.broken else (),
        gates=gates,
        counts={outcome.value: number for outcome, number in zip(SubjectOutcome, counts.all, strict=True)},
        namespaces=tuple(Totals(name, *tally) for name, tally in sorted(counts.namespaces.items())),
        features=tuple(FeatureTotals(name, *tally) for name, tally in sorted(counts.features.items())),
        findings=tuple(findings),
        left_out=in_all - len(findings),
        unread=tuple(sorted(_files(cluster))),
        unknown=tuple(sorted(unknown)[:MOST_UNKNOWN]),
        unknown_in_all=len(unknown),
    )


_OUTCOMES = tuple(SubjectOutcome)


def _rank(difference: PreviewedChange) -> tuple[object, ...]:
    return _OUTCOMES.index(outcome_of(difference)), difference.change, *order(difference.finding)


def concerned(impact: Impact) -> frozenset[str]:
    """The features, by the ids of their rules, that it is about."""
    switched = {gate.name for gate in impact.gates}
    found = {each.feature for each in impact.features if each.feature in BY_ID}
    return frozenset((*found, *(rule.id for rule in RULES if rule.gate in switched)))


def _disabled(engine: Engine, kinds: set[type[Record]]) -> Iterator[Unknown]:
    """What nobody evaluates although it reads what is changed."""
    enabled = {check.id for check in engine.checks}
    for check in all_checks():
        if check.id not in enabled and check.scope is not PER_FLEET and not kinds.isdisjoint(check.reach):
            yield Unknown(check.id, "", "the check is disabled")


def _files(cluster: Cluster) -> Iterator[Ref]:
    return (each.ref for each in cluster.all(Undecodable) if each.kind == FILE)


def _affected(cluster: Cluster, difference: PreviewedChange, of: Users | None) -> Affected:
    before = difference.before
    return Affected(
        difference.change,
        outcome_of(difference).value,
        when(cluster, difference),
        answer_of(difference),
        before.severity.value if before is not None else "",
        supposed(difference.check, difference.finding),
        of.first if of is not None else (),
        len(of.once) if of is not None else None,
    )
