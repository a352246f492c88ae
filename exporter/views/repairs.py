"""Whether the repairs that findings are shown with are current."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from ..sidecar.repairs import Repairs, ReportedCanary, ReportedUnseen
from .times import rfc3339

__all__ = ["Reconcile", "reconcile_of"]


class Reconcile(msgspec.Struct, frozen=True, rename="camel"):
    """The sidecar as it last answered: the mode of each remediation, and whether it is the one that acts.

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


def reconcile_of(repairs: Repairs) -> Reconcile | UnsetType:
    """UNSET where no sidecar is asked."""
    if not repairs.followed:
        return UNSET
    since, why = rfc3339(repairs.unknown_since), repairs.why
    plans = repairs.plans
    if plans is None:
        return Reconcile(False, {}, since, why)
    return Reconcile(plans.leading, plans.modes, since, why, plans.unseen, plans.canaries)
