"""Puts the report together, in slices.

Pure: the counts come from `FeatureUsage`, so that the VMs are walked over only for the first names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from heapq import nsmallest

import msgspec

from ...counts.features import PHASES, FeatureUsage
from ...domain.features.configuration import Effective, chosen, forecast
from ...facts.naming import NAMED
from ...facts.record import Ref
from ...facts.rules import BY_ID, OF_NETWORKS, RULES
from ...findings.finding import Finding
from ...store.cluster import Cluster
from ...store.kinds.controller_revision import ControllerRevision
from ...store.kinds.instancetypes import INSTANCETYPES
from ...store.kinds.kube_virt import KubeVirt
from ...store.kinds.storage import StorageClass
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from ...store.reader import Reading
from ...store.source import FILE, UNREADABLE, Undecodable, not_served, unseen
from ..nearest import meant, shortened
from ..question import NotThereError
from .report import Features
from .rows import FeatureCounts, FeatureFindings, Grounds, Values, feature_row, first_by_rule, gate_rows, values_by_rule

READER = Reading(
    "features",
    (
        VirtualMachine.KIND,
        VirtualMachineInstance.KIND,
        *INSTANCETYPES,
        ControllerRevision.KIND,
        StorageClass.KIND,
        KubeVirt.KIND,
    ),
    (*FeatureUsage.INDEXES, UNREADABLE),
    requires=(VirtualMachine.KIND, KubeVirt.KIND),
)
_SLICE = 500  # findings looked at between two looks at the event loop
_ASKING = tuple(kind.__name__ for kind in FeatureUsage.KINDS)


def steps(
    cluster: Cluster, usage: FeatureUsage, findings: Iterable[Finding], generation: int
) -> Generator[None, None, Features]:
    """What is asked for and not allowed first; stops after each few milliseconds, so that others get their turn. What
    changed since `usage` was last settled is not counted yet.
    """
    if absent := not_served(cluster, READER.requires):
        return Features(generation, (), absent, "", None, "", "", "", True, (), ())
    blind = unseen(cluster, FeatureUsage.KINDS)
    kubevirt, now, after = _configurations(cluster)
    grounds = Grounds.of(now, _storage(cluster))
    next_grounds = Grounds.of(after, grounds.storage) if after is not None else None
    asked = (yield from _asked(cluster, usage)) if not blind else FeatureCounts(None, {}, {})
    found = yield from _found(findings)
    rows = []
    for rule in RULES:
        rows.append((yield from feature_row(rule, grounds, next_grounds, asked, found)))
        yield
    return Features(
        generation=generation,
        unseen=blind,
        not_applicable="",
        unknown=now if isinstance(now, str) else "",
        kubevirt=kubevirt.ref if kubevirt is not None else None,
        version=kubevirt.version if kubevirt is not None else "",
        taken_as=_taken_as(kubevirt, now),
        target=kubevirt.target if kubevirt is not None and kubevirt.upgrading else "",
        complete=not blind and not any(cluster.first(UNREADABLE, kind) for kind in (*_ASKING, FILE)),
        features=tuple(sorted(rows, key=lambda each: (not each.unallowed, not each.asked, each.feature))),
        gates=gate_rows(now, after, found),
    )


def _configurations(cluster: Cluster) -> tuple[KubeVirt | None, Effective | str, Effective | None]:
    """The object that counts, and what it allows now and after the upgrade; or why nobody knows."""
    if unseen(cluster, (KubeVirt,)):
        return None, "KubeVirt can't be listed", None
    unread = cluster.first(UNREADABLE, KubeVirt.__name__)
    if isinstance(unread, Undecodable):
        return None, unread.sentence, None
    kubevirt = chosen(cluster.all(KubeVirt))
    if isinstance(kubevirt, str):
        return None, kubevirt, None
    return kubevirt, Effective.of(kubevirt), forecast(kubevirt)


def _taken_as(kubevirt: KubeVirt | None, now: Effective | str) -> str:
    """Empty where it is a release as upstream builds it; without the patch where the version does not say that."""
    if kubevirt is None or isinstance(now, str):
        return ""
    if kubevirt.own:
        return ""
    return now.version.tag if kubevirt.patch != (0, 0, 0) else now.version.tag.removesuffix(".0")


def _storage(cluster: Cluster) -> tuple[StorageClass, ...] | None:
    """None while they can't be seen."""
    blind = unseen(cluster, (StorageClass,)) or cluster.first(UNREADABLE, StorageClass.__name__)
    return None if blind else tuple(sorted(cluster.all(StorageClass), key=lambda each: each.ref))


def _asked(cluster: Cluster, usage: FeatureUsage) -> Generator[None, None, FeatureCounts]:
    values: Values = yield from values_by_rule(usage)
    first = yield from first_by_rule(cluster, usage)
    counts = {
        rule.id: {kind: {each: usage.count(rule.id, kind, each) for each in phases} for kind, phases in PHASES.items()}
        for rule in RULES
    }
    return FeatureCounts(counts, values, first)


def _found(findings: Iterable[Finding]) -> Generator[None, None, FeatureFindings]:
    """Open findings by what they are about: a feature or a gate."""
    reasons: dict[str, Counter[str]] = {}
    subjects: dict[str, set[Ref]] = {}
    for at, finding in enumerate(findings):
        if finding.feature:
            reasons.setdefault(finding.feature, Counter())[finding.reason] += 1
            some = subjects.setdefault(finding.feature, set())
            some.add(finding.subject)
            if len(some) > _SLICE:
                subjects[finding.feature] = set(nsmallest(NAMED, some))
        if at % _SLICE == 0:
            yield
    return FeatureFindings(reasons, {feature: tuple(nsmallest(NAMED, some)) for feature, some in subjects.items()})


# What is left of the report for who asks for a part of it.


def selected(found: Features, names: Sequence[str] = (), *, unallowed: bool = False) -> Features:
    """The features and gates of the names, with the gates that decide the features and the other way round; all for
    none. With `unallowed` only what somebody asks for without being allowed to, or has findings, or changes.

    Raises NotThereError.
    """
    features, gates = found.features, found.gates
    if names:
        known = {*BY_ID, *(each.gate for each in gates), *(gate for each in features for gate in each.decided_by)}
        for name in names:
            if name not in known and not found.unknown:
                there = meant(name, known, "features")
                raise NotThereError(f"no feature or feature gate is called {shortened(name)}; {there}")
        wanted = frozenset(names)
        features = tuple(each for each in features if each.feature in wanted or wanted.intersection(each.decided_by))
        deciding = {gate for each in features if each.feature in wanted for gate in each.decided_by}
        deciding |= {
            rule.gate for rule in OF_NETWORKS if rule.id in wanted
        }  # no spec shows who asks, and it has no row
        gates = tuple(each for each in gates if each.gate in wanted | deciding)
    if unallowed:
        features = tuple(each for each in features if each.unallowed)
        gates = tuple(each for each in gates if each.findings or each.changes)
    return msgspec.structs.replace(found, features=features, gates=gates)
