"""An IPAMClaim gets an owner that was there; one in deletion loses an address, and does not go by itself."""

from __future__ import annotations

from collections.abc import Iterator

from reconcile.plan.plan import Plan
from tests.kubevirt.audit_history import AuditHistory, Taken

from .repair_ipam_claim_metadata import RULE as METADATA

__all__ = ["RULE"]


def _adopted(write: Taken, plan: Plan, history: AuditHistory) -> Iterator[str]:
    if plan.loses:
        yield "loses an address, and was not to run"
    else:
        yield from METADATA(write, plan, history)


RULE = _adopted
