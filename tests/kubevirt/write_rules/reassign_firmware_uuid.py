"""Another UUID is given to a VM that is off, and it is nobody else's."""

from __future__ import annotations

from collections.abc import Iterator

from reconcile.plan.plan import Plan
from tests.kubevirt.audit_history import AuditHistory, Taken
from tests.kubevirt.power_rules import READ, VMS

from ._objects import runs, uuid_of

__all__ = ["RULE"]


def _reassigned(write: Taken, plan: Plan, history: AuditHistory) -> Iterator[str]:
    if runs(write, history):
        yield "gives another UUID to a VM that runs"
    new = uuid_of(write.after)
    for each in history.there(VMS, "", write.at, for_seconds=READ):
        if uuid_of(each) == new and each["metadata"]["uid"] != (write.after or {})["metadata"]["uid"]:
            yield f"gives UUID {new}, which VM {each['metadata']['name']} has"


RULE = _reassigned
