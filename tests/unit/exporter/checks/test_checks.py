"""Every check against its case file: what it finds, what it leaves alone, and where it has no answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from exporter.checks import all_checks
from exporter.findings.check import Check
from tests.all_of import all_of
from tests.check_cases import ALL, CHECKS, cases_of, evaluated
from tests.evaluation import Evaluation
from tests.rows import full


@all_of(ALL)
def test_case(check: Check, case: dict[str, Any]) -> None:
    evaluation = evaluated(check, case)

    unknown = {each.partition for each in evaluation.engine.unknowns()}
    if case["finds"] == "unknown":
        assert unknown
        assert evaluation.found() == []
    else:
        subjects = {"VirtualMachine": "", "Pod": "", "IPAMClaim": ""}  # of the steward's own sources: no namespace
        wanted = [
            (f.get("namespace", subjects.get(f["subject"], "ns")), f["subject"], f["reason"], f["severity"])
            for f in case["finds"]
        ]
        assert evaluation.found() == sorted(wanted)
        features = Counter((f["subject"], f["reason"], f["feature"]) for f in case["finds"] if "feature" in f)
        assert not features - Counter((f.subject.name, f.reason, f.feature) for f in evaluation.engine.findings())
        assert unknown == set(case.get("unknown_in", ()))
        for wanted_facts, facts in _evidence(case["finds"], evaluation):
            assert facts | wanted_facts == facts


def _evidence(rows: list[dict[str, Any]], evaluation: Evaluation) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """What a case says of the evidence of a finding, and all that the finding has."""
    found = {(f.subject.name, f.reason): dict(f.evidence) for f in evaluation.engine.findings()}
    yield from ((row["evidence"], found[row["subject"], row["reason"]]) for row in rows if "evidence" in row)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_every_reason_and_severity_is_tried_and_so_is_quiet(check: Check) -> None:
    cases = cases_of(check).values()

    tried = {(f["reason"], f["severity"]) for case in cases if case["finds"] != "unknown" for f in case["finds"]}
    assert tried == {(name, s.value) for name, reason in check.reasons.items() for s in reason.severities}
    assert any(case["finds"] == [] and case["given"] for case in cases)


@pytest.mark.parametrize("check", [c for c in CHECKS if c.id != "sources"], ids=lambda check: check.id)
def test_every_kind_that_is_not_seen_makes_the_check_unknown(check: Check) -> None:
    for kind in check.reads:
        assert Evaluation([check], [kind.name]).engine.unknowns(), kind


@all_of(ALL)
def test_findings_carry_what_a_user_needs(check: Check, case: dict[str, Any]) -> None:
    for finding in evaluated(check, case).engine.findings():
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
    (finding,) = evaluated(check, cases_of(check)[case]).engine.findings()
    assert finding.evidence["ipLoss"].startswith(loss)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_an_index_holds_only_what_it_is_declared_for(check: Check) -> None:
    evaluation = Evaluation(all_checks())
    for case in cases_of(check).values():
        for row in case["given"]:
            evaluation.seen(full(row))
    cluster = evaluation.engine.cluster
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
