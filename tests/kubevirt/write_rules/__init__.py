"""What has to hold of a write of the sidecar at the moment at which the API server took it, said a second time.

Nothing of the product decides here: objects are those of the audit log. A condition on other objects than the written
one counts as broken once it was so for `READ` seconds: no precondition of a write can name them, and what is read right
before a write is at most that old.

Each remediation has a module here with its id for a name. It defines `RULE`, and `WHILE_SAVED = True` where it may
write while the VM is saved or restored. It may define `ACTS`: what goes wrong in an hour of random faults so that it is
needed, beside what tests/kubevirt/fault_acts.py has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from reconcile.plan.plan import Plan
from tests.kubevirt.audit_history import AuditHistory, Taken
from tests.kubevirt.faulty import Act
from tests.kubevirt.power_rules import READ, paused, saved

from ._objects import Rule

__all__ = ["ACTS", "READ", "RULES", "bound", "broken"]

_MODULES = {
    found.name: import_module(f"{__name__}.{found.name}")
    for found in iter_modules(__path__)
    if not found.name.startswith("_")
}
RULES: dict[str, Rule] = {name: module.RULE for name, module in _MODULES.items()}
"""By the ids of the remediations."""
ACTS: tuple[Act, ...] = tuple(act for module in _MODULES.values() for act in getattr(module, "ACTS", ()))
_WHILE_SAVED = {name for name, module in _MODULES.items() if getattr(module, "WHILE_SAVED", False)}


def broken(write: Taken, plan: Plan, history: AuditHistory) -> list[str]:
    """What did not hold, one clause each; empty for a write that was right."""
    rules = (RULES[plan.remediation], paused, *(() if plan.remediation in _WHILE_SAVED else (saved,)))
    return [*bound(write), *(each for rule in rules for each in rule(write, plan, history))]


def bound(write: Taken) -> Iterator[str]:
    """Whether it names the UID and the resourceVersion of the object that it met; where a write came between whose end
    is not known, a later resourceVersion, which the API server compares itself.
    """
    if write.verb == "create" or write.subresource.startswith("evacuate"):
        return
    meta = (write.before or {}).get("metadata") or {}
    named = _preconditions(write)
    for field in ("uid", "resourceVersion"):
        if not named.get(field):
            yield f"has no precondition on {field}"
        elif named[field] != meta.get(field) and not (field == "resourceVersion" and _later(write, named[field])):
            yield f"was taken for {field} {named[field]} of an object with {meta.get(field)}"


def _later(write: Taken, version: str) -> bool:
    return write.unsure and write.before is not None and int(version) > int(write.before["metadata"]["resourceVersion"])


def _preconditions(write: Taken) -> Mapping[str, Any]:
    body = write.body
    if isinstance(body, list):
        return {op["path"].rpartition("/")[2]: op["value"] for op in body if op["op"] == "test"}
    if isinstance(body, dict):
        found: Mapping[str, Any] = body.get("preconditions") or body.get("metadata") or {}
        return found
    return {}
