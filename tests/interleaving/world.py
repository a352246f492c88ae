"""The API server of the interleavings: resourceVersions, UIDs, finalizers, preconditions, JSON patches, dry runs.

Each call is atomic. An object is never altered once it is stored: whoever changes one stores another one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from heapq import heappop, heappush
from typing import Any

from demo.apiserver.errors import ApiError
from demo.apiserver.writing import JSON, patched
from reconcile.plan.requests import MANAGER

__all__ = ["EPOCH", "KINDS", "Change", "Key", "Obj", "World", "key_of", "meta_of", "owned_by", "signed", "with_meta"]

# Who wrote which field of an object last, as the API server keeps it in `metadata.managedFields`.
#
# Of an Update the fields that it changed become those of its manager alone
# (sigs.k8s.io/structured-merge-diff/merge/update.go). Lists are one field here.

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


EPOCH = 1_790_000_000.0  # when every interleaving begins, in seconds since 1970

_MANAGERS = {"steward": MANAGER}
Obj = dict[str, Any]
Key = tuple[str, str, str]
"""Kind, namespace and name."""


@dataclass(frozen=True)
class Change:
    """One write that changed an object; `after` is None where the object is gone."""

    by: str
    key: Key
    before: Obj | None
    after: Obj | None


@dataclass
class World:
    """`now` is in seconds since 1970. Whoever watches is called after each change."""

    now: float = EPOCH
    version: int = 1000
    watches: list[Callable[[Change], None]] = field(default_factory=list)
    _kinds: dict[str, dict[tuple[str, str], Obj]] = field(default_factory=dict)
    _encoded: dict[int, tuple[Obj, bytes]] = field(default_factory=dict)
    born: dict[str, float] = field(default_factory=dict)  # by UID
    _uids: int = 0
    _due: list[tuple[float, int, Callable[[], object]]] = field(default_factory=list)
    _asked: int = 0

    def later(self, seconds: float, call: Callable[[], object]) -> None:
        """Calls it once so much time has passed, such as a request that is still under way."""
        self._asked += 1
        heappush(self._due, (self.now + seconds, self._asked, call))

    def passes(self, seconds: float) -> None:
        """Time, and what happens at its moments."""
        until = self.now + seconds
        while self._due and self._due[0][0] <= until:
            at, _, call = heappop(self._due)
            self.now = max(self.now, at)
            call()
        self.now = until

    def arrives(self) -> None:
        """Whatever is still under way."""
        while self._due:
            self.passes(max(0.0, self._due[0][0] - self.now))

    def time(self) -> str:
        return self.ago(0)

    def ago(self, seconds: float) -> str:
        return datetime.fromtimestamp(self.now - seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def get(self, kind: str, name: str, namespace: str = "ns") -> Obj | None:
        return self._kinds.get(kind, {}).get((namespace, name))

    def all(self, kind: str) -> list[Obj]:
        return list(self._kinds.get(kind, {}).values())

    def encoded(self, thing: Obj) -> bytes:
        """As it is read. An object that is replaced is encoded anew, since it is another one."""
        known = self._encoded.get(id(thing))
        if known is None or known[0] is not thing:
            known = self._encoded[id(thing)] = (thing, json.dumps(thing).encode())
        return known[1]

    def create(self, thing: Obj, by: str, *, manager: str = "", dry: bool = False) -> Obj:
        """Raises ApiError where the name is taken. Whoever creates it chooses the `manager` of its fields."""
        key = key_of(thing)
        if self.get(key[0], key[2], key[1]) is not None:
            raise ApiError(409, "AlreadyExists", f"{key[0]} {key[2]} already exists")
        if dry:
            return thing
        self._uids += 1
        given = {"uid": thing["metadata"].get("uid") or f"u{self._uids}", "creationTimestamp": self.time()}
        self.born[given["uid"]] = self.now
        made = thing | {"metadata": {**given, **thing["metadata"]}}
        return self._store(self._signed(None, made, manager or by), None, by)

    def age(self, thing: Obj) -> float:
        """In seconds."""
        return self.now - self.born[meta_of(thing)["uid"]]

    def change(self, thing: Obj, by: str, change: Callable[[Obj], Obj]) -> Obj | None:
        """Writes what is made of the object as it was read. Raises ApiError where it is another one by now."""
        now = self._same(thing)
        if meta_of(now)["resourceVersion"] != meta_of(thing)["resourceVersion"]:
            raise ApiError(409, "Conflict", "the object has been modified")
        return self._replace(now, change(now), by)

    def patch(self, key: Key, body: list[Any], by: str, *, dry: bool = False) -> Obj | None:
        """What it is then. Raises ApiError: 404 where there is none, 422 where an operation does not apply."""
        now = self._there(key)
        after = patched(now, JSON, json.dumps(body).encode())
        grown = set(meta_of(after).get("finalizers") or ()) - set(meta_of(now).get("finalizers") or ())
        if grown and meta_of(now).get("deletionTimestamp"):
            raise ApiError(422, "Invalid", "no new finalizers can be added if the object is being deleted")
        if not dry:
            return self._replace(now, after, by)
        return None if self._ends(after) else after

    def _signed(self, before: Obj | None, after: Obj, by: str) -> Obj:
        """With who wrote which of its fields, and when; of a VM with the number of its spec."""
        if after["kind"] not in KINDS:
            return after
        if after["kind"] == "VirtualMachine" and (before is None or before["spec"] != after["spec"]):
            after = with_meta(after, generation=meta_of(before or after).get("generation", 0) + 1)
        time = self.time() if before is not None else meta_of(after)["creationTimestamp"]
        return with_meta(after, managedFields=signed(before, after, _MANAGERS.get(by[:7], by), time))

    def delete(self, key: Key, by: str, *, uid: str = "", version: str = "", dry: bool = False) -> Obj | None:
        """What is left of it. Raises ApiError: 404 where there is none, 409 where a precondition does not hold."""
        now = self._there(key)
        for wanted, field_ in ((uid, "uid"), (version, "resourceVersion")):
            if wanted and meta_of(now)[field_] != wanted:
                raise ApiError(409, "Conflict", f"the {field_} in the precondition does not match")
        ending = now if meta_of(now).get("deletionTimestamp") else with_meta(now, deletionTimestamp=self.time())
        if dry:
            return ending if meta_of(now).get("finalizers") else None
        if not meta_of(now).get("finalizers"):
            self._remove(now, by)
            return None
        return ending if ending is now else self._store(ending, now, by)

    def _replace(self, now: Obj, after: Obj, by: str) -> Obj | None:
        if after == now:
            return now
        if self._ends(after):
            self._remove(now, by)
            return None
        return self._store(self._signed(now, after, by), now, by)

    def _ends(self, thing: Obj) -> bool:
        return bool(meta_of(thing).get("deletionTimestamp")) and not meta_of(thing).get("finalizers")

    def _store(self, thing: Obj, before: Obj | None, by: str) -> Obj:
        self.version += 1
        stored = with_meta(thing, resourceVersion=str(self.version))
        kind, namespace, name = key = key_of(stored)
        self._kinds.setdefault(kind, {})[namespace, name] = stored
        self._tell(Change(by, key, before, stored))
        return stored

    def _remove(self, now: Obj, by: str) -> None:
        self.version += 1
        kind, namespace, name = key = key_of(now)
        del self._kinds[kind][namespace, name]
        self._tell(Change(by, key, now, None))

    def _tell(self, change: Change) -> None:
        for watch in self.watches:
            watch(change)

    def _there(self, key: Key) -> Obj:
        now = self.get(key[0], key[2], key[1])
        if now is None:
            raise ApiError(404, "NotFound", f"{key[0]} {key[2]} not found")
        return now

    def _same(self, thing: Obj) -> Obj:
        now = self._there(key_of(thing))
        if meta_of(now)["uid"] != meta_of(thing)["uid"]:
            raise ApiError(409, "Conflict", "the object was created anew")
        return now


def key_of(thing: Obj) -> Key:
    return thing["kind"], thing["metadata"].get("namespace", ""), thing["metadata"]["name"]


def meta_of(thing: Obj) -> Obj:
    found: Obj = thing["metadata"]
    return found


def with_meta(thing: Obj, **fields: Any) -> Obj:
    return thing | {"metadata": {**thing["metadata"], **fields}}


def owned_by(things: Iterable[Obj], uid: str) -> Iterator[Obj]:
    """Those with an owner reference to a UID."""
    for thing in things:
        if any(each["uid"] == uid for each in meta_of(thing).get("ownerReferences") or ()):
            yield thing
