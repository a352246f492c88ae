"""The exposition text of findings, as tests read it."""

from __future__ import annotations

from collections.abc import AsyncIterator

from exporter.facts.record import Ref
from exporter.findings.finding import Finding
from exporter.findings.severity import Severity
from exporter.metrics.exposition import Exposition


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
