"""An IPAMClaim gets an owner that was there, and nothing but metadata."""

from __future__ import annotations

from collections.abc import Iterator

from reconcile.plan.plan import Plan
from tests.kubevirt.audit_history import AuditHistory, Taken
from tests.kubevirt.power_rules import VMIS, VMS

from ._objects import is_

__all__ = ["RULE"]


def _claim_metadata(write: Taken, plan: Plan, history: AuditHistory) -> Iterator[str]:
    before, after = (write.before or {}), (write.after or {})
    old = before["metadata"].get("ownerReferences") or []
    for owner in after.get("metadata", {}).get("ownerReferences") or ():
        if owner in old:
            continue
        place = VMS if owner["kind"] == "VirtualMachine" else VMIS
        states = history.states((*place, write.key[2], owner["name"]))
        if not any(is_(each, owner["uid"]) and each.since <= write.at for each in states):
            yield f"makes {owner['kind']} {owner['name']} with UID {owner['uid']} the owner, which never was there"
    if before.get("spec") != after.get("spec") or before.get("status") != after.get("status"):
        yield "changes more than the metadata of an IPAMClaim"


RULE = _claim_metadata
