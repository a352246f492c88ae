"""The series limit of series: a flood is cut, counted, and can't push out what was there."""

from __future__ import annotations

from collections.abc import AsyncIterator

from exporter.checks import all_checks
from exporter.findings import Finding, Severity
from exporter.metrics.exposition import Exposition
from exporter.metrics.series_limit import SeriesLimit
from exporter.model.record import Ref


def orphan(name: str, namespace: str = "ns", severity: Severity = Severity.WARNING) -> Finding:
    return Finding(
        check="ipam_claims",
        reason="OrphanClaim",
        severity=severity,
        subject=Ref("IPAMClaim", namespace, name, name),
        message="it is",
        network="blue",
        since=1.5,
        fingerprint=f"{namespace}/{name}",
    )


async def text(parts: AsyncIterator[bytes]) -> str:
    return b"".join([part async for part in parts]).decode()


async def names(exposition: Exposition) -> list[str]:
    lines = (await text(exposition.render())).splitlines()
    return [line.split('name="')[1].split('"')[0] for line in lines if line.startswith("kubevirt_ipamclaim_orphaned{")]


async def test_a_finding_is_one_sample_and_its_time() -> None:
    exposition = Exposition(all_checks())
    exposition.update([], [orphan("db.blue")])
    block = '{namespace="ns",name="db.blue",network="blue",reason="OrphanClaim"}'
    lines = (await text(exposition.render())).splitlines()

    assert f"kubevirt_ipamclaim_orphaned{block} 1" in lines
    assert f"kubevirt_ipamclaim_orphaned_since_timestamp_seconds{block} 1.500" in lines
    assert exposition.counts["ipam_claims", "OrphanClaim", "warning"] == 1
    assert exposition.counts["ipam_claims", "DuplicateIP", "critical"] == 0

    exposition.update([orphan("db.blue")], [])
    assert await names(exposition) == []


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
