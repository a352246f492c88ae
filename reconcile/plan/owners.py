"""Who else decides what a write would change, so that the write would be reverted: pure.

A GitOps tool or an operator restores the spec of the objects that it owns, and the objects themselves. Annotations and
finalizers that it does not know, the status, and objects that controllers made of its own are in nobody's way, unless
managedFields say that somebody owns these very fields by server-side apply.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from .known_owners import JSON_PATCH, KnownOwner, known_owners
from .managed_fields import applied, entries, touches
from .plan import Create, Delete, Op, Patch, Plan, Proposal, Remove, Step, Test
from .requests import MANAGER


def claimed(plan: Plan, whole: Mapping[str, Any]) -> Proposal | None:
    """Who would revert this write on this object, and what to change instead; None where nobody would.

    `whole` is the object that the plan is bound to. The first that is found is named.
    """
    step = plan.step
    ops = step.ops if isinstance(step, Patch) else ()
    if isinstance(step, Create) or not (ops or isinstance(step, Delete)):
        return None  # a new object is nobody's, and of the rest nothing is kept in a spec
    written = [op.path for op in ops if not isinstance(op, Test)]
    status = isinstance(step, Patch) and bool(step.subresource)
    deep = isinstance(step, Delete) or any(not path.startswith("/metadata/") for path in written)
    owners = known_owners(whole, written) if not status else ()
    owner = next((each for each in owners if deep or each.metadata), None)
    owner = owner or _applying(step, ops, whole)
    return Proposal(owner=owner.name, where=owner.where, patch=_text(step, ops, owner)) if owner is not None else None


def rival(before: Mapping[str, Any], after: Mapping[str, Any], ops: tuple[Op, ...]) -> str:
    """The field manager that took back what a write had changed; empty where managedFields do not say.

    `before` is the object before the write or right after it, `after` as it was found again. Of several it is the
    newest one that owns what the write would change anew; where what it took back has no owner, the newest one that
    wrote since.
    """
    known = entries(before)
    since = [each for each in entries(after) if each not in known and each.get("manager") != MANAGER]
    if not all(op.path.startswith("/status/") for op in ops):
        since = [each for each in since if not each.get("subresource")]  # a write of the status changes nothing else
    try:
        again = applied(after, ops)
    except ValueError:
        again = after
    owning = [each for each in since if touches(each.get("fieldsV1"), after, again)]
    newest = max(owning or since, key=lambda each: str(each.get("time") or ""), default={})
    return str(newest.get("manager") or "")


def _applying(step: Step, ops: tuple[Op, ...], whole: Mapping[str, Any]) -> KnownOwner | None:
    """Whoever owns by server-side apply what the step writes, or spec or data of what it deletes."""
    subresource = step.subresource if isinstance(step, Patch) else ""
    for each in entries(whole):
        manager = str(each.get("manager") or "")
        person = manager == "kubectl" or manager.startswith("kubectl-")
        ours = manager == MANAGER or manager.startswith("virt-")  # KubeVirt's, which know what they share
        if each.get("operation") != "Apply" or person or ours or str(each.get("subresource") or "") != subresource:
            continue
        if _contested(each.get("fieldsV1"), step, ops, whole):
            return KnownOwner(f"field manager `{manager}`", f"Change it where {manager} has it from.")
    return None


def _contested(fields: Any, step: Step, ops: tuple[Op, ...], whole: Mapping[str, Any]) -> bool:
    if isinstance(step, Delete):
        return isinstance(fields, dict) and ("f:spec" in fields or "f:data" in fields)
    try:
        return touches(fields, whole, applied(whole, ops))
    except ValueError:
        return True  # nobody knows what it would change


def _text(step: Step, ops: tuple[Op, ...], owner: KnownOwner) -> str:
    """The change as a merge patch, else as a JSON patch; empty for a deletion."""
    changes = [op for op in ops if not isinstance(op, Test)]
    if owner.name.startswith("the HyperConverged"):
        if JSON_PATCH not in owner.where:
            return ""
        text = msgspec.json.encode(changes).decode()
        return _pretty({"metadata": {"annotations": {JSON_PATCH: text}}})
    paths = [[token.replace("~1", "/").replace("~0", "~") for token in op.path.split("/")[1:]] for op in changes]
    if any(each == "-" or each.isdecimal() for path in paths for each in path):
        return _pretty(msgspec.to_builtins(ops))
    merged: dict[str, Any] = {}
    for op, (*path, last) in zip(changes, paths, strict=True):
        holder = merged
        for token in path:
            holder = holder.setdefault(token, {})
        holder[last] = None if isinstance(op, Remove) else op.value
    return _pretty(merged) if merged and not isinstance(step, Delete) else ""


def _pretty(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
