"""What is kept of an object whose states come in any order, and of a finding whose object changes its VM."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from exporter.checks import all_checks
from exporter.facts.record import Record
from exporter.findings.check import Check
from exporter.findings.finding import Finding
from exporter.store.cluster import Change, Cluster
from exporter.store.index import Index
from exporter.store.kinds.ipam_claim import IPAMClaim
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.source import Source
from tests.amounts import drawn, part
from tests.check_cases import CASES_OF, CHECKS, evaluated
from tests.evaluation import NOW, Evaluation
from tests.rows import full

HOUR = 3600.0


def versioned(row: dict[str, Any], version: int) -> dict[str, Any]:
    thing = full({"namespace": "ns", **row})
    thing["metadata"]["resourceVersion"] = str(version)
    return thing


# -- the states of one object


def claim(uid: str, version: int, network: str) -> dict[str, Any]:
    return versioned({"kind": "IPAMClaim", "name": "db.blue", "uid": uid, "network": network}, version)


@pytest.mark.parametrize(
    ("uid", "version", "kept"),
    [
        ("u1", 899, "blue"),  # an event that was overtaken
        ("u1", 900, "red"),
        ("u1", 901, "red"),
        ("u1", 0, "red"),  # out of a dump without versions: nothing says that it is older
        ("u2", 7, "red"),  # another object of the name, of an API server that was restored from a backup
    ],
)
def test_an_older_state_counts_for_nothing_and_only_of_the_same_object(uid: str, version: int, kept: str) -> None:
    evaluation = Evaluation(())
    evaluation.seen(claim("u1", 900, "blue"))
    evaluation.seen(claim(uid, version, "red"))
    (held,) = evaluation.engine.cluster.all(IPAMClaim)
    assert held.network == kept
    assert held.uid == (uid if kept == "red" else "u1")


def test_a_state_that_changes_no_fact_is_a_newer_one_all_the_same() -> None:
    evaluation = Evaluation(())
    evaluation.seen(claim("u1", 900, "blue"))
    evaluation.seen(claim("u1", 950, "blue"))
    evaluation.seen(claim("u1", 920, "late"))
    (held,) = evaluation.engine.cluster.all(IPAMClaim)
    assert (held.network, held.rv) == ("blue", 950)


def test_a_vm_made_anew_under_its_name_has_left_its_claim() -> None:
    """As found by the uid, although the new VM's version is the lower one."""
    evaluation = Evaluation(all_checks())
    vm = {"kind": "VirtualMachine", "name": "db", "networks": {"blue": "blue"}}
    evaluation.seen(versioned({"kind": "NetworkAttachmentDefinition", "name": "blue"}, 1))
    evaluation.seen(versioned({**vm, "uid": "u1"}, 900))
    evaluation.seen(
        versioned({"kind": "IPAMClaim", "name": "db.blue", "vm": "db", "owner": "u1", "ips": ["10.0.0.5/16"]}, 901)
    )
    before = evaluation.found()
    evaluation.seen(versioned({**vm, "uid": "u2"}, 17))
    assert ("ns", "db.blue") in {found[:2] for found in set(evaluation.found()) - set(before)}


def test_a_change_says_which_facts_differ() -> None:
    evaluation = Evaluation(())
    changes: list[Change] = []
    evaluation.engine.observe(lambda change: changes.append(change) if change.kind is IPAMClaim else None)
    evaluation.seen(claim("u1", 900, "blue"))
    evaluation.seen(claim("u1", 901, "red"))
    evaluation.seen(claim("u1", 902, "red"))
    evaluation.gone("IPAMClaim", "ns", "db.blue")
    assert [change.facts for change in changes] == [None, {"network", "rv"}, None]
    assert [(change.before is None, change.after is None) for change in changes] == [
        (True, False),
        (False, False),
        (False, True),
    ]


@pytest.mark.parametrize(("version", "left"), [(0, 0), (899, 1), (900, 0), (901, 0)])
def test_a_deletion_counts_unless_it_is_older_than_what_is_held(version: int, left: int) -> None:
    evaluation = Evaluation(())
    evaluation.seen(versioned({"kind": "VirtualMachine", "name": "db"}, 900))
    evaluation.intake.gone(evaluation.kinds["VirtualMachine"], "ns", "db", version)
    assert evaluation.engine.cluster.count(VirtualMachine) == left


# -- records that share a value


@pytest.mark.parametrize("count", [1, 2, 8, 9, 10, 30])
def test_all_that_share_a_value_are_found_however_many_come_and_go(count: int) -> None:
    index = Index("uid", lambda record, _: (record.uid,))
    cluster = Cluster([index])
    made = [Record("ns", f"r{number}", "u", 1) for number in range(count)]
    for place, record in enumerate(made):
        cluster.put(record)
        assert {each.name for each in cluster.sharing(index, "u")} == {each.name for each in made[: place + 1]}
    assert list(cluster.keys(index)) == ["u"]
    for place, record in enumerate(made):
        cluster.remove(Record, "ns", record.name)
        assert {each.name for each in cluster.sharing(index, "u")} == {each.name for each in made[place + 1 :]}
    assert list(cluster.keys(index)) == []


@pytest.mark.parametrize("count", [0, 1, 2, 8, 9, 2000, 2001])
def test_some_of_those_that_share_a_value_are_as_many_as_were_asked_for(count: int) -> None:
    index = Index("uid", lambda record, _: (record.uid,))
    cluster = Cluster([index])
    for number in range(count):
        cluster.put(Record("ns", f"r{number}", "u", 1))
    for most in (1, 2, 10):
        some = {each.name for each in cluster.some(index, "u", most)}
        assert len(some) == min(most, count)
        assert some <= {each.name for each in cluster.sharing(index, "u")}


