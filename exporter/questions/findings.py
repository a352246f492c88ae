"""One picture of what is known, in the shape that the JSON API and `steward check -o json` share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from ..checks import cause_of, reason_of
from ..domain.acts import Act, acts_of
from ..domain.features.configuration import chosen
from ..domain.features.indexes import PLACE, thing_of
from ..engine.engine import Engine
from ..facts.record import Record, Ref
from ..findings.advice import advised
from ..findings.causes import Cause
from ..findings.check import Check
from ..findings.finding import Finding, Unknown, fingerprint, keeps, to_change
from ..findings.severity import Severity
from ..sidecar import ReportedRepair
from ..store.cluster import Cluster
from ..store.kinds.kube_virt import KubeVirt
from ..store.kinds.virtual_machine import VirtualMachine
from ..store.source import Source, SyncState, Undecodable, unseen
from .causes import CauseReport, HistoryReport, cause_order, causes_of
from .edits import EditProbes
from .repairs import Reconcile
from .times import rfc3339

# How many VMs there are, and whether what is known of the cluster is current.

_WITHOUT_CONNECTION = (SyncState.STARTING, SyncState.BEHIND, SyncState.STALE, SyncState.FAILING)


class FleetSummary(msgspec.Struct, frozen=True, rename="camel"):
    """`virtual_machines` is None where they can't be seen.

    `out_of_date_since` is RFC 3339 in UTC: since when the kind that is longest without a connection has none; empty
    while all have one. Kinds that may not be listed or are not served are not meant: without them the checks that read
    them are unknown, or not applicable. `kubevirt_version` is the observed one; empty where it is not known.
    """

    virtual_machines: int | None
    out_of_date_since: str
    kubevirt_version: str = ""


NO_FLEET = FleetSummary(0, "")
UNSEEN_FLEET = FleetSummary(None, "")


def fleet_of(cluster: Cluster) -> FleetSummary:
    vms = None if unseen(cluster, (VirtualMachine,)) else cluster.count(VirtualMachine)
    since = (each.since for each in cluster.all(Source) if each.sync_state in _WITHOUT_CONNECTION)
    kubevirt = chosen(cluster.all(KubeVirt))
    version = "" if isinstance(kubevirt, str) else kubevirt.version
    return FleetSummary(vms, rfc3339(min(since, default=None)), version)


def fleet_of_all(fleets: Iterable[FleetSummary]) -> FleetSummary:
    """That of several clusters together."""
    every = tuple(fleets)
    return FleetSummary(
        _sum(each.virtual_machines for each in every),
        min((each.out_of_date_since for each in every if each.out_of_date_since), default=""),
    )


def _sum(numbers: Iterable[int | None]) -> int | None:
    total = 0
    for each in numbers:
        if each is None:
            return None
        total += each
    return total


class Filter(msgspec.Struct, frozen=True):
    """Which findings are wanted: for each field one of its values, or any where it names none."""

    check: frozenset[str] = frozenset()
    reason: frozenset[str] = frozenset()
    severity: frozenset[str] = frozenset()
    kind: frozenset[str] = frozenset()
    namespace: frozenset[str] = frozenset()
    name: frozenset[str] = frozenset()
    node: frozenset[str] = frozenset()
    network: frozenset[str] = frozenset()
    feature: frozenset[str] = frozenset()

    def wants(self, finding: Finding) -> bool:
        return all(
            field_of(finding, name) in wanted
            for name, wanted in zip(self.__struct_fields__, msgspec.structs.astuple(self), strict=True)
            if wanted
        )


def field_of(finding: Finding, name: str) -> str:
    """What a filter of this name looks at."""
    if name in ("kind", "namespace", "name"):
        return str(getattr(finding.subject, name))
    return finding.severity.value if name == "severity" else str(getattr(finding, name))


class FindingReport(msgspec.Struct, frozen=True, rename="camel"):
    """A finding as users get it; `since` is RFC 3339 in UTC. `cluster` is the name of the dump, where it has one.

    `repairs` is what the sidecar says of it; absent where none is asked.
    """

    check: str
    reason: str
    severity: str
    subject: Ref
    related: tuple[Ref, ...]
    vm: str
    node: str
    feature: str
    network: str
    since: str
    since_source: str
    message: str
    evidence: dict[str, Any]
    group: str
    fingerprint: str
    cause: str
    next: str
    commands: tuple[str, ...]
    runbook: str
    unknown: str
    remediation: str | None
    cluster: str = ""
    repairs: tuple[ReportedRepair, ...] | UnsetType = UNSET


class SourceReport(msgspec.Struct, frozen=True, rename="camel"):
    kind: str
    resource: str
    state: str
    synced: bool
    since: str
    why: str
    objects: int
    cluster: str = ""


class UndecodableReport(msgspec.Struct, frozen=True, rename="camel"):
    kind: str
    namespace: str
    name: str
    uid: str
    why: str
    since: str
    cluster: str = ""


class NotApplicable(msgspec.Struct, frozen=True, rename="camel"):
    """A check whose subject the cluster does not serve."""

    check: str
    why: str
    cluster: str = ""


class Report(msgspec.Struct, frozen=True, rename="camel"):
    """`ready` is whether everything was evaluated once: before that, what has no finding may still get one."""

    generation: int
    findings: list[FindingReport]
    unknown: list[Unknown]
    sources: list[SourceReport]
    undecodable: list[UndecodableReport]
    not_applicable: list[NotApplicable] = []
    ready: bool = True
    fleet: FleetSummary = NO_FLEET
    reconcile: Reconcile | UnsetType = UNSET
    probes: EditProbes | UnsetType = UNSET
    causes: list[CauseReport] | UnsetType = UNSET
    history: HistoryReport | UnsetType = UNSET


def take(engine: Engine, wanted: Filter | None = None, cluster: str = "") -> Report:
    """The worst findings first, then by namespace and name. `cluster` is what the cluster is called in all of it."""
    chosen = [finding for finding in engine.findings() if wanted is None or wanted.wants(finding)]
    shown = engine.restraints.applied
    findings = [reported(shown(each), cluster, engine.unknown_of(each)) for each in sorted(chosen, key=order)]
    return msgspec.structs.replace(surroundings(engine, cluster), findings=findings)


def with_causes(report: Report, engine: Engine, cluster: str = "") -> Report:
    """With the causes of the findings that are in it."""
    chosen = {finding.fingerprint for finding in report.findings}
    findings = (finding for finding in engine.findings() if finding.fingerprint in chosen)
    return msgspec.structs.replace(
        report, causes=causes_of(findings, engine.checks, cluster, engine.restraints.applied, engine.known)
    )


def surroundings(engine: Engine, cluster: str = "") -> Report:
    """All but the findings."""
    return Report(
        engine.generation,
        [],
        list(dict.fromkeys(_placed(each, cluster) for each in engine.unknowns())),
        [_source(engine, each, cluster) for each in sorted(engine.cluster.all(Source), key=_by_name)],
        [undecodable_report(each, cluster) for each in sorted(engine.cluster.all(Undecodable), key=_by_name)],
        [NotApplicable(check, why, cluster) for check, why in sorted(engine.not_applicable().items())],
        engine.ready,
        fleet_of(engine.cluster),
    )


def _placed(unknown: Unknown, cluster: str) -> Unknown:
    """With a place that a user knows: what VMs ask of their nodes is evaluated in parts."""
    thing = thing_of(unknown.partition)
    place = "all that some VMs ask of their node" if thing.startswith(PLACE) else thing or unknown.partition
    return msgspec.structs.replace(unknown, partition=place, cluster=cluster)


def merged(reports: Iterable[Report]) -> Report:
    """One report of several clusters: the worst findings first, then by cluster, namespace and name."""
    every = tuple(reports)
    findings = [finding for report in every for finding in report.findings]
    return Report(
        sum(report.generation for report in every),
        sorted(findings, key=lambda each: (-Severity(each.severity).rank, each.cluster, order(each)[1:])),
        [unknown for report in every for unknown in report.unknown],
        [source for report in every for source in report.sources],
        [undecodable for report in every for undecodable in report.undecodable],
        [each for report in every for each in report.not_applicable],
        all(report.ready for report in every),
        fleet_of_all(report.fleet for report in every),
        causes=sorted((cause for report in every for cause in report.causes or ()), key=cause_order),
    )


def order(finding: Finding | FindingReport) -> tuple[int, str, str, str, str]:
    """The worst first, then by namespace and name."""
    subject = finding.subject
    rank = Severity(finding.severity).rank
    return -rank, subject.namespace, subject.name, finding.reason, finding.fingerprint


AnyFinding = TypeVar("AnyFinding", Finding, FindingReport)


def near(finding: AnyFinding, every: Iterable[AnyFinding]) -> list[AnyFinding]:
    """The other findings of its VM and of the objects that it names. A node's include those of the VMs there, and a
    VM's those of its node.
    """
    named = {(each.kind, each.namespace, each.name) for each in finding.related}
    namespace, vm, node = finding.subject.namespace, finding.vm, finding.node
    of_node = finding.subject.kind == "Node"
    found = []
    for each in every:
        subject = each.subject
        if (
            (subject.kind, subject.namespace, subject.name) in named
            or (vm and each.vm == vm and subject.namespace == namespace)
            or (node and each.node == node and (of_node or subject.kind == "Node"))
        ):
            found.append(each)
    return [each for each in found if each.fingerprint != finding.fingerprint and each.cluster == finding.cluster]


def worst(findings: Iterable[FindingReport]) -> FindingReport:
    """Whose advice is that of all, which have one cause; the first of those that are alike."""
    return max(findings, key=lambda each: (Severity(each.severity).rank, to_change(each)))


def _by_name(record: Record) -> tuple[str, str]:
    return record.namespace, record.name


def reported(
    finding: Finding, cluster: str = "", unknown: str = "", repairs: tuple[ReportedRepair, ...] | UnsetType = UNSET
) -> FindingReport:
    return FindingReport(
        finding.check,
        finding.reason,
        finding.severity.value,
        finding.subject,
        finding.related,
        finding.vm,
        finding.node,
        finding.feature,
        finding.network,
        rfc3339(finding.since),
        finding.since_source.value,
        finding.message,
        dict(finding.evidence),
        finding.group,
        finding.fingerprint,
        finding.cause,
        finding.next,
        (*finding.commands, *_with_runbook(finding)),
        finding.runbook,
        unknown or finding.unknown,
        finding.remediation,
        cluster or finding.cluster,
        repairs,
    )


def _with_runbook(finding: Finding) -> tuple[str, ...]:
    """What prints the runbook to which its next step refers, with the finding's names, wherever the finding is from."""
    return (f"steward explain --runbook {finding.fingerprint}",) if "the runbook" in finding.next else ()


