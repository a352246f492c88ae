"""Causes: what one act mends is one, whatever happens to its findings."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

import msgspec
import pytest

from exporter.engine.causes import HOUR, CauseStore
from exporter.engine.engine import Engine
from exporter.findings.causes import Cause, cause_id
from exporter.findings.check import Check
from exporter.findings.finding import Finding
from exporter.findings.severity import Severity
from exporter.metrics.exposition import NAME, Causes, Exposition
from exporter.metrics.text import SeriesLimit
from exporter.questions.causes import CauseReport, causes_of, ended, reports
from exporter.questions.findings import Filter
from exporter.questions.times import rfc3339
from exporter.serve.access.viewer import Visible
from exporter.serve.reports.listings import Listings
from exporter.serve.reports.result_cache import Versions
from exporter.sidecar import Repairs
from tests.all_of import all_of, named, whole
from tests.amounts import drawn, rounds
from tests.cause_counts import missing, opened
from tests.check_cases import CASES_OF, CHECKS, evaluated, findings_of
from tests.evaluation import NOW, Evaluation
from tests.rows import full
from tests.served import served

VMS = next(check for check in CHECKS if check.id == "instancetype_vms")
CLAIMS = next(check for check in CHECKS if check.id == "ipam_claims")
BY_ID = {check.id: check for check in CHECKS}


def kept(store: CauseStore, *, watched: bool = False) -> dict[str, CauseReport]:
    return {each.cause: each for each in reports(store, CHECKS, store.changes if watched else None)}


def scratch(findings: list[Finding]) -> dict[str, dict[str, Any]]:
    """What a cause should be, counted without the product's tables."""
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        found.setdefault(finding.cause, []).append(finding)
    return {cause: _counted(own) for cause, own in found.items()}


def _counted(own: list[Finding]) -> dict[str, Any]:
    worst = max(own, key=lambda each: each.severity.rank).severity
    subjects = {each.subject for each in own}
    named = sorted(subjects, key=lambda each: (each.namespace, each.name, each.kind))
    return {
        "severity": worst.value,
        "objects": len(subjects),
        "kinds": dict(Counter(each.kind for each in subjects)),
        "namespaces": len({each.namespace for each in subjects if each.namespace}),
        "findings": len(own),
        "first": tuple(named[:5]),
        "since": min(each.since or 0.0 for each in own),
    }


