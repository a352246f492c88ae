"""Nothing of a VM but an annotation is written."""

from __future__ import annotations

from collections.abc import Iterator

from reconcile.plan.plan import Plan
from tests.kubevirt.audit_history import AuditHistory, Taken

__all__ = ["RULE"]


def _nudged(write: Taken, plan: Plan, history: AuditHistory) -> Iterator[str]:
    before, after = write.before or {}, write.after or {}
    if before.get("spec") != after.get("spec") or before.get("status") != after.get("status"):
        yield "changes more of a VM than an annotation"


RULE = _nudged
