"""Every check against its case file: what it finds, what it leaves alone, and where it has no answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from exporter.checks import all_checks
from exporter.findings.check import Check
from exporter.findings.finding import Finding
from exporter.store.reader import cluster_of
from tests.all_of import all_of, named, whole
from tests.check_cases import ALL, CASES_OF, CHECKS, outcome
from tests.evaluation import Evaluation, api_kinds, decoded
from tests.rows import full

BY_ID = named(CHECKS, lambda check: check.id)


@all_of(ALL)
def test_case(check: Check, name: str) -> None:
    case, (findings, unknowns) = CASES_OF[check][name], outcome(check, name)

    unknown = {each.partition for each in unknowns}
    if case["finds"] == "unknown":
        assert unknown
        assert not findings
    else:
        subjects = {"VirtualMachine": "", "Pod": "", "IPAMClaim": ""}  # of the steward's own sources: no namespace
        wanted = [
            (f.get("namespace", subjects.get(f["subject"], "ns")), f["subject"], f["reason"], f["severity"])
            for f in case["finds"]
        ]
        found = [(f.subject.namespace, f.subject.name, f.reason, f.severity.value) for f in findings]
        assert sorted(found) == sorted(wanted)
        features = Counter((f["subject"], f["reason"], f["feature"]) for f in case["finds"] if "feature" in f)
        assert not features - Counter((f.subject.name, f.reason, f.feature) for f in findings)
        for row in case["finds"]:
            said = [f.next for f in findings if (f.subject.name, f.reason) == (row["subject"], row["reason"])]
            assert "next" not in row or any(row["next"] in each for each in said), said
        assert unknown == set(case.get("unknown_in", ()))
        for wanted_facts, facts in _evidence(case["finds"], findings):
            assert facts | wanted_facts == facts


def _evidence(
    rows: list[dict[str, Any]], findings: Iterable[Finding]
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """What a case says of the evidence of a finding, and all that the finding has."""
    found = {(f.subject.name, f.reason): dict(f.evidence) for f in findings}
    yield from ((row["evidence"], found[row["subject"], row["reason"]]) for row in rows if "evidence" in row)


@all_of(BY_ID, whole)
def test_every_reason_and_severity_is_tried_and_so_is_quiet(check: Check) -> None:
    cases = CASES_OF[check].values()

    tried = {(f["reason"], f["severity"]) for case in cases if case["finds"] != "unknown" for f in case["finds"]}
    assert tried == {(name, s.value) for name, reason in check.reasons.items() for s in reason.severities}
    assert any(case["finds"] == [] and case["given"] for case in cases)


@all_of((each for each in BY_ID if each.id != "sources"), whole)
def test_every_kind_that_is_not_seen_makes_the_check_unknown(check: Check) -> None:
    for kind in check.reads:
        assert Evaluation([check], [kind.name]).engine.unknowns(), kind


@all_of(ALL, whole)
def test_findings_carry_what_a_user_needs(check: Check, name: str) -> None:
    for finding in outcome(check, name).findings:
        assert finding.message
        assert finding.check == check.id
        assert len(finding.fingerprint) == 16
        assert finding.since is not None
        assert finding.reason in check.reasons


@pytest.mark.parametrize(
    ("case", "loss"),
    [
        ("controller_missed_the_deletion", "its addresses are released when the finalizer is removed"),
        ("claim_deleted_by_hand", "none: it holds no address"),
        ("pod_has_another_address", "an address in use is released when the finalizer is removed"),
        ("finalizer_is_missing_and_vm_lives", "its addresses are released as soon as it is deleted"),
    ],
)
def test_a_finding_on_a_claim_says_what_happens_to_its_addresses(case: str, loss: str) -> None:
    check = next(check for check in all_checks() if check.id == "ipam_claims")
    (finding,) = outcome(check, case).findings
    assert finding.evidence["ipLoss"].startswith(loss)


@all_of(BY_ID, whole)
def test_an_index_holds_only_what_it_is_declared_for(check: Check) -> None:
    cluster, kinds = cluster_of(all_checks()), api_kinds()
    for case in CASES_OF[check].values():
        for row in case["given"]:
            if record := decoded(kinds[row["kind"]], full(row)).record:
                cluster.put(record)
    wrong = {
        (index.id, kind.__name__)
        for each in all_checks()
        for index in each.indexes
        for kind in cluster.kinds()
        if index.of and not issubclass(kind, index.of)
        for record in cluster.all(kind)
        if tuple(cluster.keys_of(index, record))
    }
    assert wrong == set()
