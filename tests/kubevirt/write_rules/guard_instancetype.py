"""What is guarded is used, and not changed."""

from __future__ import annotations

from collections.abc import Iterator

from reconcile.plan.plan import Plan
from tests.kubevirt.audit_history import AuditHistory, Taken
from tests.kubevirt.power_rules import VMS
from tests.manifests import Object

__all__ = ["RULE", "WHILE_SAVED"]

WHILE_SAVED = True


def _guarded(write: Taken, plan: Plan, history: AuditHistory) -> Iterator[str]:
    name = write.key[3]
    if not any(name in _asked_for(each) for each in history.there(VMS, write.key[2], write.at)):
        yield f"guards {name}, which no VM uses"
    if (write.before or {}).get("spec") != (write.after or {}).get("spec"):
        yield "changes the spec of an instancetype"


def _asked_for(vm: Object) -> set[str]:
    return {str((vm["spec"].get(role) or {}).get("name")) for role in ("instancetype", "preference")}


RULE = _guarded
