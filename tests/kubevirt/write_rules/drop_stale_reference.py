"""A reference goes from the status of a VM whose spec has no matcher for it, and nothing else does."""

from __future__ import annotations

from collections.abc import Iterator

from reconcile.plan.plan import Plan
from tests.kubevirt.audit_history import AuditHistory, Taken

__all__ = ["RULE"]


def _dropped(write: Taken, plan: Plan, history: AuditHistory) -> Iterator[str]:
    before, after = write.before or {}, write.after or {}
    gone = before.get("status", {}).keys() - after.get("status", {}).keys()
    if gone not in ({"instancetypeRef"}, {"preferenceRef"}):
        yield f"takes {sorted(gone)} from the status of a VM"
    if any(before["spec"].get(each.removesuffix("Ref")) for each in gone):
        yield "takes a reference from a VM whose spec has it"


RULE = _dropped
