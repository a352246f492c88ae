"""Who wrote which field of an object last, as the API server keeps it in `metadata.managedFields`.

Of an Update the fields that it changed become those of its manager alone
(sigs.k8s.io/structured-merge-diff/merge/update.go). Lists are one field here.
"""

from __future__ import annotations

from typing import Any

__all__ = ["KINDS", "signed"]

Obj = dict[str, Any]
KINDS = frozenset({"VirtualMachine", "ControllerRevision"})
"""Of others nobody asks."""

_KEPT = ("metadata", "spec", "data", "status")
_OWN = ("managedFields", "resourceVersion", "uid", "creationTimestamp", "name", "namespace", "generation")


def signed(before: Obj | None, after: Obj, manager: str, time: str) -> list[Obj]:
    """The managedFields of an object that a manager has created or changed; `time` is when, in whole seconds."""
    old = _fields(before) if before is not None else {}
    new = _fields(after)
    changed = _changed(old, new)
    entries: list[Obj] = list(((before or after).get("metadata") or {}).get("managedFields") or ())
    gone = _changed(new, old)  # what is not there any more, or is another
    if not changed and not gone:
        return entries
    subresource = "status" if before is not None and "status" in before and set(changed) <= {"f:status"} else ""
    own = [each for each in entries if each["manager"] == manager and each.get("subresource", "") == subresource]
    kept = [_lacking(each, gone) for each in entries if each not in own]
    fields = _merged(_without(own[0]["fieldsV1"], gone) if own else {}, changed)
    entry: Obj = {"manager": manager, "operation": "Update", "apiVersion": after.get("apiVersion"), "time": time}
    entry |= {"fieldsType": "FieldsV1", "fieldsV1": fields} | ({"subresource": subresource} if subresource else {})
    return [*(each for each in kept if each["fieldsV1"]), *((entry,) if fields else ())]


def _fields(thing: Obj) -> Obj:
    found: Obj = {name: thing[name] for name in _KEPT if isinstance(thing.get(name), dict)}
    found["metadata"] = {name: value for name, value in thing["metadata"].items() if name not in _OWN}
    return found


def _changed(before: Any, after: Obj) -> Obj:
    found: Obj = {}
    for name, value in after.items():
        old = before.get(name, signed) if isinstance(before, dict) else signed
        if value == old:
            continue
        if isinstance(value, dict) and value:
            if below := _changed(old, value):
                found[f"f:{name}"] = below
        else:
            found[f"f:{name}"] = {}
    return found


def _lacking(entry: Obj, gone: Obj) -> Obj:
    return entry | {"fieldsV1": _without(entry["fieldsV1"], gone)}


def _without(fields: Obj, gone: Obj) -> Obj:
    found: Obj = {}
    for name, below in fields.items():
        if name not in gone:
            found[name] = below
        elif below and gone[name] and (left := _without(below, gone[name])):
            found[name] = left
    return found


def _merged(one: Obj, other: Obj) -> Obj:
    return {name: _merged(one.get(name, {}), other.get(name, {})) for name in {**one, **other}}
