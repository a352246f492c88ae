"""Every check against its case file: what it finds, what it leaves alone, and where it has no answer."""

from __future__ import annotations

import pickle
from collections import Counter
from functools import cache
from typing import Any

import pytest
import yaml

from exporter.checks import all_checks
from exporter.findings.check import PER_FLEET, Check
from exporter.store.source import SyncState
from tests.evaluation import Evaluation
from tests.rows import full
from tests.shared import REPO

CASES = REPO / "tests/checks"
CHECKS = [check for check in all_checks() if check.scope is not PER_FLEET]  # those are tried by test_across.py


@cache
def _loaded(check: str) -> bytes:
    """The file of a check, pickled: each who asks gets its own, and a dozen do."""
    text = (CASES / f"{check}.yaml").read_text(encoding="utf-8")
    return pickle.dumps(yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))


def cases_of(check: Check) -> dict[str, dict[str, Any]]:
    """The cases of a check; the rows under `_always` are in each of them that does not give the same object."""
    loaded: dict[str, Any] = pickle.loads(_loaded(check.id))
    always: list[dict[str, Any]] = loaded.pop("_always", [])
    for case in loaded.values():
        given = {_named(row) for row in case["given"]}
        case["given"] += [row for row in always if _named(row) not in given and row["name"] not in case.get("but", ())]
    return loaded


def _named(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["kind"], row.get("namespace", "ns"), row["name"]


def evaluated(check: Check, case: dict[str, Any]) -> Evaluation:
    evaluation = Evaluation([check], case.get("unsynced", ()))
    for name, sync_state in case.get("sync_state", {}).items():
        evaluation.sync_state(name, SyncState(sync_state))
    for row in case["given"]:
        evaluation.seen(full(row))
    evaluation.evaluate()
    return evaluation


ALL = [pytest.param(check, case, id=f"{check.id}-{name}") for check in CHECKS for name, case in cases_of(check).items()]


@pytest.mark.parametrize(("check", "case"), ALL)
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


@pytest.mark.parametrize(("check", "case"), ALL)
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
