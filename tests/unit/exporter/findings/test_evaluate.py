"""One way to evaluate: four answers, what was read, and that a change concerns only who uses what it altered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
import pytest

from exporter.checks import all_checks
from exporter.engine.affected import everything
from exporter.engine.evaluate import Outcome, evaluate
from exporter.facts.record import Record
from exporter.findings.check import Check
from exporter.findings.fields_read import FIELDS_READ
from exporter.findings.finding import Finding, fingerprint
from exporter.store.cluster import Cluster
from exporter.store.index import ByName, Index
from exporter.store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from exporter.store.reader import Seen, cluster_of
from exporter.store.source import Source, SyncState
from tests.all_of import all_of
from tests.amounts import drawn, part
from tests.check_cases import ALL, CASES_OF, cases_of, evaluated
from tests.evaluation import NOW
from tests.rows import full
from tests.tools.fields_read import FILE, read_by, text

CLAIMS = next(check for check in all_checks() if check.id == "ipam_claims")
ORPHAN = next(
    case
    for case in cases_of(CLAIMS).values()
    if case["finds"] != "unknown" and [finding["reason"] for finding in case["finds"]] == ["OrphanClaim"]
)


def plain(findings: Iterable[Finding], check: Check) -> list[tuple[str, ...]]:
    """Findings as the check yields them, without what the engine adds."""
    return sorted((fingerprint(check.id, f), f.reason, f.severity.value, f.message, f"{f.evidence}") for f in findings)


def past_its_grace(check: Check, finding: Finding) -> bool:
    reason = check.reasons[finding.reason]
    return not reason.lasting if finding.since is None else finding.since + reason.grace <= NOW


# -- four answers


@all_of(ALL)
def test_the_engine_finds_what_evaluating_each_partition_finds(check: Check, name: str) -> None:
    """And that what was read is enough for the same answer, which is what a repair reads again: nothing else in the
    cluster may have had a part in it.
    """
    evaluation = evaluated(check, CASES_OF[check][name])
    cluster = evaluation.engine.cluster
    answers = [evaluate(check, cluster, partition) for partition in everything(check, cluster)]
    found = [finding for answer in answers for finding in answer.findings if past_its_grace(check, finding)]
    assert plain(found, check) == plain(evaluation.engine.findings(), check)
    outcomes = {answer.outcome for answer in answers}
    assert (Outcome.UNKNOWN in outcomes) <= bool(evaluation.engine.unknowns())

    for partition in everything(check, cluster):
        answer = evaluate(check, cluster, partition, seen=Seen())
        if answer.seen is None:
            continue
        again = cluster_of([check])
        for record in (*cluster.all(Source), *answer.seen.objects.values()):
            if record is not None:
                again.put(record)
        assert plain(evaluate(check, again, partition).findings, check) == plain(answer.findings, check)


def test_findings_and_none() -> None:
    cluster = evaluated(CLAIMS, ORPHAN).engine.cluster
    (partition,) = {finding.subject.namespace + "/db" for finding in evaluated(CLAIMS, ORPHAN).engine.findings()}
    assert evaluate(CLAIMS, cluster, partition).outcome is Outcome.FINDINGS
    assert evaluate(CLAIMS, cluster, "ns/nobody").outcome is Outcome.NONE


@pytest.mark.parametrize("state", [SyncState.STARTING, SyncState.BEHIND, SyncState.STALE, SyncState.FORBIDDEN])
def test_what_can_not_be_seen_is_unknown(state: SyncState) -> None:
    evaluation = evaluated(CLAIMS, ORPHAN)
    evaluation.sync_state("Pod", state)
    answer = evaluate(CLAIMS, evaluation.engine.cluster, "ns/db")
    assert answer.outcome is Outcome.UNKNOWN
    assert answer.unknown
    assert answer.findings == ()


def test_a_check_that_raises_is_unknown() -> None:
    def raising(_: object) -> Iterator[Finding]:
        raise KeyError("x")

    check = Check("raising", "Raises", CLAIMS.reads, CLAIMS.scope, {}, raising, CLAIMS.looks_up)
    answer = evaluate(check, evaluated(CLAIMS, ORPHAN).engine.cluster, "ns/db")
    assert (answer.outcome, type(answer.error)) == (Outcome.UNKNOWN, KeyError)
    assert "raised KeyError" in answer.unknown


def test_what_the_cluster_does_not_serve_is_not_applicable_and_comes_back() -> None:
    evaluation = evaluated(CLAIMS, ORPHAN)
    (finding,) = evaluation.engine.findings()
    evaluation.sync_state("IPAMClaim", SyncState.ABSENT)
    evaluation.evaluate()
    answer = evaluate(CLAIMS, evaluation.engine.cluster, "ns/db")
    assert (answer.outcome, answer.not_applicable) == (
        Outcome.NOT_APPLICABLE,
        "the cluster does not serve ipamclaims.k8s.cni.cncf.io",
    )
    assert not list(evaluation.engine.findings())
    assert not evaluation.engine.unknowns()
    assert evaluation.engine.not_applicable() == {"ipam_claims": answer.not_applicable}
    assert evaluation.engine.caught_up
    assert evaluation.engine.ready

    evaluation.sync_state("IPAMClaim", SyncState.LIVE)
    for row in ORPHAN["given"]:  # it is listed anew
        evaluation.seen(full(row))
    evaluation.evaluate()
    assert [each.fingerprint for each in evaluation.engine.findings()] == [finding.fingerprint]
    assert not evaluation.engine.not_applicable()


def test_what_went_with_its_crd_while_nobody_watched_is_not_read_on() -> None:
    evaluation = evaluated(CLAIMS, ORPHAN)
    evaluation.seen(full({"kind": "NetworkAttachmentDefinition", "name": "gone", "network": "other"}))
    evaluation.seen(full({"kind": "NetworkAttachmentDefinition", "name": "unread", "undecodable": True}))
    evaluation.sync_state("NetworkAttachmentDefinition", SyncState.ABSENT)
    evaluation.evaluate()
    assert not list(evaluation.engine.cluster.all(NetworkAttachmentDefinition))
    assert not evaluation.engine.unknowns()
    assert evaluate(CLAIMS, evaluation.engine.cluster, "ns/db").outcome is Outcome.FINDINGS


def test_a_finding_says_why_it_may_be_old() -> None:
    evaluation = evaluated(CLAIMS, ORPHAN)
    (finding,) = evaluation.engine.findings()
    assert evaluation.engine.unknown_of(finding) == ""
    evaluation.sync_state("Pod", SyncState.FORBIDDEN)
    assert evaluation.engine.unknown_of(finding) == "Pod: pods is forbidden"
    evaluation.sync_state("Pod", SyncState.LIVE)
    evaluation.seen(full({"kind": "VirtualMachine", "name": "other", "undecodable": True}))
    assert evaluation.engine.unknown_of(finding).startswith("VirtualMachine ns/other could not be read: ")


# -- what was read


def test_absences_are_among_what_was_read() -> None:
    cluster = evaluated(CLAIMS, ORPHAN).engine.cluster
    answer = evaluate(CLAIMS, cluster, "ns/db", seen=Seen())
    assert isinstance(answer.seen, Seen)
    assert answer.seen.objects["VirtualMachine", "ns", "db"] is None
    assert answer.seen.objects["IPAMClaim", "ns", "db.blue"] is not None
    assert ("vm", "ns/db") in answer.seen.shared


# -- indexes over two hops: a VM names a revision, which names an instancetype, which has a class


class _VM(Record, frozen=True, gc=False):
    revision: str


class _Revision(Record, frozen=True, gc=False):
    of: str


class _Type(Record, frozen=True, gc=False):
    size: str


def _revisions(record: Record, _: ByName) -> Iterable[str]:
    return (f"{record.namespace}/{record.revision}",) if isinstance(record, _VM) else ()


def _types(record: Record, lookup: ByName) -> Iterable[str]:
    found = lookup(_Revision, record.namespace, record.revision) if isinstance(record, _VM) else None
    return (f"/{found.of}",) if isinstance(found, _Revision) else ()


def _sizes(record: Record, lookup: ByName) -> Iterable[str]:
    for key in _types(record, lookup):
        found = lookup(_Type, "", key[1:])
        if isinstance(found, _Type):
            yield found.size


REVISION = Index("revision", _revisions)
TYPE = Index("instancetype", _types, through=((_Revision, REVISION),))
SIZE = Index("size", _sizes, through=((_Revision, REVISION), (_Type, TYPE)))


def test_an_index_is_read_through_two_others_in_any_order() -> None:
    vm = _VM("ns", "db", "u", 1, "r1")
    revision, small = _Revision("ns", "r1", "u", 1, "small"), _Type("", "small", "u", 1, "S")
    for order in ((vm, revision, small), (small, revision, vm), (revision, vm, small), (small, vm, revision)):
        cluster = Cluster([SIZE])
        for record in order:
            cluster.put(record)
        assert list(cluster.sharing(SIZE, "S")) == [vm]

        change = cluster.put(_Type("", "small", "u", 2, "M"))
        assert change is not None
        assert {index.id: set(keys) for index, keys in change.moved.items()} == {"size": {"S", "M"}}
        assert list(cluster.sharing(SIZE, "M")) == [vm]

        cluster.put(_Revision("ns", "r1", "u", 2, "large"))
        assert not list(cluster.keys(SIZE))
        cluster.put(_Type("", "large", "u", 1, "L"))
        assert list(cluster.sharing(SIZE, "L")) == [vm]
        cluster.remove(_Revision, "ns", "r1")
        assert not list(cluster.keys(SIZE))


# -- a change concerns who uses what it altered


def test_which_fields_a_check_reads_is_up_to_date() -> None:
    seen = {check.id: dict(read_by(check)) for check in all_checks() if check.fields_read}
    assert {check: dict(kinds) for check, kinds in FIELDS_READ.items()} == seen, "run `make generate`"
    assert FILE.read_text(encoding="utf-8") == text()


@drawn
@pytest.mark.parametrize("check", [check for check in all_checks() if check.fields_read], ids=lambda check: check.id)
def test_a_change_of_other_fields_evaluates_nothing_again(check: Check) -> None:
    tried = 0
    for case in part(list(CASES_OF[check].values()), 4):
        evaluation = evaluated(check, case)
        engine = evaluation.engine
        for kind in check.fields_read:
            names = FIELDS_READ[check.id][kind.name].split()
            for record in list(engine.cluster.all(kind.record)):
                flags = [
                    name
                    for name in record.__struct_fields__
                    if name not in names and isinstance(getattr(record, name), bool)
                ]
                for name in flags:
                    before = engine.evaluated[check.id].partitions
                    engine.put(msgspec.structs.replace(record, **{name: not getattr(record, name)}))
                    evaluation.evaluate()
                    assert engine.evaluated[check.id].partitions == before
                    tried += 1
    assert tried or not any(
        isinstance(default, bool) for kind in check.fields_read for default in kind.record.__struct_defaults__
    )