class History:
    """Random changes of findings, and what opened and closed by cause."""

    def __init__(self, seed: int) -> None:
        self.random, self.now = random.Random(seed), NOW
        self.open: dict[str, Finding] = {}
        self.said: list[tuple[float, str, int]] = []  # when, cause, and 1 where one opened

    def change(self) -> tuple[list[Finding], list[Finding]]:
        self.now += self.random.choice((0.0, 1.0, 59.0, 700.0, 4000.0))
        gone: dict[str, Finding] = {}
        come: dict[str, Finding] = {}
        for _ in range(self.random.randint(1, 8)):
            finding = self._any()
            before = self.open.get(finding.fingerprint) if finding.fingerprint not in come else None
            if finding.fingerprint in come or finding.fingerprint in gone:
                continue
            if before is not None:
                gone[before.fingerprint] = before
            if before is None or self.random.random() < 0.6:
                come[finding.fingerprint] = finding
        if self.random.random() < 0.03:  # all end at once
            gone, come = dict(self.open), {}
        for key, each in gone.items():
            del self.open[key]
            if key not in come or come[key].cause != each.cause:
                self.said.append((self.now, each.cause, 0))
        for key, each in come.items():
            self.open[key] = each
            if key not in gone or gone[key].cause != each.cause:
                self.said.append((self.now, each.cause, 1))
        return list(gone.values()), list(come.values())

    def _any(self) -> Finding:
        draw = self.random
        fields: dict[str, Any] = {
            "namespace": draw.choice(("a", "b", "c")),
            "severity": draw.choice(tuple(Severity)),
            "since": NOW - draw.randint(0, 100_000),
            "group": draw.choice(("", "instancetype", "preference")),
        }
        name = f"vm-{draw.randint(0, 30)}"
        if draw.random() < 0.5:
            return missing(name, draw.choice(("u1", "m1")), **fields)
        if draw.random() < 0.5:
            return opened(CLAIMS, "NetworkMissing", name, kind="IPAMClaim", network=draw.choice(("", "blue")), **fields)
        return opened(VMS, "Unversioned", name, **fields)

    def last_hour(self, cause: str) -> tuple[int, int]:
        """By the minute, as it is kept."""
        own = [up for at, each, up in self.said if each == cause and at // 60 > (self.now - HOUR) // 60]
        return sum(own), len(own) - sum(own)


@drawn
@pytest.mark.parametrize("seed", range(rounds(4, 20)))
def test_what_is_kept_by_each_change_is_what_there_is(seed: int) -> None:
    history = History(seed)
    store = CauseStore(CHECKS, lambda: history.now)
    for _ in range(150):
        store.update(*history.change())
        expected = scratch(list(history.open.values()))
        found = kept(store, watched=True)
        assert found.keys() == expected.keys()
        assert len(store) == len(expected)
        for cause, each in found.items():
            own = {name: getattr(each, name) for name in ("severity", "objects", "kinds", "namespaces", "findings")}
            first = tuple(msgspec.structs.replace(ref) for ref in each.first)
            times = sorted(each.since or NOW for each in history.open.values() if each.cause == cause)
            assert own | {"first": first, "since": times[0]} == expected[cause]
            assert (each.opened, each.closed) == history.last_hour(cause)
        assert found == {each.cause: _watched(each, found) for each in causes_of(history.open.values(), CHECKS)}
        ended = {each.cause.id for each in store.ended()}
        assert not ended & found.keys()
        assert ended <= {cause for _, cause, _ in history.said}


def _watched(each: CauseReport, found: dict[str, CauseReport]) -> CauseReport:
    """With what only who watches knows."""
    own = found[each.cause]
    return msgspec.structs.replace(each, opened=own.opened, closed=own.closed)


@all_of(named(CHECKS, lambda check: check.id), whole)
def test_a_finding_carries_what_its_cause_is_by(check: Check) -> None:
    """Where none of the findings of a reason does, the declaration is wrong."""
    carrying: set[str] = set()
    lacking: set[str] = set()
    for finding in findings_of(check):
        cause = check.reasons[finding.reason].cause or check.cause
        assert finding.cause == cause_id(check.id, finding.reason, cause.reference(finding))
        if cause not in (Cause.NAMESPACE, Cause.CLUSTER):
            found = cause.reference(finding)
            carries = found.name or found.node or found.network or found.feature or found.group
            (carrying if carries else lacking).add(finding.reason)
    wrong = sorted(lacking - carrying)
    declared = {name: (check.reasons[name].cause or check.cause) for name in wrong}
    assert not wrong, (
        f"{check.find.__module__.replace('.', '/')} declares causes that no finding of its cases carries: "
        + "; ".join(f"{name} by {cause.value} (Cause.{cause.name})" for name, cause in declared.items())
        + ". Write cause=Cause.NAMESPACE on the Reason if each object is mended by itself, or have findings carry it."
    )


@all_of(named(CHECKS, lambda check: check.id), whole)
def test_the_engine_keeps_the_causes_of_its_findings(check: Check) -> None:
    for case in CASES_OF[check].values():
        engine = evaluated(check, case).engine
        whole = {each.cause: each for each in causes_of(engine.findings(), engine.checks)}
        assert kept(engine.causes) == whole


def fleet(count: int, instancetype: str = "u1.huge", namespaces: int = 2) -> Evaluation:
    evaluation = Evaluation([VMS])
    evaluation.seen(full({"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt", "version": "v1.8.4"}))
    for at in range(count):
        row = {"kind": "VirtualMachine", "namespace": f"ns-{at % namespaces}", "name": f"vm-{at:04}", "uid": f"u-{at}"}
        evaluation.seen(full(row | {"runStrategy": "Halted", "instancetype": {"name": instancetype}}))
    evaluation.evaluate()
    return evaluation


def test_many_vms_that_miss_one_instancetype_are_one_cause() -> None:
    (cause,) = kept(fleet(300).engine.causes).values()
    assert (cause.reason, cause.objects, cause.kinds) == ("ObjectMissing", 300, {"VirtualMachine": 300})
    assert (cause.namespaces, cause.reference.name) == (2, "u1.huge")
    assert cause.reference.kind == "VirtualMachineClusterInstancetype"
    assert [each.name for each in cause.first] == ["vm-0000", "vm-0002", "vm-0004", "vm-0006", "vm-0008"]
    assert cause.next


def test_a_cause_has_the_same_id_after_a_restart() -> None:
    assert kept(fleet(3).engine.causes).keys() == kept(fleet(5).engine.causes).keys()


def test_what_was_there_at_the_start_has_not_opened() -> None:
    evaluation = fleet(3)
    (before,) = kept(evaluation.engine.causes, watched=True).values()
    evaluation.gone("VirtualMachine", "ns-0", "vm-0000")
    evaluation.evaluate()
    (after,) = kept(evaluation.engine.causes, watched=True).values()
    assert (before.opened, before.closed) == (0, 0)
    assert (after.opened, after.closed) == (0, 1)
    for namespace, name in (("ns-1", "vm-0001"), ("ns-0", "vm-0002")):
        evaluation.gone("VirtualMachine", namespace, name)
    evaluation.evaluate()
    causes = evaluation.engine.causes
    (gone,) = ended(causes.ended(), CHECKS, causes.changes)
    assert (gone.cause, gone.objects, gone.closed, gone.ended_at) == (after.cause, 0, 3, rfc3339(NOW))
    assert gone.last
    assert gone.last.path == "ns-0/vm-0002"
    evaluation.now += HOUR + 60
    assert list(causes.ended()) == []


async def text_of(exposition: Exposition) -> list[str]:
    text = b"".join([part async for part in exposition.render()]).decode()
    return [line for line in text.splitlines() if line.startswith(NAME)]


async def test_a_cause_is_one_series_and_they_are_bounded() -> None:
    evaluation = fleet(4)
    engine = evaluation.engine
    exposition = Exposition(engine.checks, causes=Causes(engine.causes))
    (line,) = await text_of(exposition)
    assert line.endswith("} 4")
    for label in ('check="instancetype_vms"', 'reason="ObjectMissing"', 'name="u1.huge"', 'namespace=""'):
        assert label in line
    row = {"kind": "VirtualMachine", "namespace": "ns-0", "name": 'q"\\', "uid": "u-q", "runStrategy": "Halted"}
    evaluation.seen(full(row | {"instancetype": {"name": "u2"}}))
    evaluation.evaluate()
    assert len(await text_of(exposition)) == 2
    exposition.series_limit = SeriesLimit(family=1, total=100)
    assert await text_of(exposition) == [line]
    assert (exposition.series[NAME], exposition.left_out[NAME]) == (1, 1)


def listings_of(engine: Engine) -> Listings:
    return Listings(engine, Versions(engine, Repairs()))


async def test_a_tenant_gets_the_causes_of_what_they_see() -> None:
    engine = fleet(9, namespaces=3).engine
    listings = listings_of(engine)
    (mine,) = await listings.of(Visible(frozenset(["ns-1"]))).causes(Filter())
    (whole,) = await listings.of(None).causes(Filter())
    assert (mine.objects, mine.namespaces, whole.objects, whole.namespaces) == (3, 1, 9, 3)
    assert {each.namespace for each in mine.first} == {"ns-1"}
    assert mine.opened is msgspec.UNSET
    assert await listings.of(Visible(frozenset(["ns-1"]))).ended() == []
    (some,) = await listings.of(None).causes(Filter(namespace=frozenset(["ns-2"])))
    assert some.objects == 3


async def test_the_api_answers_with_causes() -> None:
    async with served(count=3) as server:
        server.engine.causes.history.begin(NOW)
        status, headers, body = await server.get("/api/v1/causes")
        report = json.loads(body)
        again, _, _ = await server.get("/api/v1/causes", If_None_Match=headers["ETag"])
        filtered = json.loads((await server.get("/api/v1/causes?severity=critical&namespace=nowhere"))[2])
        refused, _, why = await server.get("/api/v1/causes?nosuch=1")
        _, _, findings = await server.get("/api/v1/findings")
    assert (status, again, refused) == (200, 304, 400)
    assert b"nosuch" in why
    assert report.keys() == {"generation", "ready", "causes", "ended", "unknown", "history", "acknowledged"}
    assert {each["cause"] for each in report["causes"]} == {each["cause"] for each in json.loads(findings)["findings"]}
    assert sum(each["findings"] for each in report["causes"]) == len(json.loads(findings)["findings"])
    assert (filtered["causes"], filtered["ended"], "history" in filtered) == ([], [], False)
