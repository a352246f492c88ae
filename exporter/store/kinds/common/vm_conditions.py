"""What the conditions of a VM say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from sys import intern

from ...record import WireCondition, epoch

__all__ = ["failure_in", "restart_required_in", "stopped_in"]

_RESOLVING = ("FailedFindInstancetype", "FailedFindPreference", "FailedCreate")

Conditions = Iterable[WireCondition | None] | None


def stopped_in(conditions: Conditions) -> float | None:
    """Since when it has no VMI, in seconds since 1970."""
    for condition in _of_type(conditions, "Ready", "False"):
        return epoch(condition.last_transition_time) if condition.reason == "VMINotExists" else None
    return None


def failure_in(conditions: Conditions) -> tuple[str, str, float | None]:
    """Reason, message and time of the condition."""
    for condition in _of_type(conditions, "Failure", "True"):
        reason = intern(condition.reason or "")
        if reason not in _RESOLVING:
            return reason, "", None
        return reason, intern((condition.message or "")[:256]), epoch(condition.last_transition_time)
    return "", "", None


def restart_required_in(conditions: Conditions) -> tuple[str, float | None]:
    """Message and time of the condition."""
    for condition in _of_type(conditions, "RestartRequired", "True"):
        message = condition.message or condition.reason or condition.type or ""
        return intern(message[:256]), epoch(condition.last_transition_time)
    return "", None


def _of_type(conditions: Conditions, name: str, status: str) -> Iterator[WireCondition]:
    return (each for each in conditions or () if each and each.type == name and each.status == status)
