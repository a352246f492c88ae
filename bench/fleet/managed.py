"""managedFields as an API server keeps them: who wrote which field of an object, and when."""

from __future__ import annotations

import json
from typing import Any

from demo.apiserver.resources import Obj

__all__ = ["managed"]

_IDENTITIES = ("name", "uid", "type", "key", "containerPort", "mountPath", "ip")  # by which lists of core kinds merge
_SERVER = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")


def managed(obj: Obj, spec_by: str, status_by: str, time: str) -> list[Obj]:
    """Two writers: one of the metadata and what the object is to be, one of its status."""
    core = "." not in obj["apiVersion"].partition("/")[0]
    meta = {key: value for key, value in obj["metadata"].items() if key not in _SERVER}
    wanted = {key: value for key, value in obj.items() if key not in ("apiVersion", "kind", "metadata", "status")}
    entries = [_entry(obj, spec_by, time, _fields({"metadata": meta, **wanted}, merges=core))]
    if "status" in obj:
        observed = _fields({"status": obj["status"]}, merges=core)
        entries.append(_entry(obj, status_by, time, observed) | {"subresource": "status"})
    return entries


def _entry(obj: Obj, manager: str, time: str, fields: Obj) -> Obj:
    return {
        "manager": manager,
        "operation": "Update",
        "apiVersion": obj["apiVersion"],
        "time": time,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }


def _fields(value: Any, *, merges: bool) -> Obj:
    """Lists of custom resources are written as a whole, those of core kinds mostly by element."""
    if isinstance(value, dict):
        return {f"f:{key}": _fields(each, merges=merges) for key, each in value.items()}
    if not (merges and isinstance(value, list) and value and all(isinstance(each, dict) for each in value)):
        return {}
    key = next((each for each in _IDENTITIES if all(each in row for row in value)), None)
    if key is None:
        return {}
    return {
        f"k:{json.dumps({key: row[key]}, separators=(',', ':'))}": {".": {}, **_fields(row, merges=merges)}
        for row in value
    }