def supposed(check: Check, finding: Finding) -> FindingReport:
    """A finding that a check makes and that is not open, as it would be."""
    whole = msgspec.structs.replace(
        finding, check=check.id, fingerprint=fingerprint(check.id, finding), cause=check.cause_id(finding)
    )
    return reported(advised(whole, check.reasons[finding.reason]))


def _source(engine: Engine, source: Source, cluster: str) -> SourceReport:
    record = next((each for each in engine.cluster.kinds() if each.__name__ == source.name), None)
    count = engine.cluster.count(record) if record else 0
    state = source.sync_state.value
    since = rfc3339(source.since)
    return SourceReport(source.name, source.resource, state, source.readable, since, source.why, count, cluster)


def undecodable_report(undecodable: Undecodable, cluster: str = "") -> UndecodableReport:
    since = rfc3339(undecodable.first_seen)
    return UndecodableReport(
        undecodable.kind,
        undecodable.namespace,
        undecodable.object_name,
        undecodable.uid,
        undecodable.why,
        since,
        cluster,
    )


def advice(finding: FindingReport) -> tuple[str, ...]:
    """What to do, as lines of text: the next step, its commands, the runbook."""
    return tuple(line for line in (finding.next, *finding.commands, finding.runbook) if line)


_LABELS = ("vm", "node", "network", "feature", "reason", "group", "fingerprint")


