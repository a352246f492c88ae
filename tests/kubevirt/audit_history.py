"""What the objects of a cluster were at each moment, by its API server's audit log.

Each response that has an object is one state of it. Writes of one object are in the order of their resourceVersions, as
etcd took them; between objects the order is that of the answers, which is right to within the time that one takes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import parse_qs, urlsplit

from tests.manifests import Object

__all__ = ["AuditHistory", "Key", "Place", "State", "Taken"]

Place = tuple[str, str]  # group and resource
Key = tuple[str, str, str, str]  # group, resource, namespace, name
_LEFT_OUT = ("events", "leases")  # most of what is written, and nobody decides by it
_WRITES = ("create", "update", "patch", "delete", "deletecollection")


@dataclass(frozen=True, order=True)
class State:
    """One object from a time on, in seconds since 1970; None once it is gone."""

    since: float
    thing: Object | None = field(compare=False)
    by: str = field(compare=False, default="")


@dataclass(frozen=True)
class Taken:
    """A write that the API server took: who sent it, when that came and was answered, what, and the object before; None
    where there was none. `unsure`: another write came between that may have been taken, since it was answered with an
    error of the server (a 504, say, while etcd was away).
    """

    by: str
    began: float
    at: float
    verb: str
    key: Key
    subresource: str
    path: str
    query: dict[str, list[str]]
    body: object
    code: int
    before: Object | None
    after: Object | None
    unsure: bool = False

    @property
    def dry(self) -> bool:
        asked = self.body.get("dryRun") if isinstance(self.body, dict) else None
        return bool(asked) or "dryRun" in self.query

    def __str__(self) -> str:
        return f"{self.verb} {self.path} by {self.by} at {datetime.fromtimestamp(self.at, UTC).isoformat()}"


class AuditHistory:
    """All states of all objects, and the writes that were taken, in their order; Events and Leases are left out."""

    def __init__(self, events: Iterable[Object]) -> None:
        self._states: dict[Key, list[State]] = defaultdict(list)
        self._unsure: set[Key] = set()
        self.writes: list[Taken] = []
        for event in events:
            of = event.get("objectRef", {}).get("resource", "")
            if of and of not in _LEFT_OUT and event["verb"] in _WRITES and event["stage"] == "ResponseComplete":
                self._take(event)

    def at(self, key: Key, time: float) -> Object | None:
        """The object at that time; None where there was none."""
        states = self._states.get(key, [])
        found = bisect_right(states, time, key=lambda each: each.since)
        return states[found - 1].thing if found else None

    def states(self, key: Key) -> list[State]:
        return self._states.get(key, [])

    def lasted(self, key: Key, time: float, seconds: float, holds: Callable[[Object | None], bool]) -> bool:
        """Whether this held of the object all this time up to then."""
        within = [each.thing for each in self.states(key) if time - seconds < each.since <= time]
        return all(holds(each) for each in (self.at(key, time - seconds), *within))

    def there(self, place: Place, namespace: str, time: float, *, for_seconds: float = 0.0) -> Iterator[Object]:
        """The objects of a resource in a namespace ("" for all) that were there all this time up to then."""
        for (group, resource, within, name), _ in list(self._states.items()):
            if (group, resource) != place or namespace not in ("", within):
                continue
            now = self.at((group, resource, within, name), time)
            before = self.at((group, resource, within, name), time - for_seconds)
            if now is not None and before is not None and now["metadata"]["uid"] == before["metadata"]["uid"]:
                yield now

    def _take(self, event: Object) -> None:
        code = event.get("responseStatus", {}).get("code", 0)
        ref, answer = event["objectRef"], event.get("responseObject") or {}
        meta = answer.get("metadata") or {}
        at = datetime.fromisoformat(event["stageTimestamp"]).timestamp()
        url = urlsplit(event["requestURI"])
        key = (
            ref.get("apiGroup", ""),
            ref["resource"],
            ref.get("namespace", ""),
            ref.get("name") or meta.get("name", ""),
        )
        if code >= 500:
            self._unsure.add(key)
        if not 200 <= code < 300:
            return
        states = self._states[key] if event["verb"] != "deletecollection" else []
        before = states[-1].thing if states else None
        taken = Taken(
            by=event["user"]["username"],
            began=datetime.fromisoformat(event["requestReceivedTimestamp"]).timestamp(),
            at=at,
            verb=event["verb"],
            key=key,
            subresource=ref.get("subresource", ""),
            path=url.path,
            query=parse_qs(url.query),
            body=event.get("requestObject"),
            code=code,
            before=before,
            after=_left(event["verb"], answer, before),
            unsure=key in self._unsure,
        )
        self.writes.append(taken)
        if taken.dry:
            return
        if event["verb"] == "deletecollection":
            for (group, resource, within, _), found in self._states.items():
                if (group, resource) == key[:2] and within in ("", key[2]) and found:
                    found.append(State(at, None, taken.by))
        elif taken.after is not before and not _older(taken.after, before):
            self._unsure.discard(key)
            states.append(State(max(at, states[-1].since) if states else at, taken.after, taken.by))


def _left(verb: str, answer: Object, before: Object | None) -> Object | None:
    """What there is after a write, by its answer."""
    if answer.get("kind") in ("Status", None) or "resourceVersion" not in (answer.get("metadata") or {}):
        return None if verb == "delete" else before  # a subresource's answer is no state of the object
    meta = answer["metadata"]
    waits = meta.get("finalizers") or meta.get("deletionGracePeriodSeconds")
    return None if meta.get("deletionTimestamp") and not waits else answer


def _older(after: Object | None, before: Object | None) -> bool:
    if after is None or before is None or after["metadata"]["uid"] != before["metadata"]["uid"]:
        return False
    return int(after["metadata"]["resourceVersion"]) < int(before["metadata"]["resourceVersion"])
