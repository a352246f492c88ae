"""Causes are kept by each change: as counted from scratch for whoever looks, at a cost that no fleet makes larger."""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import pytest

from exporter.checks import all_checks
from exporter.engine.causes import HOUR, CauseStore, Count
from exporter.engine.open_cause import SortedKeys
from exporter.findings.causes import Cause
from exporter.findings.finding import Finding
from exporter.findings.severity import Severity
from exporter.metrics.exposition import NAME, Causes, Exposition
from exporter.metrics.text import SeriesLimit
from exporter.questions.causes import CauseReport, cause_order, causes_of, reports
from exporter.questions.findings import Filter
from exporter.serve.access.viewer import Visible
from exporter.serve.reports.listings import Listings
from exporter.serve.reports.result_cache import Versions
from exporter.sidecar import Repairs
from tests.amounts import drawn, rounds
from tests.cause_counts import BY_ID, from_scratch, missing, opened, said
from tests.evaluation import NOW, Evaluation
from tests.rows import full

CHECKS = tuple(all_checks())
PLACES = ("a", "b", "c", "d")
Pair = tuple[dict[str, Any], dict[str, Any]]


@drawn
@pytest.mark.parametrize("seed", range(rounds(2, 5)))
def test_keys_come_and_go_and_stay_in_order(seed: int) -> None:
    draw, keys, expected = random.Random(seed), SortedKeys[int](), set[int]()
    for _ in range(6000):
        key = draw.randint(0, 4000)
        if key in expected:
            keys.remove(key)
            expected.discard(key)
        elif draw.random() < 0.9:
            keys.add(key)
            expected.add(key)
    assert list(keys) == sorted(expected)
    assert keys.first(5) == sorted(expected)[:5]
    for key in draw.sample(sorted(expected), len(expected)):
        keys.remove(key)
    assert not keys
    assert keys.first(5) == []


class Changes:
    """Random batches: findings open, close, change, move to another namespace or cause; the clock jumps."""

    def __init__(self, seed: int) -> None:
        self.draw, self.now, self.open = random.Random(seed), NOW, dict[str, Finding]()

    def batch(self) -> tuple[list[Finding], list[Finding]]:
        self.now += self.draw.choice((0.0, 1.0, 59.0, 700.0, 4000.0, -30.0, -5000.0))
        if self.draw.random() < 0.03:
            gone, self.open = self.open, {}
            return list(gone.values()), []
        before = dict(self.open)
        for _ in range(self.draw.randint(1, 8)):
            finding = self.any()
            if finding.fingerprint in self.open and self.draw.random() < 0.4:
                del self.open[finding.fingerprint]
            else:
                self.open[finding.fingerprint] = finding
        gone = {key: each for key, each in before.items() if self.open.get(key) is not each}
        return list(gone.values()), [each for key, each in self.open.items() if before.get(key) is not each]

    def any(self) -> Finding:
        draw, at = self.draw, self.draw.randint(0, 40)
        fields: dict[str, Any] = {
            "uid": f"u{at}",
            "namespace": draw.choice(PLACES),
            "severity": draw.choice(tuple(Severity)),
            "since": draw.choice((None, NOW - draw.randint(0, 100_000))),
            "next": draw.choice(("Wait.", "Do it.")),
        }
        act = draw.random()
        if act < 0.5:
            return missing(f"vm-{at}", draw.choice(("u1", "m1")), **fields)
        if act < 0.7:
            fields |= {"kind": "IPAMClaim", "network": draw.choice(("", "blue")), "vm": draw.choice(("", f"vm-{at}"))}
            return opened(BY_ID["ipam_claims"], "NetworkMissing", f"vm-{at}.blue", **fields)
        return opened(BY_ID["instancetype_vms"], "Unversioned", f"vm-{at}", **fields)


@drawn
@pytest.mark.parametrize("seed", range(rounds(3, 12)))
def test_whatever_happens_what_is_kept_is_what_there_is(seed: int) -> None:
    changes = Changes(seed)
    store = CauseStore(CHECKS, lambda: changes.now)
    for _ in range(150):
        store.update(*changes.batch())
        assert said(reports(store, CHECKS, store.changes)) == from_scratch(changes.open.values())
        assert len(store) == len({each.cause for each in changes.open.values()})


def test_a_finding_that_two_partitions_found_in_one_step_is_there_once() -> None:
    store = CauseStore(CHECKS, lambda: NOW)
    first, second, third = (missing("vm", name) for name in ("u1", "u2", "u3"))
    store.update((), [first])
    store.update([first, second], [second, third])
    assert said(reports(store, CHECKS, store.changes)) == from_scratch([third])
    (left,) = store.ended()
    assert (left.cause.id, store.changes(left.cause.id)) == (first.cause, Count(1, 1))


