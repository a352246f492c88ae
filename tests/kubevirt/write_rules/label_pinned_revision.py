"""The labels of a copy say what is in it, and the content stays."""

from __future__ import annotations

from collections.abc import Iterator

from reconcile.plan.plan import Plan
from tests.kubevirt.audit_history import AuditHistory, Taken

__all__ = ["RULE"]


def _labelled(write: Taken, plan: Plan, history: AuditHistory) -> Iterator[str]:
    before, after = write.before or {}, write.after or {}
    meta, labels = after["data"]["metadata"], after["metadata"].get("labels") or {}
    if before.get("data") != after["data"]:
        yield "changes the content of a copy"
    for name in ("name", "uid", "generation"):
        if labels.get(f"instancetype.kubevirt.io/object-{name}") != str(meta[name]):
            yield f"labels a copy with another {name} than it has"


RULE = _labelled
