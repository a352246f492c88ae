"""Patches over HTTP: JSON merge patch, and the four operations of JSON patch (RFC 6902) that clients here use.

Of a strategic merge patch, which kubectl sends for built-in kinds, only what it shares with a merge patch: none that
merges lists of objects by their keys.
"""

import copy
import json
from typing import Any

from .errors import bad_request, patch_failed, unsupported_patch
from .registry import merged
from .resources import Obj

MERGE = "application/merge-patch+json"
JSON = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


def patched(old: Obj, content_type: str, body: bytes, *, custom: bool = False) -> Obj:
    """The object, which may be of a `custom` resource, after a patch; the old one is left alone."""
    try:
        patch = json.loads(body)
    except ValueError as err:
        raise bad_request(f"error decoding patch: {err}") from err
    if content_type == STRATEGIC and not custom and not _merges_by_key(patch):
        content_type = MERGE
    if content_type == MERGE and isinstance(patch, dict):
        new: Obj = merged(old, patch)
        return new
    if content_type == JSON and isinstance(patch, list):
        return _all_applied(old, patch)
    if content_type in (MERGE, JSON):
        raise bad_request("error decoding patch: json: cannot unmarshal")
    raise unsupported_patch()


def _merges_by_key(patch: Any) -> bool:
    if isinstance(patch, dict):
        return any(key.startswith("$") or _merges_by_key(value) for key, value in patch.items())
    return isinstance(patch, list) and any(isinstance(each, dict) for each in patch)


def _all_applied(old: Obj, operations: list[Any]) -> Obj:
    """All operations or none; which one failed, and why, the real server doesn't say either."""
    result: Obj = copy.deepcopy(old)
    try:
        for operation in operations:
            _apply(result, operation)
    except (KeyError, IndexError, ValueError, TypeError, AttributeError) as err:
        raise patch_failed() from err
    return result


def _apply(root: Obj, operation: Obj) -> None:
    op = operation["op"]
    steps = [step.replace("~1", "/").replace("~0", "~") for step in operation["path"].split("/")[1:]]
    parent: Any = root
    for step in steps[:-1]:
        parent = parent[_place(parent, step)]
    place = _place(parent, steps[-1], append=op == "add")
    if op == "test":
        if parent[place] != operation["value"]:
            raise ValueError(operation["path"])
    elif op == "remove":
        del parent[place]
    elif op == "replace":
        _ = parent[place]  # it must be there
        parent[place] = operation["value"]
    elif op == "add" and isinstance(parent, list):
        if place > len(parent):
            raise IndexError(operation["path"])
        parent.insert(place, operation["value"])
    elif op == "add":
        parent[place] = operation["value"]
    else:
        raise ValueError(op)


def _place(parent: Any, step: str, *, append: bool = False) -> Any:
    if not isinstance(parent, list):
        return step
    if append and step == "-":
        return len(parent)
    index = int(step)
    if index < 0:
        raise IndexError(step)
    return index