def test_a_clock_that_was_set_back_makes_no_hour_longer() -> None:
    now = [NOW + 10 * HOUR]
    store = CauseStore(CHECKS, lambda: now[0])
    store.update((), [missing("vm", "u1"), missing("other", "u2")])
    store.update([missing("other", "u2")], ())
    now[0] = NOW
    (cause,) = store
    assert store.changes(cause.id) == Count(1, 0)
    store.update((), [missing("vm-2", "u1")])
    assert store.changes(cause.id) == Count(2, 0)
    assert [each.at for each in store.ended()] == [NOW]
    now[0] = NOW + HOUR + 60
    assert store.changes(cause.id) == Count()
    assert list(store.ended()) == []


def lines(work: Callable[[], object]) -> int:
    """How many lines of Python a call runs."""
    count = 0

    def trace(_frame: object, event: str, _argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def costs(size: int) -> tuple[int, int, int, int]:
    """The dearest of many openings, changes and closings in a cause of a size, and its row."""
    store, draw = CauseStore(CHECKS, lambda: NOW), random.Random(1)
    store.update((), [missing(f"vm-{at:05}", "u1", since=NOW - at) for at in range(size)])
    opening, changing, closing = [], [], []
    for at in range(200):
        place = {"namespace": f"ns-{at}", "since": NOW - draw.randint(0, size)}
        one = missing(f"more-{at}", "u1", **place)
        other = missing(f"more-{at}", "u1", severity=Severity.INFO, **place)
        opening.append(lines(partial(store.update, (), [one])))
        changing.append(lines(partial(store.update, [one], [other])))
        if at % 2:
            closing.append(lines(partial(store.update, [other], ())))
    row = lines(lambda: list(reports(store, CHECKS, store.changes)))
    return max(opening), max(changing), max(closing), row


def test_neither_a_change_nor_a_row_costs_more_in_a_large_cause() -> None:
    split = 10  # lines that a block runs that is cut in two, in each of the tables
    few, many = costs(10), costs(20_000)
    assert all(large <= small + 3 * split for small, large in zip(few[:3], many[:3], strict=True)), (few, many)
    assert abs(few[3] - many[3]) <= split


def test_the_worst_come_first_then_those_of_the_most_vms_then_the_oldest() -> None:
    info = {"severity": Severity.INFO}
    found = [
        *(missing(f"a{at}", "two", since=NOW) for at in range(2)),
        *(missing(f"b{at}", "two-older", since=NOW - 1) for at in range(2)),
        # Three objects of one VM are one VM.
        *(opened(BY_ID["ipam_claims"], "EmptyClaim", f"c.{at}", kind="IPAMClaim", vm="c", **info) for at in range(3)),
        *(missing(f"d{at}", "many", **info) for at in range(9)),
    ]
    found[4:7] = [msgspec.structs.replace(each, severity=Severity.CRITICAL) for each in found[4:7]]
    rows = causes_of(found, CHECKS)
    assert [(each.reference.name or each.reason, each.vms, each.objects) for each in rows] == [
        ("two-older", 2, 2),
        ("two", 2, 2),
        ("EmptyClaim", 1, 3),
        ("many", 9, 9),
    ]
    assert rows == sorted(rows, key=cause_order)


def test_a_cause_names_ten_of_its_namespaces_and_counts_all() -> None:
    (row,) = causes_of([missing("vm", "u1", namespace=f"ns-{at:02}") for at in range(25)], CHECKS)
    assert row.namespaces == 25
    assert row.first_namespaces == tuple(f"ns-{at:02}" for at in range(10))


THERE = {"namespace": "there"}
BLUE, PDB, CLAIM = {"network": "blue"}, {"evidence": {"pdb": "keep"}}, {"evidence": {"claim": "a.b.c"}}
PLACEMENT = {"feature": "placement"}
COPY = {"evidence": {"revision": "db-u1-1"}}


def _needs(model: str) -> dict[str, Any]:
    return {"feature": "obsolete_cpu_models", "evidence": {"needs": [f"label {model}"]}}


def _missing(kind: str) -> dict[str, Any]:
    return {"evidence": {"object": "u1", "objectKind": f"VirtualMachine{kind}"}}


# By what findings have one cause: what one act mends, of two objects, and what takes two.
TOGETHER: dict[Cause, tuple[list[Pair], list[Pair]]] = {
    Cause.NAMESPACE: ([({"node": "n1"}, {"node": "n2"})], [({"node": "n1"}, {"node": "n1"} | THERE)]),
    Cause.SUBJECT: ([], [({}, {}), (PDB, PDB)]),
    Cause.REFERENT: (
        [(_missing("ClusterInstancetype"), _missing("ClusterInstancetype") | THERE)],
        [(_missing("Instancetype"), _missing("Instancetype") | THERE)],
    ),
    Cause.PDB: ([(PDB, PDB)], [(PDB, PDB | THERE), (PDB, {"evidence": {"pdb": "other"}})]),
    Cause.IPAM_CLAIM: ([(CLAIM, CLAIM)], [(CLAIM, CLAIM | THERE), (CLAIM, {"evidence": {"claim": "a.b"}})]),
    Cause.REVISION: ([(COPY, COPY)], [(COPY, COPY | THERE), (COPY, {"evidence": {"revision": "db-u1-2"}})]),
    Cause.NODE: ([({"node": "n1"}, {"node": "n1"} | THERE)], [({"node": "n1"}, {"node": "n2"})]),
    Cause.NETWORK: ([(BLUE, BLUE | THERE)], [(BLUE, {"network": "red"})]),
    Cause.NETWORK_THERE: ([(BLUE, BLUE)], [(BLUE, BLUE | THERE), (BLUE, {"network": "red"})]),
    Cause.FEATURE: ([(PLACEMENT, PLACEMENT | THERE)], [(PLACEMENT, {"feature": "sev"})]),
    Cause.NEEDS: (
        [(_needs("Haswell"), _needs("Haswell") | THERE)],
        [(_needs("Haswell"), _needs("Skylake")), (PLACEMENT, PLACEMENT | THERE)],
    ),
    Cause.GROUP: ([({"group": "7"}, {"group": "7"} | THERE)], [({"group": "7"}, {"group": "8"})]),
    Cause.CLUSTER: ([({}, THERE)], []),
}


def test_one_act_is_one_cause_and_two_acts_are_two() -> None:
    assert TOGETHER.keys() == set(Cause)
    for check in BY_ID.values():
        for reason, declared in check.reasons.items():
            one, two = TOGETHER[declared.cause or check.cause]
            for pairs, same in ((one, True), (two, False)):
                for left, right in pairs:
                    causes = opened(check, reason, "a", **left).cause, opened(check, reason, "b", **right).cause
                    assert (causes[0] == causes[1]) is same, (reason, left, right)


async def text_of(exposition: Exposition) -> list[str]:
    text = b"".join([part async for part in exposition.render()]).decode()
    return [line for line in text.splitlines() if line.startswith(NAME)]


async def test_findings_and_causes_together_stay_within_the_limit_of_all() -> None:
    store = CauseStore(CHECKS, lambda: NOW)
    found = [missing(f"vm-{at}", f"u{at}") for at in range(4)]  # two series each
    exposition = Exposition(CHECKS, SeriesLimit(family=100, total=10), causes=Causes(store))
    exposition.update((), found)
    store.update((), found)
    assert len(await text_of(exposition)) == 2
    assert (exposition.series[NAME], exposition.left_out[NAME]) == (2, 2)
    exposition.series_limit = SeriesLimit(family=100, total=3)
    assert len(await text_of(exposition)) == 1
    assert sum(exposition.series.values()) <= 3


def vm(namespace: str, name: str, instancetype: str) -> dict[str, Any]:
    row = {"kind": "VirtualMachine", "namespace": namespace, "name": name, "uid": f"u-{namespace}-{name}"}
    return full(row | {"runStrategy": "Halted", "instancetype": {"name": instancetype}})


@drawn
@pytest.mark.parametrize("seed", range(rounds(2, 3)))
async def test_each_viewer_gets_the_causes_of_what_they_see_after_each_change(seed: int) -> None:
    draw = random.Random(seed)
    evaluation = Evaluation([BY_ID["instancetype_vms"]])
    evaluation.seen(full({"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt", "version": "v1.8.4"}))
    evaluation.evaluate()
    engine = evaluation.engine
    listings = Listings(engine, Versions(engine, Repairs()))
    viewers = [Visible(frozenset(each)) for each in (("a",), ("a", "b"), ("c", "d"), ("nowhere",))]
    for _ in range(40):
        for _ in range(draw.randint(1, 6)):
            place, name = draw.choice(PLACES), f"vm-{draw.randint(0, 8)}"
            if draw.random() < 0.3:
                evaluation.gone("VirtualMachine", place, name)
            else:
                evaluation.seen(vm(place, name, draw.choice(("u1", "m1", "o1"))))
        evaluation.now += draw.choice((1.0, 400.0))
        evaluation.evaluate()
        every = await listings.of(None).causes(Filter())
        assert said(every) == from_scratch(engine.findings())
        assert every == sorted(every, key=cause_order)
        for viewer in viewers:
            mine = await listings.of(viewer).causes(Filter())
            assert said(mine) == from_scratch(await listings.of(viewer).chosen(Filter()))
            own = Counter(each.subject.namespace for each in engine.findings() if each.subject.namespace in viewer)
            assert sum(each.findings for each in mine) == sum(own.values())
            assert {place for each in mine for place in each.first_namespaces} == set(own)


async def test_one_row_of_everything_is_made_once_for_all_who_ask() -> None:
    evaluation = Evaluation([BY_ID["instancetype_vms"]])
    evaluation.seen(full({"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt", "version": "v1.8.4"}))
    evaluation.seen(vm("a", "vm", "u1"))
    evaluation.evaluate()
    listing = Listings(evaluation.engine, Versions(evaluation.engine, Repairs())).of(None)
    first: list[CauseReport] = await listing.causes(Filter())
    assert await listing.causes(Filter()) is first
    evaluation.seen(vm("a", "vm-2", "u1"))
    evaluation.evaluate()
    assert [each.objects for each in await listing.causes(Filter())] == [2]
