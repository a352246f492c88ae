"""What KubeVirt's snapshots and restores say of a stand-still, in their condition Progressing."""

from __future__ import annotations

from collections.abc import Iterable

from ....facts.record import WireCondition, epoch


def stalled(conditions: Iterable[WireCondition | None] | None) -> tuple[str, float | None]:
    """Why it makes no progress, and since when; an empty text where it makes some, or has said nothing yet.

    The text stands in the reason, which is a sentence there (newProgressingCondition of pkg/storage/snapshot of
    kubevirt/kubevirt).
    """
    for each in conditions or ():
        if each and each.type == "Progressing" and each.status == "False":
            return each.reason or each.message or "", epoch(each.last_transition_time)
    return "", None
