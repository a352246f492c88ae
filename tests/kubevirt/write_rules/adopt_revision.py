"""A copy becomes that of the VM that refers to it, and of no other."""

from __future__ import annotations

from collections.abc import Iterator

from reconcile.plan.plan import Plan
from tests.kubevirt.audit_history import AuditHistory, Taken
from tests.kubevirt.power_rules import READ, VMS

from ._objects import refers

__all__ = ["RULE"]


def _adopted(write: Taken, plan: Plan, history: AuditHistory) -> Iterator[str]:
    (owner,) = (write.after or {})["metadata"]["ownerReferences"]
    vm = history.at((*VMS, write.key[2], owner["name"]), write.at - READ)
    if vm is None or vm["metadata"]["uid"] != owner["uid"] or not refers(vm, write.key[3]):
        yield "makes a VM the owner of a copy that it does not refer to"
    for each in history.there(VMS, write.key[2], write.at, for_seconds=READ):
        if each["metadata"]["uid"] != owner["uid"] and refers(each, write.key[3]):
            yield f"makes a VM the owner of a copy that VM {each['metadata']['name']} refers to as well"


RULE = _adopted
