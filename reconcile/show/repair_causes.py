"""Repairs by remediation and cause: one row for 40 IPAMClaims of one network. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from .plans import Repair

_FIRST = 5  # objects that are named


class RepairCause(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """All repairs of one remediation that have one cause. `concerns` is the cause in words, empty where none of them
    has a plan; `states` counts the repairs, and `first` are some of the findings' subjects.
    """

    remediation: str
    check: str
    reason: str
    cause: str
    concerns: str
    repairs: int
    states: dict[str, int]
    first: tuple[str, ...]


def grouped(repairs: Iterable[Repair]) -> list[RepairCause]:
    """Those of the most repairs first."""
    found: dict[tuple[str, ...], list[Repair]] = {}
    for each in repairs:
        cause = each.cause or f"namespace {each.namespace}"
        found.setdefault((each.remediation, each.check, each.reason, cause), []).append(each)
    rows = [
        RepairCause(
            remediation=own[0].remediation,
            check=own[0].check,
            reason=own[0].reason,
            cause=own[0].cause,
            concerns=next((each.concerns for each in own if each.concerns), ""),
            repairs=len(own),
            states=dict(sorted(Counter(state_of(each) for each in own).items())),
            first=tuple(each.subject for each in own[:_FIRST]),
        )
        for own in found.values()
    ]
    return sorted(rows, key=lambda row: (-row.repairs, row.remediation, row.concerns, row.cause))


def state_of(repair: Repair) -> str:
    """A plan that a gate holds back is blocked; one that only waits for the canary of its remediation is held."""
    if repair.state not in ("planned", "blocked") or not repair.blocked:
        return repair.state
    return "held" if {each.gate for each in repair.blocked} == {"canary"} else "blocked"
