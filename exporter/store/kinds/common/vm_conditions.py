"""What the conditions of a VM say."""

from __future__ import annotations

from collections.abc import Iterable
from sys import intern

from ...record import WireCondition, epoch

_RESOLVING = ("FailedFindInstancetype", "FailedFindPreference", "FailedCreate")

Conditions = Iterable[WireCondition | None] | None


def stopped_in(conditions: Conditions) -> float | None:
    """Since when it has no VMI, in seconds since 1970."""
    condition = _first(conditions, "Ready", "False")
    if condition is None or condition.reason != "VMINotExists":
        return None
    return epoch(condition.last_transition_time)


def failure_in(conditions: Conditions) -> tuple[str, str, float | None]:
    """Reason, message and time of the condition."""
    condition = _first(conditions, "Failure", "True")
    if condition is None:
        return "", "", None
    reason = intern(condition.reason or "")
    if reason not in _RESOLVING:
        return reason, "", None
    return reason, intern((condition.message or "")[:256]), epoch(condition.last_transition_time)


def restart_required_in(conditions: Conditions) -> tuple[str, float | None]:
    """Message and time of the condition."""
    condition = _first(conditions, "RestartRequired", "True")
    if condition is None:
        return "", None
    message = condition.message or condition.reason or condition.type or ""
    return intern(message[:256]), epoch(condition.last_transition_time)


def _first(conditions: Conditions, name: str, status: str) -> WireCondition | None:
    for each in conditions or ():
        if each is not None and each.type == name and each.status == status:
            return each
    return None
