"""What the API server does by itself when an object is written.

uid, creationTimestamp and generation; deletion that waits for finalizers.

Not here: defaulting, validation by schema, managed fields, garbage collection. An object
whose owner is gone stays, as in a cluster whose collector is down.
"""

import copy
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from .errors import already_exists, not_found
from .resources import Obj, ServedResource
from .storage import Key, Storage, Stored, stored

KEPT = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")
"""Metadata that an update can't change: the server puts back what it had."""


def key_of(resource: ServedResource, obj: Obj) -> Key:
    meta = obj.get("metadata", {})
    return (meta.get("namespace", "") if resource.namespaced else "", meta["name"])


def utc_now() -> datetime:
    return datetime.now(UTC)


def timestamp(when: datetime) -> str:
    """As the API writes times: UTC, whole seconds."""
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def merged(old: Any, patch: Any) -> Any:
    """The value after a JSON merge patch (RFC 7386); the old one is left alone."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    result = dict(old) if isinstance(old, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


class Registry:
    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def read(self, resource: ServedResource, key: Key) -> Stored:
        row = self._storage.get(resource, key)
        if row is None:
            raise not_found(resource, key[1])
        return row

    def create(self, resource: ServedResource, obj: Obj) -> Stored:
        """Adds an object; uid, creationTimestamp and generation that it brings along are kept."""
        key = key_of(resource, obj)
        if self._storage.get(resource, key) is not None:
            raise already_exists(resource, key[1])
        given: Obj = {"uid": str(uuid.uuid4()), "creationTimestamp": timestamp(utc_now())}
        if resource.generation:
            given["generation"] = 1
        return self._storage.put(resource, key, obj | {"metadata": given | obj["metadata"]})

    def update(self, resource: ServedResource, obj: Obj) -> Stored:
        """Replaces an object. The last finalizer of one that is being deleted takes it along."""
        key = key_of(resource, obj)
        old = self.read(resource, key)
        body = self._carried_over(resource, old.body, obj)
        if stored(resource, body, old.version).body == old.body:
            return old
        meta = body["metadata"]
        if "deletionTimestamp" in meta and not meta.get("finalizers"):
            return self._storage.remove(resource, key, body)
        return self._storage.put(resource, key, body)

    def delete(self, resource: ServedResource, key: Key, added: Iterable[str] = ()) -> tuple[Stored, bool]:
        """Removes an object, and says so; where finalizers, or `added` ones, hold it, its deletion begins."""
        old = self.read(resource, key)
        meta = old.body["metadata"]
        finalizers = list(dict.fromkeys([*meta.get("finalizers", ()), *added]))
        if not finalizers:
            return self._storage.remove(resource, key, old.body), True
        if "deletionTimestamp" in meta and finalizers == meta.get("finalizers"):
            return old, False
        deleted = meta | {"finalizers": finalizers, "deletionGracePeriodSeconds": 0}
        deleted.setdefault("deletionTimestamp", timestamp(utc_now()))
        if "generation" in meta:
            deleted["generation"] = meta["generation"] + 1
        return self._storage.put(resource, key, old.body | {"metadata": deleted}), False

    def _carried_over(self, resource: ServedResource, old: Obj, new: Obj) -> Obj:
        """The new object with what only the server decides."""
        was = old["metadata"]
        meta = {k: v for k, v in new["metadata"].items() if k not in KEPT}
        meta |= {k: was[k] for k in KEPT if k in was}
        if not meta.get("finalizers", True):
            del meta["finalizers"]
        deferred = {"metadata", "status"} if resource.status else {"metadata"}
        if "generation" in was and _without(old, deferred) != _without(new, deferred):
            meta["generation"] = was["generation"] + 1
        return new | {"metadata": meta}


def _without(obj: Obj, keys: set[str]) -> Obj:
    return {k: v for k, v in obj.items() if k not in keys}
