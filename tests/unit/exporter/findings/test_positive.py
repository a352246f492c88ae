"""What a check concludes from what is there is found where another kind can't be seen, and nothing else is."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import cycle
from typing import Any

import pytest

from exporter.engine.affected import everything
from exporter.engine.evaluate import Outcome, evaluate
from exporter.facts.record import epoch
from exporter.findings.check import Check
from exporter.findings.finding import fingerprint
from exporter.findings.severity import Severity
from exporter.store.kind import ApiKind
from exporter.store.source import SyncState
from tests.amounts import drawn, part
from tests.check_cases import CASES_OF, CHECKS
from tests.evaluation import Evaluation
from tests.rows import full

CLAIMS = next(check for check in CHECKS if check.id == "ipam_claims")
TWICE: list[dict[str, Any]] = [
    {"kind": "NetworkAttachmentDefinition", "name": "blue", "network": "tenantblue"},
    {"kind": "VirtualMachine", "name": "db", "uid": "u1"},
    {"kind": "VirtualMachine", "name": "web", "uid": "u2"},
    {"kind": "IPAMClaim", "name": "db.blue", "vm": "db", "owner": "u1", "ips": ["10.0.0.5/24"]},
    {"kind": "IPAMClaim", "name": "web.blue", "vm": "web", "owner": "u2", "ips": ["10.0.0.5/24"]},
]
_TWICE_FOUND = [("ns", name, "DuplicateIP", "warning") for name in ("db.blue", "web.blue")]
POD: dict[str, Any] = {
    "kind": "Pod",
    "name": "x",
    "domain": "db",
    "claims": ["db.blue"],
    "addresses": {"ns/blue": ["10.0.0.5/24"]},
}

Found = dict[str, str]


def given(check: Check, case: dict[str, Any], sync_states: dict[str, SyncState]) -> Evaluation:
    states = dict.fromkeys(case.get("unsynced", ()), SyncState.STARTING)
    states |= {name: SyncState(state) for name, state in case.get("sync_state", {}).items()} | sync_states
    evaluation = Evaluation([check], only_read=True)
    for name, state in states.items():
        evaluation.sync_state(name, state)
    evaluation.given(case["given"])
    return evaluation


def found(evaluation: Evaluation) -> Found:
    """The reasons of the open findings, by fingerprint."""
    evaluation.evaluate()
    return {finding.fingerprint: finding.reason for finding in evaluation.engine.findings()}


def concluded(check: Check, evaluation: Evaluation, partitions: Iterable[str]) -> Found:
    """The same of what the partitions have; of one with an object that nobody can read, nothing."""
    answers = [evaluate(check, evaluation.engine.cluster, each) for each in partitions]
    return {fingerprint(check.id, each): each.reason for answer in answers for each in answer.findings}


def api_kinds(check: Check) -> list[str]:
    return [kind.name for kind in check.reads if isinstance(kind, ApiKind)]


# Two VMIs that run with one UUID are a duplicate, unless the status of one says that it migrates. VMIs of the cases
# have no such status: of the ends of a migration there, its VMIMs alone tell.
ENDS = ("firmware_duplicates", "VirtualMachineInstanceMigration")


@drawn
@pytest.mark.parametrize("check", [each for each in CHECKS if each.id != "sources"], ids=lambda check: check.id)
def test_what_is_found_without_a_kind_is_found_with_all_and_nothing_closes(check: Check) -> None:
    kinds = cycle(api_kinds(check))
    for name, case in part(list(CASES_OF[check].items()), 3):
        if "unsynced" in case or "sync_state" in case:
            continue
        evaluation = given(check, case, {})
        before, cluster = found(evaluation), evaluation.engine.cluster
        partitions = tuple(dict.fromkeys(everything(check, cluster)))
        whole = concluded(check, evaluation, partitions)
        for kind in api_kinds(check):
            if (check.id, kind) == ENDS:
                continue
            evaluation.sync_state(kind, SyncState.STALE)
            assert concluded(check, evaluation, partitions).items() <= whole.items(), (name, kind)
            evaluation.sync_state(kind, SyncState.LIVE)

        kind = next(kinds)
        evaluation.sync_state(kind, SyncState.STALE)
        for row in case["given"]:
            if row["kind"] != kind:
                evaluation.gone(row["kind"], row.get("namespace", "ns"), row["name"])
        assert found(evaluation).items() >= before.items(), (name, kind)
        assert evaluation.engine.unknowns(), (name, kind)


@pytest.mark.parametrize("missing", [["Deployment"], ["Deployment", "Pod"], ["MutatingWebhookConfiguration", "Pod"]])
def test_two_claims_with_one_address_need_neither_deployments_nor_pods(missing: list[str]) -> None:
    evaluation = given(CLAIMS, {"given": TWICE}, dict.fromkeys(missing, SyncState.FORBIDDEN))
    assert evaluation.found() == _TWICE_FOUND
    assert [each.partition for each in evaluation.engine.unknowns()] == [""] * len(missing)
    assert evaluation.engine.unknown_everywhere() == {"ipam_claims"}
    answer = evaluate(CLAIMS, evaluation.engine.cluster, "ns/db")
    assert (answer.outcome, [each.reason for each in answer.findings]) == (Outcome.UNKNOWN, ["DuplicateIP"])
    assert "ipLoss" in answer.findings[0].evidence or "Pod" in missing


@pytest.mark.parametrize("missing", ["Deployment", "Pod"])
def test_what_was_found_without_a_kind_is_gone_once_it_is_no_longer_found_so(missing: str) -> None:
    evaluation = given(CLAIMS, {"given": TWICE}, {missing: SyncState.FORBIDDEN})
    assert evaluation.found() == _TWICE_FOUND
    evaluation.seen(full(next(row for row in TWICE if row["name"] == "db.blue") | {"ips": ["10.0.0.77/24"]}))
    assert evaluation.found() == []


@pytest.mark.parametrize("missing", ["Deployment", "Pod"])
def test_what_was_found_with_all_kinds_stays_while_one_is_missing(missing: str) -> None:
    evaluation = given(CLAIMS, {"given": TWICE}, {})
    before = evaluation.found()
    evaluation.sync_state(missing, SyncState.FORBIDDEN)
    evaluation.seen(full(next(row for row in TWICE if row["name"] == "db.blue") | {"ips": ["10.0.0.77/24"]}))
    assert evaluation.found() == before
    evaluation.sync_state(missing, SyncState.LIVE)
    assert not set(evaluation.found()) & set(before)


@pytest.mark.parametrize("missing", ["VirtualMachine", "NetworkAttachmentDefinition"])
def test_without_what_says_whose_and_where_nothing_is_known_of_them(missing: str) -> None:
    rows = [row for row in TWICE if row["kind"] != missing]
    assert given(CLAIMS, {"given": rows}, {missing: SyncState.FORBIDDEN}).found() == []


def test_that_nobody_else_has_an_address_is_not_known_without_pods() -> None:
    evaluation = given(CLAIMS, {"given": TWICE[:-1]}, {"Pod": SyncState.FORBIDDEN})
    assert evaluation.found() == []
    evaluation.sync_state("Pod", SyncState.LIVE)
    evaluation.seen(full({**POD, "name": "stranger", "domain": "", "claims": []}))
    assert evaluation.found() == [("ns", "db.blue", "DuplicateIP", "warning")]


def test_what_is_there_again_is_evaluated_although_nothing_changed() -> None:
    orphan = {"kind": "IPAMClaim", "name": "db.blue", "vm": "db", "owner": "u1"}
    evaluation = given(CLAIMS, {"given": [orphan]}, {"Pod": SyncState.FORBIDDEN, "Deployment": SyncState.FORBIDDEN})
    assert evaluation.found() == []
    evaluation.sync_state("Pod", SyncState.LIVE)
    assert evaluation.found() == [("ns", "db.blue", "OrphanClaim", "warning")]
    assert evaluation.engine.unknowns()
    evaluation.sync_state("Deployment", SyncState.LIVE)
    assert evaluation.found() == [("ns", "db.blue", "OrphanClaim", "warning")]
    assert evaluation.engine.unknowns() == []


def test_what_was_severe_stays_so_while_less_can_be_seen() -> None:
    other = {**POD, "name": "y", "domain": "web", "claims": ["web.blue"]}
    evaluation = given(CLAIMS, {"given": [*TWICE, POD, other]}, {})
    before = evaluation.found()
    assert {severity for *_, severity in before} == {Severity.CRITICAL.value}
    evaluation.sync_state("Pod", SyncState.STALE)
    evaluation.seen(full({**TWICE[3], "generation": 2, "ips": ["10.0.0.5/16"]}))
    assert evaluation.found() == before
    evaluation.gone("IPAMClaim", "ns", "web.blue")
    assert evaluation.found() == before
    evaluation.sync_state("Pod", SyncState.LIVE)
    assert "web.blue" not in {name for _, name, *_ in evaluation.found()}


def test_nothing_is_evaluated_while_a_kind_is_about_to_be_there() -> None:
    states = {"Pod": SyncState.FORBIDDEN, "Deployment": SyncState.STARTING}
    evaluation = given(CLAIMS, {"given": TWICE}, states)
    assert evaluation.found() == []
    evaluation.sync_state("Deployment", SyncState.LIVE)
    assert evaluation.found() == _TWICE_FOUND
    evaluation.sync_state("Deployment", SyncState.BEHIND)
    evaluation.seen(full({"kind": "IPAMClaim", "name": "c.blue", "vm": "c", "owner": "u", "ips": ["10.0.0.5/24"]}))
    assert evaluation.found() == _TWICE_FOUND


def test_what_waits_for_its_grace_does_not_open_while_nobody_knows_whether_it_is_still_so() -> None:
    left = full({"kind": "IPAMClaim", "name": "db.blue", "vm": "db", "owner": "u1", "deleting": True})
    evaluation = Evaluation([CLAIMS], now=epoch(left["metadata"]["deletionTimestamp"]) or 0.0, initial=False)
    evaluation.seen(left)
    assert evaluation.found() == []
    evaluation.sync_state("Pod", SyncState.STALE)
    evaluation.now += 3600
    evaluation.seen({**left, "metadata": {**left["metadata"], "resourceVersion": "99"}})
    assert evaluation.found() == []
    evaluation.sync_state("Pod", SyncState.LIVE)
    assert evaluation.found() == [("ns", "db.blue", "StuckTerminatingOwnerGone", "warning")]
