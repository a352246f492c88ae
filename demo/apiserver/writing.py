"""Create, replace, patch and delete over HTTP: what the request may say, and which part of it counts.

Two traps of the real server are kept. A DELETE with a body takes `dryRun` and preconditions
from the body alone: `?dryRun=All` beside it does nothing, and the object is really deleted.
And `status` sent to the resource itself, or metadata sent to `/status`, is dropped without a word: 200.

Patches over HTTP: JSON merge patch, and the four operations of JSON patch (RFC 6902) that clients here use.

Of a strategic merge patch, which kubectl sends for built-in kinds, only what it shares with a merge patch: none that
merges lists of objects by their keys.
"""

import copy
import json
import uuid
from typing import Any

from .calls import ApiCall, PathTarget
from .errors import (
    ApiError,
    bad_request,
    invalid,
    invalid_object,
    method_not_allowed,
    modified,
    not_found,
    patch_failed,
    precondition,
    unsupported_patch,
)
from .registry import Registry, merged
from .resources import RESOURCES, Obj, ServedResource
from .storage import Key, Storage, Stored, stored

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


NAMESPACES = RESOURCES[0]
ON_CREATE = ("uid", "creationTimestamp", "resourceVersion", "generation", "deletionTimestamp")
"""Metadata that a new object doesn't bring along."""
PROPAGATION = {"Foreground": "foregroundDeletion", "Orphan": "orphan"}
"""Finalizers that these deletions add, for a collector to take off."""


class _DryRun(Storage):
    """Reads a storage, and writes nothing."""

    def __init__(self, storage: Storage) -> None:
        super().__init__()
        self._read = storage

    def get(self, resource: ServedResource, key: Key) -> Stored | None:
        return self._read.get(resource, key)

    def put(self, resource: ServedResource, key: Key, body: Obj) -> Stored:
        old = self.get(resource, key)
        return stored(resource, body, old.version if old else 0)

    def remove(self, resource: ServedResource, key: Key, last: Obj) -> Stored:
        return self.put(resource, key, last)


class WriteHandler:
    """Carries out writing requests."""

    def __init__(self, storage: Storage) -> None:
        self._real, self._dry = Registry(storage), Registry(_DryRun(storage))

    def write(self, call: ApiCall, target: PathTarget) -> tuple[int, bytes]:
        """HTTP status and body."""
        if call.method == "POST" and not target.name:
            return 201, self._create(call, target).encoded
        if not target.name:
            raise method_not_allowed()
        if call.method == "PUT":
            return 200, self._replace(call, target, call.json()).encoded
        if call.method == "PATCH":
            old = self._real.read(target.resource, target.key).body
            content_type = call.headers.get("Content-Type", "").partition(";")[0].strip()
            return 200, self._replace(
                call, target, patched(old, content_type, call.body, custom=target.resource.custom)
            ).encoded
        if call.method == "DELETE" and not target.subresource:
            return 200, self._delete(call, target)
        raise method_not_allowed()

    def _registry(self, asked: str | list[str] | None, options: str) -> Registry:
        """Only "All" is a dry run; the query says it as a string, a body as a list."""
        values = [asked] if isinstance(asked, str) else asked or []
        if any(value != "All" for value in values):
            listed = ", ".join(f'"{value}"' for value in values)
            text = f'Unsupported value: [{listed}]: supported values: "All"'
            raise invalid(f"{options}.meta.k8s.io", "", "dryRun", text)
        return self._dry if values else self._real

    def _create(self, call: ApiCall, target: PathTarget) -> Stored:
        resource, obj = target.resource, call.json()
        _same_type(resource, obj)
        meta = {k: v for k, v in (obj.get("metadata") or {}).items() if k not in ON_CREATE}
        if "name" not in meta and "generateName" in meta:
            meta["name"] = meta["generateName"] + uuid.uuid4().hex[:5]
        if "name" not in meta:
            text = "Required value: name or generateName is required"
            raise invalid_object(resource, "", "metadata.name", text)
        if resource.namespaced:
            self._in_its_namespace(meta, target)
        body = obj | {"metadata": meta}
        if resource.status:
            body.pop("status", None)
        return self._registry(call.query.get("dryRun"), "CreateOptions").create(resource, body)

    def _in_its_namespace(self, meta: Obj, target: PathTarget) -> None:
        if meta.setdefault("namespace", target.namespace) != target.namespace:
            raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
        try:
            self._real.read(NAMESPACES, ("", target.namespace))
        except ApiError as err:
            raise not_found(NAMESPACES, target.namespace) from err

    def _replace(self, call: ApiCall, target: PathTarget, new: Obj) -> Stored:
        """PUT and PATCH, once the new object is known."""
        resource = target.resource
        old = self._real.read(resource, target.key).body
        _same_type(resource, new)
        meta = new.get("metadata") or {}
        if meta.get("name", target.name) != target.name or meta.get("namespace", target.namespace) != target.namespace:
            raise bad_request("the name of the object does not match the name on the URL")
        if call.method == "PUT" and resource.custom and not meta.get("resourceVersion"):
            text = "Invalid value: 0: must be specified for an update"
            raise invalid_object(resource, target.name, "metadata.resourceVersion", text)
        body = new | {"metadata": {"name": target.name, "namespace": target.namespace} | meta}
        if not resource.namespaced:
            body["metadata"].pop("namespace")
        registry = self._registry(call.query.get("dryRun"), "UpdateOptions" if call.method == "PUT" else "PatchOptions")
        body = _counted(target, old, body)
        _admit(resource, old["metadata"], body["metadata"])
        return registry.update(resource, body)

    def _delete(self, call: ApiCall, target: PathTarget) -> bytes:
        options: Obj = call.json() if call.body else {"dryRun": call.query.get("dryRun")}
        registry = self._registry(options.get("dryRun"), "DeleteOptions")
        meta = registry.read(target.resource, target.key).body["metadata"]
        _hold(target.resource, meta, options.get("preconditions") or {})
        finalizer = PROPAGATION.get(options.get("propagationPolicy") or call.query.get("propagationPolicy", ""))
        row, gone = registry.delete(target.resource, target.key, (finalizer,) if finalizer else ())
        if not gone or target.resource.kind == "Pod":
            return row.encoded
        details = f'"name":"{target.name}","group":"{target.resource.group}","kind":"{target.resource.plural}"'
        return (
            '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success",'
            f'"details":{{{details},"uid":"{meta["uid"]}"}}}}'
        ).encode()


