"""A claim or VM that is evidently well is one of which no predicate finds anything, whatever else is as it may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import pytest

from exporter.checks import all_checks
from exporter.checks.networks import ipam_claims, ipam_vms
from exporter.engine.affected import everything
from exporter.engine.evaluate import Answer, evaluate
from exporter.findings.check import Check
from exporter.store.reader import Seen
from tests.amounts import drawn, part
from tests.evaluation import Evaluation

Row = dict[str, Any]
Change = Mapping[str, Row | None]

CHECKS = {check.id: check for check in all_checks() if check.id in ("ipam_claims", "ipam_vms")}
SIX = "fd00::/64"
WELL: dict[str, Row] = {
    "nad": {"kind": "NetworkAttachmentDefinition", "name": "blue", "subnets": "10.0.0.0/24"},
    "vm": {"kind": "VirtualMachine", "name": "db", "uid": "u1", "networks": {"blue": "blue"}},
    "vmi": {"kind": "VirtualMachineInstance", "name": "db", "uid": "i1", "vm": "u1", "networks": {"blue": "blue"}},
    "pod": {
        "kind": "Pod",
        "name": "p",
        "domain": "db",
        "claims": ["db.blue"],
        "addresses": {"ns/blue": ["10.0.0.5/24"]},
    },
    "claim": {"kind": "IPAMClaim", "name": "db.blue", "vm": "db", "owner": "u1", "ips": ["10.0.0.5/24"]},
}
SECOND = WELL["pod"] | {"name": "q"}
BOTH: dict[str, Row] = {"nad": {"subnets": f"10.0.0.0/24,{SIX}"}}
OTHER = {"kind": "Pod", "name": "other", "addresses": {"ns/blue": ["10.0.0.5/24"]}}


def holds(*ips: str) -> dict[str, Row]:
    return {"claim": {"ips": list(ips)}, "pod": {"addresses": {"ns/blue": list(ips)}}}


def interface(name: str) -> dict[str, Row]:
    """The VM's one, under another logical name, with its claim."""
    claim, networks = f"db.{name}"[:253], {"networks": {name: "blue"}}
    return {"vm": networks, "vmi": networks, "pod": {"claims": [claim]}, "claim": {"name": claim}}


