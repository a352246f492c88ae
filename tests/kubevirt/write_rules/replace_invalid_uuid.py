"""A UUID that identifies nobody is replaced in a VM that is off, by one that is nobody else's."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.facts.firmware import invalid
from reconcile.plan.plan import Plan
from tests.kubevirt.audit_history import AuditHistory, Taken
from tests.kubevirt.power_rules import READ, VMS

from ._objects import runs, uuid_of

__all__ = ["RULE"]


def _replaced(write: Taken, plan: Plan, history: AuditHistory) -> Iterator[str]:
    if runs(write, history):
        yield "gives another UUID to a VM that runs"
    if not invalid(uuid_of(write.before)):
        yield f"replaces {uuid_of(write.before)}, which identifies the VM"
    new = uuid_of(write.after)
    for each in history.there(VMS, "", write.at, for_seconds=READ):
        if uuid_of(each) == new and each["metadata"]["uid"] != (write.after or {})["metadata"]["uid"]:
            yield f"gives UUID {new}, which VM {each['metadata']['name']} has"


RULE = _replaced
