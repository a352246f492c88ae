"""Another serial is given to a VM that is off, and it is nobody else's."""

from __future__ import annotations

from collections.abc import Iterator

from reconcile.plan.plan import Plan
from tests.kubevirt.audit_history import AuditHistory, Taken
from tests.kubevirt.power_rules import READ, VMS

from ._objects import firmware_of, runs

__all__ = ["RULE"]


def _reassigned(write: Taken, plan: Plan, history: AuditHistory) -> Iterator[str]:
    if runs(write, history):
        yield "gives another serial to a VM that runs"
    new = firmware_of(write.after).get("serial")
    for each in history.there(VMS, "", write.at, for_seconds=READ):
        if firmware_of(each).get("serial") == new and each["metadata"]["uid"] != (write.after or {})["metadata"]["uid"]:
            yield f"gives serial {new}, which VM {each['metadata']['name']} has"
    if firmware_of(write.before).get("uuid") != firmware_of(write.after).get("uuid"):
        yield "changes the UUID too"


RULE = _reassigned