# -- nothing is left of what is gone


@drawn
@pytest.mark.parametrize("check", [each for each in CHECKS if each.id != "sources"], ids=lambda each: each.id)
@pytest.mark.parametrize("turn", [1, -1])
def test_a_cluster_that_is_emptied_has_no_findings(check: Check, turn: int) -> None:
    """Also where the last object of a partition was what the finding is about."""
    found = 0
    plain = [case for case in CASES_OF[check].values() if not {"unknown_in", "sync_state"} & case.keys()]
    finding = [case for case in plain if case["finds"] and case["finds"] != "unknown"]
    for case in (*part(finding, 3), *part([case for case in plain if not case["finds"]], 3)):
        evaluation = evaluated(check, case)
        if evaluation.engine.not_applicable():
            continue
        kinds = [kind.record for kind in check.reads]
        held = [record for kind in kinds for record in evaluation.engine.cluster.all(kind)]
        for record in held[::turn]:
            if not isinstance(record, Source):
                found += len(evaluation.found())
                evaluation.gone(type(record).__name__, record.namespace, record.name)
        assert evaluation.found() == []
    assert found


# -- a finding whose object changes its VM

BLUE = {"kind": "NetworkAttachmentDefinition", "name": "blue"}
LEAKED = {"kind": "IPAMClaim", "name": "web.blue", "uid": "c1", "ips": ["10.0.0.5/16"]}
OF_WEB, OF_API = {**LEAKED, "vm": "web", "owner": "u1"}, {**LEAKED, "vm": "api", "owner": "u2"}


def unplugged(name: str, uid: str, **row: Any) -> dict[str, Any]:
    return {"kind": "VirtualMachine", "name": name, "uid": uid, "networks": {"red": "red"}, **row}


class Shown:
    """What somebody holds who is sent the differences."""

    def __init__(self) -> None:
        self.findings: dict[str, Finding] = {}
        self.gone = 0

    def update(self, gone: Iterable[Finding], come: Iterable[Finding]) -> None:
        for finding in gone:
            assert self.findings.pop(finding.fingerprint) == finding
            self.gone += 1
        for finding in come:
            assert finding.fingerprint not in self.findings
            self.findings[finding.fingerprint] = finding


def leaking(*, initial: bool = True) -> tuple[Evaluation, Shown]:
    """A claim of a VM that no longer has its network, reported since NOW; an hour and more has passed."""
    evaluation = Evaluation([check for check in all_checks() if check.id == "ipam_claims"], initial=initial)
    shown = Shown()
    evaluation.engine.listen(shown.update)
    for row in (BLUE, unplugged("web", "u1"), unplugged("api", "u2"), OF_WEB):
        evaluation.seen(full(row))
    assert evaluation.found() == [("ns", "web.blue", "LeakedClaim", "info")]
    evaluation.now = NOW + HOUR / 2
    return evaluation, shown


def agrees(evaluation: Evaluation, shown: Shown) -> Finding:
    (finding,) = evaluation.engine.findings()
    assert list(shown.findings.values()) == [finding]
    return finding


@pytest.mark.parametrize("initial", [True, False])
def test_a_finding_that_moves_to_another_vm_stays_open_and_keeps_its_beginning(initial: bool) -> None:
    evaluation, shown = leaking(initial=initial)
    evaluation.seen(full(OF_API))
    assert evaluation.found() == [("ns", "web.blue", "LeakedClaim", "info")]
    finding = agrees(evaluation, shown)
    assert finding.since == NOW
    assert evaluation.engine.partition_of(finding) == "ns/api"


def test_a_finding_that_moves_to_a_vm_that_waits_already_is_there_once() -> None:
    evaluation, shown = leaking()
    evaluation.seen(full(unplugged("api", "u2", networks={"green": "green"})))
    evaluation.seen(full(OF_API))
    evaluation.evaluate()
    assert agrees(evaluation, shown).since == NOW


def test_a_finding_that_moved_closes_where_it_is_now() -> None:
    evaluation, shown = leaking()
    evaluation.seen(full(OF_API))
    evaluation.evaluate()
    evaluation.seen(full(unplugged("web", "u1", networks={"green": "green"})))
    evaluation.evaluate()
    agrees(evaluation, shown)
    evaluation.gone("IPAMClaim", "ns", "web.blue")
    assert evaluation.found() == []
    assert not shown.findings


def test_a_finding_that_moves_in_its_grace_opens_when_that_ends() -> None:
    evaluation = Evaluation([check for check in all_checks() if check.id == "ipam_claims"], initial=False)
    shown = Shown()
    evaluation.engine.listen(shown.update)
    plugged = unplugged("web", "u1", networks={"blue": "blue"})
    for row in (BLUE, plugged, unplugged("api", "u2"), OF_WEB):
        evaluation.seen(full(row))
    evaluation.evaluate()
    evaluation.seen(full(unplugged("web", "u1")))
    assert evaluation.found() == []
    evaluation.now = NOW + HOUR / 2
    evaluation.seen(full(OF_API))
    assert evaluation.found() == []
    evaluation.now = NOW + HOUR + 1
    assert evaluation.found() == [("ns", "web.blue", "LeakedClaim", "info")]
    assert agrees(evaluation, shown).since == NOW
