"""A copy of an instancetype is deleted only while no VM refers to it."""

from __future__ import annotations

from collections.abc import Iterator

from reconcile.plan.plan import Plan
from tests.kubevirt.audit_history import AuditHistory, Taken
from tests.kubevirt.power_rules import READ, VMS

from ._objects import refers

__all__ = ["RULE"]


def _orphan_revision(write: Taken, plan: Plan, history: AuditHistory) -> Iterator[str]:
    for vm in history.there(VMS, write.key[2], write.at, for_seconds=READ):
        if refers(vm, write.key[3]):
            yield f"deletes the copy of an instancetype that VM {vm['metadata']['name']} refers to"


RULE = _orphan_revision
