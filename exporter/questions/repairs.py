"""The repairs that the sidecar reports: in which state each is, in words, and whether they are current."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from ..sidecar import Repairs, ReportedCanary, ReportedRepair, ReportedUnseen
from .times import rfc3339

_K = TypeVar("_K")
REPAIR_STATES: Mapping[str, str] = {
    "waiting": "The repair waits for somebody to approve of its plan.",
    "unclear": "The repair was sent, and nobody knows yet whether it arrived.",
    "failed": "The repair failed.",
    "proposed": "It is for somebody else to carry out: the plan says whom, and how.",
    "blocked": "The repair is held back.",
    "refused": "The repair is refused, since it would not be safe or needed now.",
    "planned": "The repair is planned. In this mode, the sidecar writes nothing by itself.",
    "verifying": "The repair was written; whether the finding goes is being looked at.",
    "done": "The repair was written, and the finding went.",
}
"""What a state means, in a sentence; those that wait for somebody first."""


class Reconcile(msgspec.Struct, frozen=True, rename="camel"):
    """The sidecar as it last answered: the mode of each remediation, and whether it is the one that acts; `leader` is
    who is, where that is known.

    `unseen` are objects that can't be read and are in the way of repairs, the worst first, as many as are shown.
    `canaries` are how far first repairs of remediations are that run unasked.
    `unknown_since` is RFC 3339 in UTC, and `why` a sentence, while it does not answer; else both are empty.
    """

    leading: bool
    modes: dict[str, str]
    unknown_since: str
    why: str
    unseen: tuple[ReportedUnseen, ...] = ()
    canaries: tuple[ReportedCanary, ...] = ()
    leader: str = ""

    @property
    def stands_by(self) -> bool:
        """Whether the sidecar answers and another one acts: it has no plans."""
        return not self.leading and not self.why


def reconcile_of(repairs: Repairs) -> Reconcile | UnsetType:
    """UNSET where no sidecar is asked."""
    if not repairs.followed:
        return UNSET
    since, why = rfc3339(repairs.unknown_since), repairs.why
    plans = repairs.plans
    if plans is None:
        return Reconcile(False, {}, since, why)
    return Reconcile(plans.leading, plans.modes, since, why, plans.unseen, plans.canaries, plans.leader)


class RepairGroups(msgspec.Struct, frozen=True):
    """Repairs by what has to happen next: `waiting` for an approval, `written`, and `others` by their state. `refused`
    are grouped by remediation and the precondition that does not hold, `blocked` by gate.
    """

    waiting: tuple[ReportedRepair, ...]
    written: tuple[ReportedRepair, ...]
    others: dict[str, tuple[ReportedRepair, ...]]
    refused: dict[tuple[str, str], tuple[ReportedRepair, ...]]
    blocked: dict[str, tuple[ReportedRepair, ...]]


def grouped(repairs: Iterable[ReportedRepair]) -> RepairGroups:
    by_state: dict[str, list[ReportedRepair]] = {}
    for each in repairs:
        by_state.setdefault(each.state, []).append(each)
    refused: dict[tuple[str, str], list[ReportedRepair]] = {}
    for each in by_state.pop("refused", []):
        refused.setdefault((each.remediation, each.refused.precondition if each.refused else ""), []).append(each)
    blocked: dict[str, list[ReportedRepair]] = {}
    for each in by_state.pop("blocked", []):
        for gate in each.blocked:
            blocked.setdefault(gate.gate, []).append(each)
    waiting = tuple(by_state.pop("waiting", ()))
    written = tuple(each for state in _WRITTEN for each in by_state.pop(state, ()))
    return RepairGroups(waiting, written, _tuples(by_state), _tuples(refused), _tuples(blocked))


_WRITTEN = ("unclear", "failed", "verifying", "done")


def _tuples(groups: dict[_K, list[ReportedRepair]]) -> dict[_K, tuple[ReportedRepair, ...]]:
    """The largest first."""
    return {key: tuple(each) for key, each in sorted(groups.items(), key=lambda item: -len(item[1]))}


def pause_command(repair: ReportedRepair) -> str:
    """Pauses repairs of the object that a plan is bound to; empty without a plan."""
    target = repair.bound_to
    if target is None or not repair.hash:
        return ""
    name = f"{target.namespace}/{target.name}" if target.namespace else target.name
    return shlex.join(("steward", "reconcile", "pause", target.kind, name))
