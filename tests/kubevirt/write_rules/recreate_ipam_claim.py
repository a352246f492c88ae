"""It annotates a VMI, and changes nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from reconcile.plan.plan import Plan
from tests.kubevirt.audit_history import AuditHistory, Taken

__all__ = ["RULE"]


def _annotated(write: Taken, _: Plan, __: AuditHistory) -> Iterator[str]:
    before, after = write.before or {}, write.after or {}
    for field in ("spec", "status"):
        if before.get(field) != after.get(field):
            yield f"changes the {field}"
    had, has = (each.get("metadata") or {} for each in (before, after))
    for field in ("labels", "ownerReferences", "finalizers"):
        if had.get(field) != has.get(field):
            yield f"changes the {field}"


RULE = _annotated
