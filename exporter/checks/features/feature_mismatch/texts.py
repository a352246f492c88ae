"""What a finding says: why the feature is not allowed, and what that means for this VM."""

from __future__ import annotations

from ....domain.features.rule import Migrates, Rule, Stage
from .states import MismatchState, Pair

_NAMED = 3  # things that are not allowed, in a message
_ENDS = {
    "PendingBlocked": "it cannot start",
    "PendingStartedBefore": "it was admitted before and starts this once, and not again",
    "StoppedRequestsDisabled": "it will not start",
    "HealsAtRestart": "the VM no longer asks for it, so that a restart settles it",
    "WillFailAtRestart": "it runs without it, and its next start fails",
    "MigrationBlocked": "it runs on, but its live migration will fail, and a drain of its node will hang",
}


# What its next start comes to: only a webhook refuses the VMI itself.
_NEXT_START = {
    Stage.ADMISSION: "such a VMI is refused at its next start",
    Stage.EDIT: "every edit of the VM is refused",
    Stage.CREATION: "such a VMI is refused at its next start",
    Stage.POD: "its next VMI stays Pending, since KubeVirt makes no launcher pod for it",
    Stage.SCHEDULING: "its next VMI stays in Scheduling, since no node starts its launcher pod",
}


def message(rule: Rule, stage: Stage, pair: Pair, state: MismatchState, whys: tuple[str, ...]) -> str:
    who = "The VM asks for" if pair.vmi is None or state.reason == "WillFailAtRestart" else "The VMI uses"
    return f"{who} {rule.phrase}, and {_because(whys)}: {_end(rule, stage, pair, state)}{_answer(rule)}."


def _because(whys: tuple[str, ...]) -> str:
    more = f" and {len(whys) - _NAMED} more" if len(whys) > _NAMED else ""
    return " and ".join(whys[:_NAMED]) + more


def _end(rule: Rule, stage: Stage, pair: Pair, state: MismatchState) -> str:
    if stage is Stage.EDIT:
        return "every edit of the VM is refused"
    if state.reason == "NotEditable":
        fails = state.severity == "critical" and rule.migrates is Migrates.UNSCHEDULABLE
        migration = ", and its live migration will fail" if fails and _migratable(pair) else ""
        return f"it runs on{migration}, every edit of the VM is refused, and so will be its next start"
    if state.reason == "StartBlocked" and stage is Stage.ADMISSION:
        return "it cannot start, and every edit of it is refused"
    if state.reason == "StoppedRequestsDisabled" and stage is Stage.ADMISSION:
        return "it will not start, and every edit of it is refused"
    if state.reason == "RunningStartedBefore":
        return _runs_on(stage)
    if stage in (Stage.LIVE, Stage.OBJECT):
        return "it is ignored"
    return _ENDS.get(state.reason, "it cannot start")


def _runs_on(stage: Stage) -> str:
    if stage in (Stage.LIVE, Stage.OBJECT):
        return "it is ignored"
    return f"it runs on, and {_NEXT_START[stage]}"


def _migratable(pair: Pair) -> bool:
    return pair.vmi is not None and pair.vmi.migratable == "True"


def _answer(rule: Rule) -> str:
    return f' ("{rule.message}")' if rule.message else ""
