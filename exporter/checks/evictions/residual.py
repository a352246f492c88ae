"""What is left on a node that is being drained, counted (firmware-eviction B.9, NodeDrainResidual)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from ...findings import Finding, Severity
from ...model.record import Ref
from .guest import Guest
from .reasons import BLOCKED, REASONS
from .site import UNKNOWN, Site

__all__ = ["residual", "standing"]

_NAMED = 10  # VMIs that evidence names


def standing(guest: Guest, reasons: list[str]) -> str:
    """The reason of its finding; of one that has none, what becomes of it."""
    if guest.vmi.deleting is not None:
        return "Terminating"  # whether for too long its finding says, once its grace has passed
    if reasons:
        return reasons[0]
    return "Migrating" if guest.vmi.migrating or guest.open is not None else "Waiting"


def residual(site: Site, standings: Mapping[Ref, str]) -> Iterator[Finding]:
    if site.node is None or not standings:
        return
    counts = dict(sorted(Counter(standings.values()).items()))
    blocked = sorted(ref for ref, code in standings.items() if code in REASONS and REASONS[code].family is BLOCKED)
    number = len(standings)
    what = f"{number} {'VMIs are' if number > 1 else 'VMI is'} left on it: " + ", ".join(
        f"{count} {code}" for code, count in counts.items()
    )
    evidence = {
        "left": counts,
        "blocked": [f"{ref.namespace}/{ref.name}" for ref in blocked[:_NAMED]],
        "drain": list(site.signals),
        "maintenance": sorted(f"{each.name}: {each.phase}" for each in site.maintenances if each.phase),
        "maintenanceErrors": sorted(each.error for each in site.maintenances if each.error),
    }
    stalled = len(blocked) == number
    for reason, severity in (("NodeDrainResidual", Severity.INFO), ("NodeDrainStalled", Severity.WARNING)):
        if severity is Severity.INFO or stalled:
            yield Finding(
                reason=reason,
                severity=severity,
                subject=site.node.ref,
                message=what if severity is Severity.INFO else f"its drain does not get on: {what}",
                node=site.name,
                since=site.since[0] if severity is Severity.INFO else None,
                since_source=site.since[1] if severity is Severity.INFO else UNKNOWN[1],
                evidence={name: fact for name, fact in evidence.items() if fact},
            )
