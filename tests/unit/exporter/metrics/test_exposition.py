"""Findings as samples: their labels, and the series limit: a flood is cut, counted, and pushes nothing out."""

from __future__ import annotations

import re
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from exporter.checks import all_checks
from exporter.facts.record import Ref
from exporter.findings.finding import Finding
from exporter.findings.severity import Severity
from exporter.metrics.exposition import LABELS, Exposition
from exporter.metrics.text import SeriesLimit
from tests.exposed import names, orphan, text


async def test_a_finding_is_one_sample_and_its_time() -> None:
    exposition = Exposition(all_checks())
    exposition.update([], [orphan("db.blue")])
    block = (
        '{check="ipam_claims",reason="OrphanClaim",severity="warning",kind="IPAMClaim",namespace="ns",name="db.blue",'
        'vm="",node="",network="blue",feature="",group="",cause=""}'
    )
    lines = (await text(exposition.render())).splitlines()

    assert f"kubevirt_ipamclaim_orphaned{block} 1" in lines
    assert f"kubevirt_ipamclaim_orphaned_since_timestamp_seconds{block} 1.500" in lines
    assert exposition.counts["ipam_claims", "OrphanClaim", "warning"] == 1
    assert exposition.counts["ipam_claims", "DuplicateIP", "critical"] == 0

    exposition.update([orphan("db.blue")], [])
    assert await names(exposition) == []


def of(check: str, reason: str, **more: Any) -> Finding:
    subject = more.pop("subject", Ref("IPAMClaim", "ns", "db.blue", "u"))
    more = {"severity": Severity.WARNING, "message": "it is", "fingerprint": "f"} | more
    return Finding(check=check, reason=reason, subject=subject, **more)


REASONS = [(check.id, reason) for check in all_checks() for reason in check.reasons]


async def test_every_family_has_the_same_labels_in_the_same_order() -> None:
    exposition = Exposition(all_checks())
    exposition.update([], [of(*each, fingerprint=f"{each}") for each in REASONS])
    samples = [line for line in (await text(exposition.render())).splitlines() if not line.startswith("#")]

    assert {tuple(re.findall(r'check="(\w+)",reason="(\w+)"', each)[0]) for each in samples} == {*REASONS}
    assert {tuple(re.findall(r'[{,](\w+)="', each)) for each in samples} == {LABELS}


@pytest.mark.parametrize(
    ("finding", "vm"),
    [
        (of("firmware_vms", "InvalidUUID", subject=Ref("VirtualMachine", "ns", "db", "u")), "db"),
        (of("evictions", "NotStarted", subject=Ref("VirtualMachineInstance", "ns", "db", "u"), node="n"), "db"),
        (of("ipam_claims", "OrphanClaim", vm="db"), "db"),
        (of("ipam_claims", "OrphanClaim"), ""),
        (of("node_identity", "DuplicateSystemUUID", subject=Ref("Node", "", "n", "u")), ""),
    ],
)
async def test_a_finding_names_the_vm_that_it_is_about(finding: Finding, vm: str) -> None:
    exposition = Exposition(all_checks())
    exposition.update([], [finding])
    assert finding.vm == vm
    assert f',vm="{vm}",' in await text(exposition.render())


@pytest.mark.parametrize(
    ("name", "written"),
    [('a"b', r"a\"b"), ("a\\b", r"a\\b"), ("a\nb", r"a\nb"), ('"', r"\""), ("a%sb", "a%sb"), ("ä{}", "ä{}")],
)
async def test_what_a_label_can_not_hold_is_escaped_in_every_label(name: str, written: str) -> None:
    subject = Ref(name, name, name, "u")
    values = dict.fromkeys(("vm", "node", "network", "feature", "group", "cause"), name)
    finding = of("ipam_claims", "OrphanClaim", subject=subject, **values)
    exposition = Exposition(all_checks())
    exposition.update([], [finding])
    page = await text(exposition.render())
    (family,) = [each for each in text_string_to_metric_families(page) if each.name == "kubevirt_ipamclaim_orphaned"]

    assert f'name="{written}"' in page
    assert [sample.labels for sample in family.samples] == [
        dict.fromkeys(LABELS, name) | {"check": "ipam_claims", "reason": "OrphanClaim", "severity": "warning"}
    ]


async def test_opened_less_closed_is_what_is_open_and_a_change_is_neither() -> None:
    exposition = Exposition(all_checks(), SeriesLimit(family=2, total=100))
    key = ("ipam_claims", "OrphanClaim")
    exposition.update([], [orphan("a"), orphan("b")])  # one is left out of the page and counts none the less
    assert (exposition.opened[key], exposition.closed[key]) == (2, 0)
    exposition.update([orphan("a"), orphan("b")], [orphan("a", severity=Severity.CRITICAL)])
    assert (exposition.opened[key], exposition.closed[key]) == (2, 1)
    assert exposition.open_seconds[key].buckets()[-1] == ("+Inf", 1)
    exposition.update([orphan("a", severity=Severity.CRITICAL)], [orphan("c")])
    assert (exposition.opened[key], exposition.closed[key]) == (3, 2)
    assert exposition.opened["ipam_claims", "DuplicateIP"] == 0


def since_of(page: str) -> list[float]:
    families = text_string_to_metric_families(page)
    return [sample.value for family in families for sample in family.samples if "_since_timestamp_" in sample.name]


