"""An evacuation request is cancelled by the node that it names, and not while that is drained."""

from __future__ import annotations

from collections.abc import Iterator

from reconcile.plan.plan import Call, Plan
from tests.kubevirt.audit_history import AuditHistory, Taken
from tests.kubevirt.power_rules import NODES, READ, VMIS, kept_off

__all__ = ["RULE"]


def _cancelled(write: Taken, plan: Plan, history: AuditHistory) -> Iterator[str]:
    """The audit log has no body of it, which went through to KubeVirt's own API server: the plan has it."""
    assert isinstance(plan.step, Call)
    name = str(plan.step.body.get("evacuationNodeName", ""))
    if not name:
        yield "cancels an evacuation without naming the node"
    vmi = history.at((*VMIS, *write.key[2:]), write.at - READ) or {}
    there = (vmi.get("status") or {}).get("nodeName") == name  # what has left already is waited for by no drain
    if there and history.lasted((*NODES, "", name), write.at, READ, kept_off):
        yield f"cancels the request to leave {name}, which is being drained"


RULE = _cancelled
