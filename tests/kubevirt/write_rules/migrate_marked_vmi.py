"""A VMI is migrated that was asked to leave, and that no migration moves already."""

from __future__ import annotations

from collections.abc import Iterator

from reconcile.plan.plan import Plan
from tests.kubevirt.audit_history import AuditHistory, Taken
from tests.kubevirt.power_rules import ENDED, READ, VMIS

from ._objects import VMIMS

__all__ = ["RULE"]


def _migrated(write: Taken, plan: Plan, history: AuditHistory) -> Iterator[str]:
    name = (write.after or {})["spec"]["vmiName"]
    vmi = history.at((*VMIS, write.key[2], name), write.at)
    if vmi is None or not vmi.get("status", {}).get("evacuationNodeName"):
        if (history.at((*VMIS, write.key[2], name), write.at - READ) or {}).get("status", {}).get("evacuationNodeName"):
            return
        yield f"migrates VMI {name}, which nobody asked to leave"
    for each in history.there(VMIMS, write.key[2], write.at - 0.001, for_seconds=READ):
        done = each.get("status", {}).get("phase") in ENDED
        if each["spec"]["vmiName"] == name and not done:
            yield f"migrates VMI {name}, of which {each['metadata']['name']} has not finished"


RULE = _migrated
