"""The canary of each remediation: its first repairs in mode `auto`, and what became of them.

    written ─> done ─> gone ─> stayed
       └─────────┴──────┴────> a strike: back, still there, in use, taken back, or not known

One repair is on trial at first, then two. A strike stops the remediation until a person resumes it. What turns out not
to have been written is no trial. It is the same after a restart, since it is made of nothing but entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import msgspec

from ..plan.plan import Plan
from .entry import Entry, Event

STEPS = (1, 2)
"""Repairs of each step: all of them have to hold before the next one begins."""

_STATES = {Event.DONE: "done", Event.VERIFIED: "gone", Event.STAYED: "stayed"}
_STRIKES: Mapping[Event, str] = MappingProxyType(
    {
        Event.RETURNED: "the finding came back",
        Event.PERSISTS: "the finding persists",
        Event.IN_USE: "what was released was in use",
        Event.TAKEN_BACK: "the repair was undone",
    }
)


def scope_of(remediation: str) -> str:
    """How the ledger names it where it is resumed."""
    return f"remediation {remediation}"


class Trial(msgspec.Struct, frozen=True, array_like=True):
    """One write on trial. `of` names what was tried, `object` is as in "Kind namespace/name", and `since` is when its
    state began, in seconds since 1970. One that does not `settle` its finding is followed for the time alone.
    """

    attempt: str
    of: str
    fingerprint: str
    object: str
    since: float
    settles: bool = True
    state: str = "written"


class Strike(msgspec.Struct, frozen=True, array_like=True):
    """What stopped it, one clause. `at` is in seconds since 1970."""

    at: float
    attempt: str
    object: str
    why: str


class Canary(msgspec.Struct, frozen=True, array_like=True):
    """That of one remediation."""

    trials: tuple[Trial, ...] = ()
    strike: Strike | None = None

    def passed(self, of: str) -> int:
        """How many findings stayed gone, of what is tried now."""
        return len({each.fingerprint for each in self.trials if each.of == of} - self.pending.keys())

    @property
    def pending(self) -> dict[str, list[Trial]]:
        """What is still to be seen, by the fingerprint of the finding."""
        found: dict[str, list[Trial]] = {}
        for each in self.trials:
            if each.state != "stayed":
                found.setdefault(each.fingerprint, []).append(each)
        return found

    def step(self, of: str) -> int:
        """The first is 1; 0 once all are over."""
        passed = self.passed(of)
        return next((number for number in range(1, len(STEPS) + 1) if passed < sum(STEPS[:number])), 0)

    def room(self, of: str) -> int:
        """How many findings may be repaired now: none while it is not known of a write whether it happened."""
        if any(each.state == "written" for each in self.trials):
            return 0
        return max(0, sum(STEPS[: self.step(of)]) - self.passed(of) - len(self.pending))

    def may_go_on(self, fingerprint: str) -> bool:
        """Whether it is on trial, and takes another write: the one before does not settle it."""
        own = self.pending.get(fingerprint, ())
        return bool(own) and all(each.state == "done" and not each.settles for each in own)


@dataclass
class Trials:
    """By remediation."""

    kept: dict[str, Canary] = field(default_factory=dict)

    def of(self, remediation: str) -> Canary:
        return self.kept.get(remediation, Canary())

    def add(self, entry: Entry) -> None:
        if entry.event is Event.INTENDED:
            if entry.canary and entry.plan is not None:
                self._begin(entry, entry.plan)
            return
        if entry.event is Event.RESUMED:
            for remediation in self.kept:
                if entry.scope == scope_of(remediation):
                    self.kept[remediation] = Canary(tuple(_pending(self.kept[remediation].trials)))
            return
        for remediation, canary in self.kept.items():
            trial = next((each for each in canary.trials if each.attempt == entry.attempt), None)
            if trial is not None:
                self.kept[remediation] = _after(canary, trial, entry)
                return

    def _begin(self, entry: Entry, plan: Plan) -> None:
        """What is tried now may be another thing than before: what passed of that no longer counts."""
        canary = self.of(plan.remediation)
        kept = [each for each in canary.trials if each.of == entry.canary or each.state != "stayed"]
        new = Trial(entry.attempt, entry.canary, plan.fingerprint, str(plan.bound_to), entry.at, settles=plan.settles)
        self.kept[plan.remediation] = Canary((*kept, new), canary.strike)

    def forget(self, before: float) -> None:
        """What is pending since then is not looked after any more."""
        for remediation, canary in self.kept.items():
            left = tuple(each for each in canary.trials if each.state == "stayed" or each.since > before)
            self.kept[remediation] = Canary(left, canary.strike)


def _pending(trials: Iterable[Trial]) -> Iterable[Trial]:
    return (each for each in trials if each.state != "stayed")


def _after(canary: Canary, trial: Trial, entry: Entry) -> Canary:
    event, others = entry.event, tuple(each for each in canary.trials if each is not trial)
    if event is Event.FAILED or (event is Event.RESOLVED and entry.happened is False):
        return Canary(others, canary.strike)
    clause = _STRIKES.get(event, "")
    if event is Event.RESOLVED and entry.happened is None:
        clause = "its outcome is unknown"
    if clause:
        if not canary.step(trial.of):
            return canary  # it was over by then: the edit war and the breaker count it
        why = f"{clause}: {entry.why}" if entry.why else clause
        # What is in use has no end yet.
        left = canary.trials if event is Event.IN_USE else others
        return Canary(left, canary.strike or Strike(entry.at, trial.attempt, trial.object, why))
    state = "done" if event is Event.RESOLVED else _STATES.get(event)
    if state is None:
        return canary
    changed = msgspec.structs.replace(trial, state=state, since=entry.at)
    return Canary(tuple(changed if each is trial else each for each in canary.trials), canary.strike)
