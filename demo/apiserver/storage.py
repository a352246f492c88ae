"""Objects in memory, the way etcd keeps them: every write gets the next version, and the last writes are kept.

From those last writes come both watches that resume and lists of an earlier instant: a state
is today's with the later changes undone. What lies before the kept ones is compacted away,
and asking for it is refused.

A stored object is never changed, only replaced; its JSON is made once.

Not here: what may be written, and what a write changes by itself. See registry.py.
"""

import json
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from operator import itemgetter

from .errors import too_old
from .resources import Obj, ServedResource

Key = tuple[str, str]
"""Namespace and name; the namespace of a cluster-wide object is empty."""


@dataclass(frozen=True, slots=True)
class Stored:
    """One version of one object. The body is shared: readers copy before they change it."""

    body: Obj
    encoded: bytes
    version: int


@dataclass(frozen=True, slots=True)
class StoredChange:
    """One write: `old` became `new`. Of a removed object, `new` is its last state with the removal's version."""

    resource: ServedResource
    key: Key
    old: Stored | None
    new: Stored
    removed: bool = False

    @property
    def version(self) -> int:
        return self.new.version


@dataclass(frozen=True, slots=True)
class StorageBackup:
    version: int
    rows: dict[ServedResource, dict[Key, Stored]]


@dataclass(slots=True)
class _Table:
    rows: dict[Key, Stored] = field(default_factory=dict)
    ordered: list[tuple[Key, Stored]] | None = None  # by key; None since the last write


class Storage:
    """All objects of all resources, one version count, the last `history` changes."""

    def __init__(self, history: int = 10_000) -> None:
        self.version = 1
        self.compacted = 0
        """Changes up to this version are no longer known."""
        self.listeners: list[Callable[[StoredChange], None]] = []
        self._kept = history
        self._history: deque[StoredChange] = deque()
        self._tables: dict[ServedResource, _Table] = {}

    def get(self, resource: ServedResource, key: Key) -> Stored | None:
        return self._table(resource).rows.get(key)

    def put(self, resource: ServedResource, key: Key, body: Obj) -> Stored:
        """Writes an object under the next version, which goes into its metadata."""
        old = self.get(resource, key)
        new = self._store(resource, body)
        table = self._table(resource)
        table.rows[key] = new
        table.ordered = None
        self._record(StoredChange(resource, key, old, new))
        return new

    def remove(self, resource: ServedResource, key: Key, last: Obj) -> Stored:
        """Takes an object away; `last` is how watches see it for the last time."""
        table = self._table(resource)
        old = table.rows.pop(key)
        table.ordered = None
        gone = self._store(resource, last)
        self._record(StoredChange(resource, key, old, gone, removed=True))
        return gone

    def backup(self) -> StorageBackup:
        return StorageBackup(self.version, {resource: dict(table.rows) for resource, table in self._tables.items()})

    def restore(self, backup: StorageBackup) -> None:
        """Goes back to a backup. Its versions are given out a second time, and earlier ones are compacted."""
        self.version = self.compacted = backup.version
        self._history.clear()
        self._tables = {resource: _Table(dict(rows)) for resource, rows in backup.rows.items()}

    def rows(self, resource: ServedResource, at: int | None = None) -> list[tuple[Key, Stored]]:
        """All objects of a resource in the order of their keys, today or as of version `at`."""
        table = self._table(resource)
        if at is None or not self._changed_since(resource, at):
            if table.ordered is None:
                table.ordered = sorted(table.rows.items(), key=itemgetter(0))
            return table.ordered
        if at < self.compacted:
            raise too_old(at, self.compacted)
        return sorted(self._undone(resource, at).items(), key=itemgetter(0))

    def since(self, resource: ServedResource, version: int) -> list[StoredChange]:
        """The changes after `version`, oldest first."""
        if version < self.compacted:
            raise too_old(version, self.compacted)
        return [c for c in self._history if c.version > version and c.resource == resource]

    def _table(self, resource: ServedResource) -> _Table:
        return self._tables.setdefault(resource, _Table())

    def _changed_since(self, resource: ServedResource, version: int) -> bool:
        return version < self.compacted or any(True for _ in self._later(resource, version))

    def _later(self, resource: ServedResource, version: int) -> Iterator[StoredChange]:
        """Changes after `version`, latest first."""
        for change in reversed(self._history):
            if change.version <= version:
                return
            if change.resource == resource:
                yield change

    def _undone(self, resource: ServedResource, version: int) -> dict[Key, Stored]:
        rows = dict(self._table(resource).rows)
        for change in self._later(resource, version):
            if change.old is None:
                rows.pop(change.key, None)
            else:
                rows[change.key] = change.old
        return rows

    def _store(self, resource: ServedResource, body: Obj) -> Stored:
        self.version += 1
        return stored(resource, body, self.version)

    def _record(self, change: StoredChange) -> None:
        self._history.append(change)
        if len(self._history) > self._kept:
            self.compacted = max(self.compacted, self._history.popleft().version)
        for listener in self.listeners:
            listener(change)


def stored(resource: ServedResource, body: Obj, version: int) -> Stored:
    """Encodes an object under a version. Decoding it again is the copy that keeps the caller's hands off."""
    meta = body.get("metadata", {}) | {"resourceVersion": str(version)}
    whole = {"apiVersion": resource.api_version, "kind": resource.kind} | body | {"metadata": meta}
    encoded = json.dumps(whole, separators=(",", ":")).encode()
    return Stored(json.loads(encoded), encoded, version)


def list_item(resource: ServedResource, row: Stored) -> bytes:
    """An object inside a list; built-in kinds lose their apiVersion and kind there, custom ones keep them."""
    if resource.custom:
        return row.encoded
    head = len(f'"apiVersion":"{resource.api_version}","kind":"{resource.kind}",')
    return b"{" + row.encoded[head + 1 :]