async def test_a_finding_without_a_beginning_has_the_time_that_it_was_first_seen() -> None:
    now = 5000.0
    exposition = Exposition(all_checks(), clock=lambda: now)
    finding = of("ipam_claims", "OrphanClaim", since=None)
    exposition.update([], [finding])
    assert since_of(await text(exposition.render())) == [5000.0]

    now = 6000.0
    exposition.update([finding], [of("ipam_claims", "OrphanClaim", since=0.0, severity=Severity.CRITICAL)])
    assert since_of(await text(exposition.render())) == [5000.0]


async def test_series_are_counted_with_their_times() -> None:
    exposition = Exposition(all_checks(), SeriesLimit(family=6, total=100))
    exposition.update([], [orphan(f"{n}") for n in range(2)])
    assert exposition.series["kubevirt_ipamclaim_orphaned"] == 4
    exposition.update([], [orphan(f"{n}") for n in range(2, 9)])
    assert (exposition.series["kubevirt_ipamclaim_orphaned"], len(await names(exposition))) == (6, 3)


async def test_a_flood_is_cut_and_counted_and_does_not_push_out_what_was_there() -> None:
    exposition = Exposition(all_checks(), SeriesLimit(family=6, total=100))
    exposition.update([], [orphan("old")])
    exposition.update([], [orphan(f"flood-{n}") for n in range(10)])

    assert await names(exposition) == ["old", "flood-0", "flood-1"]
    assert exposition.left_out["kubevirt_ipamclaim_orphaned"] == 16
    assert exposition.counts["ipam_claims", "OrphanClaim", "warning"] == 11

    exposition.update([orphan("old")], [orphan("old")])  # changed: it keeps its place
    assert (await names(exposition))[0] == "old"
    exposition.update([orphan("flood-0")], [])
    assert sorted(await names(exposition)) == ["flood-1", "flood-2", "old"]
    exposition.update([orphan(f"flood-{n}") for n in range(1, 10)], [])
    assert exposition.left_out["kubevirt_ipamclaim_orphaned"] == 0


async def test_the_total_series_limit_holds_over_all_families() -> None:
    exposition = Exposition(all_checks(), SeriesLimit(family=100, total=4))
    exposition.update([], [orphan(f"claim-{n}") for n in range(5)])
    assert len(await names(exposition)) == 2


def severe(name: str, severity: Severity) -> Finding:
    return orphan(name, severity=severity)


async def test_what_is_critical_takes_the_place_of_what_is_less() -> None:
    exposition = Exposition(all_checks(), SeriesLimit(family=6, total=100))
    exposition.update(
        [], [severe("info", Severity.INFO), severe("w-1", Severity.WARNING), severe("w-2", Severity.WARNING)]
    )
    exposition.update([], [severe("c-1", Severity.CRITICAL)])
    assert sorted(await names(exposition)) == ["c-1", "w-1", "w-2"]

    exposition.update([], [severe("c-2", Severity.CRITICAL), severe("late", Severity.WARNING)])
    assert sorted(await names(exposition)) == ["c-1", "c-2", "w-1"]
    assert exposition.left_out["kubevirt_ipamclaim_orphaned"] == 6

    exposition.update([severe("c-1", Severity.CRITICAL)], [])
    assert len(await names(exposition)) == 3
    assert "info" not in await names(exposition)
    gone = [severe("c-2", Severity.CRITICAL), severe("w-1", Severity.WARNING), severe("w-2", Severity.WARNING)]
    exposition.update(gone, [])
    assert sorted(await names(exposition)) == ["info", "late"]


async def test_a_finding_that_gets_worse_comes_in_and_one_that_gets_better_makes_room() -> None:
    exposition = Exposition(all_checks(), SeriesLimit(family=2, total=100))
    exposition.update([], [severe("a", Severity.WARNING), severe("b", Severity.WARNING)])
    assert await names(exposition) == ["a"]
    exposition.update([severe("b", Severity.WARNING)], [severe("b", Severity.CRITICAL)])
    assert await names(exposition) == ["b"]
    exposition.update([severe("b", Severity.CRITICAL)], [severe("b", Severity.INFO)])
    assert await names(exposition) == ["a"]
    assert exposition.series["kubevirt_ipamclaim_orphaned"] == 2
    assert exposition.left_out["kubevirt_ipamclaim_orphaned"] == 2


async def test_the_total_limit_leaves_out_what_only_informs_of_any_family_first() -> None:
    other = of("ipam_claims", "DuplicateIP", fingerprint="d", severity=Severity.CRITICAL, since=1.0)
    exposition = Exposition(all_checks(), SeriesLimit(family=100, total=4))
    exposition.update([], [severe("i-1", Severity.INFO), severe("i-2", Severity.INFO)])
    exposition.update([], [other])
    assert await names(exposition) == ["i-1"]
    assert 'reason="DuplicateIP"' in await text(exposition.render())


@pytest.mark.parametrize("limit", [SeriesLimit(family=6, total=100), SeriesLimit(family=100, total=6)])
async def test_a_lower_limit_leaves_out_the_least_severe(limit: SeriesLimit) -> None:
    exposition = Exposition(all_checks())
    found = [severe(f"{severity.value}-{n}", severity) for n in range(3) for severity in Severity]
    exposition.update([], found)
    exposition.series_limit = limit
    assert sorted(await names(exposition)) == ["critical-0", "critical-1", "critical-2"]
    exposition.series_limit = SeriesLimit()
    assert len(await names(exposition)) == 9
    assert sum(exposition.left_out.values()) == 0