def names_for_runbook(finding: FindingReport, kubevirt: Ref | None = None) -> dict[str, str]:
    """What fills in the runbook of a finding: the labels that its alert has, and other names that runbooks ask for.

    Of one of several with one value, none of its own if the runbook changes another one, or it isn't known which one.
    What has no name is left out, except for the feature: an alert of none has that label, empty.
    """
    subject = finding.subject
    texts = {key: value for key, value in finding.evidence.items() if isinstance(value, str)}
    shared = {label: getattr(finding, label) for label in _LABELS}
    if keeps(finding) or _acts_left_out(finding):
        return _named({label: shared[label] for label in ("network", "feature", "reason", "group")})
    named = shared | {
        "namespace": subject.namespace,
        "name": subject.name,
        "kind": subject.kind,
        "group": finding.group or texts.get("role", ""),
        "vm name": finding.vm or texts.get("vmName", ""),
        "namespace of the object": subject.namespace,
        "name of the object": subject.name,
        "kubevirt namespace": kubevirt.namespace if kubevirt else "",
        "kubevirt name": kubevirt.name if kubevirt else "",
        **{name: texts.get(name, "") for name in ("container", "device", "pdb")},
    }
    return _named(named)


def _named(names: Mapping[str, str]) -> dict[str, str]:
    return {of: name for of, name in names.items() if name or of == "feature"}


def _acts_left_out(finding: FindingReport) -> bool:
    """Whether it is one of several with one value, and has none of the commands by which its reason does something to a
    VM, because it isn't known to which one.
    """
    reason = reason_of(finding.check, finding.reason)
    if reason is None or cause_of(finding.check, finding.reason) is not Cause.GROUP or to_change(finding):
        return False
    return bool(_acts(reason.commands)) and not _acts(finding.commands)


def _acts(commands: Iterable[str]) -> list[Act]:
    return [act for each in commands for act in acts_of(each)]


def plan_command(finding: FindingReport) -> str:
    """Shows what the sidecar would do about a finding."""
    return f"steward reconcile plan {finding.fingerprint}"