def _counted(target: PathTarget, old: Obj, new: Obj) -> Obj:
    """The part of a write that counts: of /status the status, of the resource the rest."""
    if not target.resource.status:
        return new
    if target.subresource == "status":
        claimed = {k: v for k, v in new["metadata"].items() if k in ("resourceVersion", "uid")}
        rest = {k: v for k, v in old.items() if k != "status"} | {"metadata": old["metadata"] | claimed}
        return rest | ({"status": new["status"]} if "status" in new else {})
    rest = {k: v for k, v in new.items() if k != "status"}
    return rest | ({"status": old["status"]} if "status" in old else {})


def _admit(resource: ServedResource, was: Obj, meta: Obj) -> None:
    """Whether an update may replace the metadata `was` by `meta`."""
    name = was["name"]
    if meta.get("resourceVersion", was["resourceVersion"]) != was["resourceVersion"]:
        raise modified(resource, name)
    uid = meta.get("uid", was["uid"])
    if uid != was["uid"]:
        raise invalid_object(resource, name, "metadata.uid", f'Invalid value: "{uid}": field is immutable')
    added = [f for f in meta.get("finalizers", ()) if f not in was.get("finalizers", ())]
    if added and "deletionTimestamp" in was:
        found = ", ".join(f'"{f}"' for f in added)
        text = (
            "Forbidden: no new finalizers can be added if the object is being deleted, "
            f"found new finalizers []string{{{found}}}"
        )
        raise invalid_object(resource, name, "metadata.finalizers", text)


def _hold(resource: ServedResource, meta: Obj, conditions: Obj) -> None:
    """Preconditions of a DELETE."""
    uid, version = conditions.get("uid"), conditions.get("resourceVersion")
    if uid is not None and uid != meta["uid"]:
        text = (
            f"the UID in the precondition ({uid}) does not match the UID in record ({meta['uid']}). "
            "The object might have been deleted and then recreated"
        )
        raise precondition(resource, meta["name"], text)
    if version is not None and version != meta["resourceVersion"]:
        text = (
            f"the ResourceVersion in the precondition ({version}) does not match the "
            f"ResourceVersion in record ({meta['resourceVersion']}). The object might have been modified"
        )
        raise precondition(resource, meta["name"], text)


def _same_type(resource: ServedResource, obj: Obj) -> None:
    given = obj.get("apiVersion", resource.api_version)
    if given != resource.api_version:
        raise bad_request(
            f"the API version in the data ({given}) does not match the expected API version ({resource.api_version})"
        )
    if obj.get("kind", resource.kind) != resource.kind:
        raise bad_request(f"the kind in the data ({obj['kind']}) does not match the expected kind ({resource.kind})")
