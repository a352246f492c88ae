"""Another MAC address is given to one interface of a VM that is off, and it is nobody else's."""

from __future__ import annotations

from collections.abc import Iterator

from reconcile.plan.plan import Plan
from tests.kubevirt.audit_history import AuditHistory, Taken
from tests.kubevirt.power_rules import READ, VMS
from tests.manifests import Object

from ._objects import runs

__all__ = ["RULE"]


def _reassigned(write: Taken, plan: Plan, history: AuditHistory) -> Iterator[str]:
    if runs(write, history):
        yield "gives another MAC address to a VM that runs"
    before, after = _macs(write.before), _macs(write.after)
    new = {name: mac for name, mac in after.items() if before.get(name) != mac}
    if before.keys() != after.keys() or len(new) != 1:
        yield f"changes {sorted(new)} of {sorted(before)}"
    for each in history.there(VMS, "", write.at, for_seconds=READ):
        taken = set(new.values()) & set(_macs(each).values())
        if taken and each["metadata"]["uid"] != (write.after or {})["metadata"]["uid"]:
            yield f"gives {taken}, which VM {each['metadata']['name']} has"


def _macs(vm: Object | None) -> dict[str, str]:
    """By the names of the interfaces."""
    domain = ((vm or {}).get("spec") or {}).get("template", {}).get("spec", {}).get("domain") or {}
    found = domain.get("devices", {}).get("interfaces") or ()
    return {each["name"]: each.get("macAddress", "") for each in found}


RULE = _reassigned
