"""What is noted on a VMI is the node that it is on, and nothing else of it changes."""

from __future__ import annotations

from collections.abc import Iterator

from reconcile.plan.plan import Plan
from tests.kubevirt.audit_history import AuditHistory, Taken
from tests.kubevirt.power_rules import notes

__all__ = ["RULE"]

PAUSED_ON = "example.com/paused-on"


def _noted(write: Taken, plan: Plan, history: AuditHistory) -> Iterator[str]:
    before, after = write.before or {}, write.after or {}
    node = before.get("status", {}).get("nodeName")
    if notes(after).get(PAUSED_ON) != node:
        yield f"notes node {notes(after).get(PAUSED_ON)} on a VMI that is on {node}"
    if before.get("spec") != after.get("spec"):
        yield "changes the spec of a VMI"


RULE = _noted
