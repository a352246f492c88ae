"""Addresses of a network that deleting an IPAMClaim releases, and what that loses."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass

import msgspec

from ..findings.finding import Finding
from ..store.cluster import Cluster
from ..store.kinds.ipam_claim import IPAMClaim
from ..store.record import Ref
from ..usage.addresses import owner_lives
from .in_slices import in_order
from .times import rfc3339

MOST_RECLAIMABLE = 100
SLICE = 500  # findings looked at between two looks at the event loop


@dataclass(frozen=True)
class Safety:
    """How safe it is to reclaim an IPAMClaim's addresses: the rank, smallest first, and what is lost."""

    rank: int
    loss: str


# Reasons of open findings on IPAMClaims, the safest first.
RECLAIMABLE = {
    "StuckTerminatingOwnerGone": Safety(0, "Nothing in use: the IPAMClaim was deleted, and its VM is gone."),
    "OrphanClaim": Safety(1, "The address of a VM that is gone: recreated, it gets another one."),
    "OwnerlessClaim": Safety(2, "The address of a VM that is gone, or not yet created."),
    "LeakedClaim": Safety(3, "The address of a removed interface: plugged in again, it gets another one."),
    "IdleReservation": Safety(4, "The address of a stopped VM: it starts with another one. Ask its owner first."),
}


class Reclaimable(msgspec.Struct, frozen=True, rename="camel"):
    claim: Ref
    reason: str
    ips: tuple[str, ...]
    loss: str
    since: str
    fingerprint: str
    since_source: str


def ranked(cluster: Cluster, findings: list[Finding]) -> Generator[None, None, list[Reclaimable]]:
    """The safest first; of those the ones with most addresses, and the oldest."""
    found: list[Reclaimable] = []
    for at, finding in enumerate(findings):
        found += _reclaimable(cluster, finding)
        if at % SLICE == 0:
            yield
    return (yield from in_order(found, _rank))


def _rank(each: Reclaimable) -> tuple[int, int, str, Ref]:
    return RECLAIMABLE[each.reason].rank, -len(each.ips), each.since, each.claim


def _reclaimable(cluster: Cluster, finding: Finding) -> Iterator[Reclaimable]:
    subject = finding.subject
    claim = cluster.get(IPAMClaim, subject.namespace, subject.name)
    if finding.reason not in RECLAIMABLE or claim is None or claim.uid != subject.uid or not claim.hosts:
        return
    if finding.reason == "OwnerlessClaim" and owner_lives(cluster, claim):
        return  # its VM exists, and needs the owner reference again
    loss = RECLAIMABLE[finding.reason].loss
    yield Reclaimable(
        subject,
        finding.reason,
        claim.hosts,
        loss,
        rfc3339(finding.since),
        finding.fingerprint,
        finding.since_source.value,
    )
