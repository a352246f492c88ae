"""A copy comes back as it was, for the VM that refers to it."""

from __future__ import annotations

from collections.abc import Iterator

from reconcile.plan.plan import Plan
from tests.kubevirt.audit_history import AuditHistory, Taken
from tests.kubevirt.power_rules import READ, VMS

from ._objects import REVISIONS, refers

__all__ = ["RULE"]


def _restored_revision(write: Taken, plan: Plan, history: AuditHistory) -> Iterator[str]:
    if write.verb != "create":
        lost = next(op.value for op in getattr(plan.step, "ops", ()) if op.path.endswith("controllerRevisionRef/name"))
        if history.at((*REVISIONS, write.key[2], lost), write.at - READ) is not None:
            yield f"drops the reference to {lost}, which is there"
        return
    made = write.after or {}
    was = [each.thing for each in history.states(write.key) if each.thing and each.since < write.at]
    if was and was[-1]["data"].get("spec") != made["data"].get("spec"):
        yield "creates the copy with another content than it had"
    (owner,) = made["metadata"]["ownerReferences"]
    vm = history.at((*VMS, write.key[2], owner["name"]), write.at)
    if vm is None or vm["metadata"]["uid"] != owner["uid"] or not refers(vm, write.key[3]):
        yield "creates a copy that its VM does not refer to"


RULE = _restored_revision
