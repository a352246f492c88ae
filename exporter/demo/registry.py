"""What the API server does by itself when an object is written.

uid, creationTimestamp and generation; one writer at a time by resourceVersion; deletion
that waits for finalizers. Used by HTTP and by the in-process calls alike.

Not here: defaulting, validation by schema, managed fields, garbage collection. An object
whose owner is gone stays, as in a cluster whose collector is down.
"""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from .errors import already_exists, invalid_object, modified, not_found, precondition
from .resources import Obj, Resource
from .storage import Key, Storage, Stored, stored

KEPT = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")
"""Metadata that an update can't change: the server puts back what it had."""

PROPAGATION = {"Foreground": "foregroundDeletion", "Orphan": "orphan"}
"""Finalizers that these deletions add, for a collector to take off."""


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    uid: str | None = None
    version: str | None = None
    propagation: str = ""
    dry_run: bool = False


def key_of(resource: Resource, obj: Obj) -> Key:
    meta = obj.get("metadata", {})
    return (meta.get("namespace", "") if resource.namespaced else "", meta["name"])


def utc_now() -> datetime:
    return datetime.now(UTC)


def timestamp(when: datetime) -> str:
    """As the API writes times: UTC, whole seconds."""
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Registry:
    def __init__(self, storage: Storage, clock: Callable[[], datetime] = utc_now) -> None:
        self._storage = storage
        self._clock = clock

    def read(self, resource: Resource, key: Key) -> Stored:
        row = self._storage.get(resource, key)
        if row is None:
            raise not_found(resource, key[1])
        return row

    def create(self, resource: Resource, obj: Obj, *, dry_run: bool = False) -> Stored:
        """Adds an object; uid, creationTimestamp and generation that it brings along are kept."""
        key = key_of(resource, obj)
        if self._storage.get(resource, key) is not None:
            raise already_exists(resource, key[1])
        given: Obj = {"uid": str(uuid.uuid4()), "creationTimestamp": timestamp(self._clock())}
        if resource.generation:
            given["generation"] = 1
        body = obj | {"metadata": given | obj["metadata"]}
        if dry_run:
            return stored(resource, body, 0)
        return self._storage.put(resource, key, body)

    def update(self, resource: Resource, obj: Obj, *, dry_run: bool = False) -> Stored:
        """Replaces an object. The last finalizer of one that is being deleted takes it along."""
        key = key_of(resource, obj)
        old = self.read(resource, key)
        self._admit(resource, old.body, obj)
        body = self._carried_over(resource, old.body, obj)
        if stored(resource, body, old.version).body == old.body:
            return old
        if dry_run:
            return stored(resource, body, old.version)
        meta = body["metadata"]
        if "deletionTimestamp" in meta and not meta.get("finalizers"):
            return self._storage.remove(resource, key, body)
        return self._storage.put(resource, key, body)

    def delete(self, resource: Resource, key: Key, options: DeleteOptions) -> tuple[Stored, bool]:
        """Removes an object, or marks it where finalizers hold it; says which."""
        old = self.read(resource, key)
        meta = old.body["metadata"]
        self._hold(resource, meta, options)
        finalizers = list(meta.get("finalizers", ()))
        extra = PROPAGATION.get(options.propagation)
        if extra is not None and extra not in finalizers:
            finalizers.append(extra)
        gone = not finalizers
        if options.dry_run:
            return old, gone
        if gone:
            return self._storage.remove(resource, key, old.body), True
        if "deletionTimestamp" in meta and finalizers == meta.get("finalizers"):
            return old, False
        marked = meta | {"finalizers": finalizers, "deletionGracePeriodSeconds": 0}
        marked.setdefault("deletionTimestamp", timestamp(self._clock()))
        if "generation" in meta:
            marked["generation"] = meta["generation"] + 1
        return self._storage.put(resource, key, old.body | {"metadata": marked}), False

    def _hold(self, resource: Resource, meta: Obj, options: DeleteOptions) -> None:
        """Preconditions of a DELETE."""
        if options.uid is not None and options.uid != meta["uid"]:
            text = (
                f"the UID in the precondition ({options.uid}) does not match the UID in record ({meta['uid']}). "
                "The object might have been deleted and then recreated"
            )
            raise precondition(resource, meta["name"], text)
        if options.version is not None and options.version != meta["resourceVersion"]:
            text = (
                f"the ResourceVersion in the precondition ({options.version}) does not match the "
                f"ResourceVersion in record ({meta['resourceVersion']}). The object might have been modified"
            )
            raise precondition(resource, meta["name"], text)

    def _admit(self, resource: Resource, old: Obj, new: Obj) -> None:
        """Whether an update may replace `old` by `new`."""
        was, meta = old["metadata"], new["metadata"]
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

    def _carried_over(self, resource: Resource, old: Obj, new: Obj) -> Obj:
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