# What differs from a claim that is well, by the rows; a row that is None is not there.
CHANGES: tuple[Change, ...] = (
    {"vm": None},
    {"vm": {"uid": "u2"}},
    {"vm": {"deleting": True}},
    {"vm": {"networks": {}}},
    {"vm": {"networks": {"blue": "red"}}},
    {"vmi": None},
    {"vmi": {"phase": "Succeeded"}},
    {"vmi": {"networks": {}}},
    {"vmi": {"networks": {"blue": "red"}}},
    {"vmi": {"vm": "u2"}},
    {"pod": None},
    {"pod": {"domain": "web"}},
    {"pod": {"claims": []}},
    {"pod": {"claims": ["db.red"]}},
    {"pod": {"claims": ["db.blue", "db.blue"]}},
    {"pod": {"claims": [], "attached": [["ns/red", "db.blue"]]}},
    {"pod": {"claims": [], "attached": [["ns/blue", "db.blue"], ["ns/red", "db.blue"]]}},
    {"pod": {"claims": [], "attached": [["ns/blue", "db.blue"], ["ns/blue", "db.red"]]}},
    {"pod": {"addresses": {}}},
    {"pod": {"addresses": {"ns/blue": ["10.0.0.6/24"]}}},
    {"pod": {"addresses": {"ns/blue": ["10.0.0.5/16"]}}},
    {"pod": {"addresses": {"ns/blue": ["10.0.0.5/24", "10.0.0.6/24"]}}},
    {"pod": {"addresses": {"ns/red": ["10.0.0.5/24"]}}},
    {"pod": {"annotations": {"k8s.v1.cni.cncf.io/networks": "{"}}},
    {"pod": {"annotations": {"k8s.v1.cni.cncf.io/network-status": "{"}}},
    {"pod": {"phase": "Pending"}},
    {"second": SECOND},
    {"second": SECOND | {"claims": []}},
    {"second": SECOND | {"claims": [], "attached": [["ns/blue", ""]], "addresses": {"ns/blue": ["10.0.0.6/24"]}}},
    {"second": SECOND | {"addresses": {}}},
    {"second": SECOND | {"annotations": {"k8s.v1.cni.cncf.io/networks": "{"}}},
    {"many": SECOND | {"name": "r"}, "more": SECOND | {"name": "s"}, "most": SECOND | {"name": "t"}},
    {"other": OTHER},
    {"other": OTHER | {"claims": ["db.blue"]}},
    {"other": OTHER | {"namespace": "there", "domain": "db", "claims": ["db.blue"]}},
    {"other": {"kind": "IPAMClaim", "name": "web.blue", "vm": "web", "ips": ["10.0.0.5/24"]}},
    {"nad": None},
    {"nad": {"persistent": False}},
    {"nad": {"network": "tenantred"}},
    {"nad": {"name": "red"}},
    {"nad": {"namespace": "there"}},
    {"nad": {"subnets": SIX}},
    {"nad": {"config": {"excludeSubnets": "10.0.0.4/30"}}},
    {"nad": {"config": {"reservedSubnets": "10.0.0.4/30"}}},
    {"nad": {"config": "{"}},
    BOTH,
    BOTH | holds("10.0.0.5/24", "fd00::5/64"),
    BOTH | holds("10.0.0.5/24", "::ffff:10.0.0.6/24"),
    {"red": {"kind": "NetworkAttachmentDefinition", "name": "red"}},
    {"red": {"kind": "NetworkAttachmentDefinition", "name": "red", "network": "tenantred"}},
    {
        "red": {"kind": "NetworkAttachmentDefinition", "name": "red", "network": "tenantred"},
        "vmi": {"networks": {"blue": "red"}},
    },
    {"claim": {"vm": None}},
    {"claim": {"vm": "web", "ownerName": "db"}},
    {"claim": {"owner": ""}},
    {"claim": {"ownerKind": "VirtualMachineInstance"}},
    {"claim": {"ownerKind": "VirtualMachineInstance", "owner": "i1"}},
    {"claim": {"otherOwner": "o1"}},
    {"claim": {"deleting": True}},
    {"claim": {"finalizers": ["example.org/guard"]}},
    {"claim": {"finalizers": ["example.org/guard", "kubevirt.io/persistent-ipam"]}},
    {"claim": {"network": "tenantred"}},
    {"claim": {"network": ""}},
    {"claim": {"bare": True}},
    {"claim": {"ips": []}},
    {"claim": {"ips": ["10.0.0.5"]}},
    holds("10.0.0.0/24"),
    holds("10.9.0.5/24"),
    holds("fd00::5/64"),
    {"claim": {"ips": ["none"]}},
    holds("10.0.0.5/24", "10.0.0.6/24"),
    {"namespace": {"kind": "Namespace", "name": "ns", "deleting": True}},
    {"nad": {"config": {"role": "primary"}}},
    {"vm": {"networks": {"blue": "pod"}}, "vmi": {"networks": {"blue": "pod"}}},
    {
        "nad": {"config": {"role": "primary"}},
        "vm": {"networks": {"blue": "pod"}},
        "vmi": {"networks": {"blue": "pod"}, "requested": {"blue": ["10.0.0.6"]}},
    },
    {"vm": {"networks": {"blue": "there/blue"}}, "there": WELL["nad"] | {"namespace": "there"}},
    {"vmi": {"networks": {"blue": "there/blue"}}, "there": WELL["nad"] | {"namespace": "there"}},
    {"vm": {"networks": {"blue": "blue", "-blue": "blue"}}},
    {"vmi": {"networks": {"blue": "blue", "red": "blue"}}},
    interface("b" * 250),
    interface("blue.red") | {"twin": {"kind": "VirtualMachine", "name": "db.blue", "networks": {"red": "blue"}}},
    interface("blue.red")
    | {"twin": {"kind": "VirtualMachineInstance", "name": "db.blue", "networks": {"red": "blue"}}},
)
PAIRS = list(combinations(CHANGES, 2))
PARTS = [[(), *((each,) for each in CHANGES)], *part([PAIRS[at::12] for at in range(12)], 12)]


def answers(check: Check, changes: tuple[Change, ...]) -> list[tuple[Answer, Answer]]:
    """Of each partition, as it is found, and where all that is read is taken down: then each predicate is asked."""
    rows: dict[str, Row | None] = dict(WELL)
    for name, change in (item for each in changes for item in each.items()):
        row = rows.get(name, {})
        rows[name] = row | change if row is not None and change is not None else None
    evaluation = Evaluation([check], only_read=True)
    evaluation.given({key: value for key, value in row.items() if value is not None} for row in rows.values() if row)
    cluster = evaluation.engine.cluster
    return [
        (evaluate(check, cluster, each), evaluate(check, cluster, each, seen=Seen()))
        for each in everything(check, cluster)
    ]


@drawn
@pytest.mark.parametrize("changes", PARTS, ids=range(len(PARTS)))
@pytest.mark.parametrize("check", CHECKS)
def test_the_answer_is_the_one_that_the_predicates_give(check: str, changes: Sequence[tuple[Change, ...]]) -> None:
    for each in changes:
        for found, asked in answers(CHECKS[check], each):
            assert (found.findings, found.unknown) == (asked.findings, asked.unknown), each


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize(
    "changes",
    [(), ({"second": SECOND},), (BOTH | holds("10.0.0.5/24", "fd00::5/64"),)],
    ids=["running", "migrating", "of both families"],
)
def test_no_predicate_is_asked_of_what_is_evidently_well(
    check: str, changes: tuple[Change, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ipam_claims, "ClaimContext", None)
    monkeypatch.setattr(ipam_vms, "interfaces_of", None)
    ((found, asked),) = answers(CHECKS[check], changes)
    assert not found.error
    assert asked.error
