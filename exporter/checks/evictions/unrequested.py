"""A VMI that is not marked, on a node that is cordoned or drained.

Nobody marks what can't be migrated and may not be shut down: its eviction is just refused, over and over, and no object
tells of it. What KubeVirt's webhook lets pass, PDBs may still refuse (firmware-eviction B.6, B.9).
"""

from __future__ import annotations

from collections.abc import Iterator

from ...findings import Finding, Severity, Since
from ...model.eviction import Answer, Refusal
from .guest import Guest
from .site import UNKNOWN, Time

__all__ = ["evaluated"]

_WHY = {
    Refusal.SYNC_FAILED: (
        "counts by a percentage or by maxUnavailable, which can't be computed for VMs",
        "give it a whole number as minAvailable, lower than the number of its pods",
    ),
    Refusal.MIN_AVAILABLE_TOO_HIGH: ("asks for as many pods as there are", "lower its minAvailable"),
    Refusal.INSUFFICIENT_PODS: (
        "has too few ready pods to let one go",
        "bring its other pods back, or ask their owner",
    ),
    Refusal.BEHIND: ("was changed, and its controller has not seen that", "look whether kube-controller-manager runs"),
}


def evaluated(guest: Guest) -> Iterator[Finding]:
    answer = guest.verdict.answer
    if answer is Answer.NOT_MIGRATABLE and guest.unable:
        yield _not_migratable(guest)
    elif not guest.site.draining:
        return
    elif answer is Answer.PDB:
        yield _pdb(guest)
    elif answer is Answer.PDBS:
        yield _pdbs(guest)
    elif guest.site.kubevirt_taint and guest.strategy in ("External", "None"):
        yield _ignored(guest)
    elif answer is Answer.SHUTS_DOWN:
        yield guest.finding(
            "WillShutDown",
            f"an eviction of its pod shuts the guest down: {_because(guest)}",
            "shut it down in your own time, where that matters",
            severity=Severity.INFO,
            since=guest.site.since,
        )


def _because(guest: Guest) -> str:
    return f"its strategy is {guest.strategy}" + (" and it can't be migrated" if guest.strategy != "None" else "")


def _not_migratable(guest: Guest) -> Finding:
    vmi, drained = guest.vmi, guest.site.draining
    why = ": ".join(filter(None, (vmi.hindrance, vmi.hindered))) or "no reason given"
    what = "evictions of its pod are refused, and the drain waits for it" if drained else "a drain would wait for it"
    return guest.finding(
        "NotMigratable" if drained else "NotMigratableIfDrained",
        f"it may only be migrated, and can't be ({why}): {what}",
        "stop the VM, or take away what keeps it from migrating",
        severity=Severity.WARNING if drained else Severity.INFO,
        since=guest.site.since,
        hindrance=vmi.hindrance,
    )


def _pdb(guest: Guest) -> Finding:
    pdb, refusal = guest.verdict.pdbs[0], guest.verdict.refusal
    assert refusal is not None  # of the answer PDB
    why, step = _WHY[refusal]
    paused = " (it is paused, and so not ready)" if guest.vmi.paused and refusal is Refusal.INSUFFICIENT_PODS else ""
    return guest.finding(
        "UserPDB",
        f"PDB {pdb.name} refuses the eviction of its pod: it {why}{paused}",
        step,
        since=_later(guest.site.since, (pdb.since, Since.CONDITION)),
        related=(pdb.ref,),
        cause=refusal.value,
        pdb=pdb.name,
    )


def _later(one: Time, other: Time) -> Time:
    """The later of two times that are known; the refusal of a PDB counts from when it is drained (B.10)."""
    if one[0] is None or other[0] is None:
        return UNKNOWN
    return max(one, other, key=lambda each: each[0] or 0.0)


def _pdbs(guest: Guest) -> Finding:
    names = [pdb.name for pdb in guest.verdict.pdbs]
    return guest.finding(
        "MultiplePDB",
        f"PDBs {', '.join(names)} all select its pod: an eviction is answered with an error, and a drain gives up",
        "leave one PDB that selects the pod",
        since=guest.site.since,
        related=tuple(pdb.ref for pdb in guest.verdict.pdbs),
        pdbs=names,
    )


def _ignored(guest: Guest) -> Finding:
    site = guest.site
    return guest.finding(
        "LegacyTaintIgnored",
        f"taint {site.kubevirt_taint} is on {site.name}, and with strategy {guest.strategy} it never moves by that",
        "drain the node through the Eviction API, or stop the VM",
        since=site.since,
        taint=site.kubevirt_taint,
    )
