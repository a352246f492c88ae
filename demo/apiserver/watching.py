"""Watches: a stream of JSON lines, one per change, that goes on where a list or an earlier watch stopped.

A change that makes an object match the selector arrives as ADDED, one after which it no
longer matches as DELETED. A watch ends with its timeout, when its resource is no longer
served, or with an ERROR event; the HTTP answer is 200 in all cases.

The watch is registered before the answer begins: a client that has the headers misses nothing.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field

from .calls import PathTarget
from .errors import ApiError, bad_request, invalid
from .listing import Selection, selection
from .resources import Obj, ServedResource
from .storage import Storage, Stored, StoredChange, stored

END_OF_LIST = {"k8s.io/initial-events-end": "true"}


@dataclass(slots=True)
class WatchPace:
    """How long watches last, and how often they say that they are alive."""

    bookmarks: float | None = 60.0
    """Seconds between bookmarks; None as on an old etcd, where idle kinds get none."""
    longest: float = 3600.0
    """Seconds after which every watch ends, whatever the client asked for."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """The parameters of one watch request, checked."""

    version: int | None
    initial: bool
    bookmarks: bool
    marks_end_of_list: bool
    timeout: float


@dataclass(eq=False, slots=True)
class Watch:
    """One open watch: what it looks at, and the lines that wait to be sent."""

    target: PathTarget
    selected: Selection
    bookmarks: bool
    since: int = 0
    """Nothing up to this version is sent; of a version that is yet to come, as after a restore, nothing at all."""
    lines: asyncio.Queue[bytes] = field(default_factory=asyncio.Queue)

    def offer(self, change: StoredChange) -> None:
        """Takes a change in, if it concerns this watch."""
        target = self.target
        namespace, name = change.key
        if change.resource != target.resource or change.version <= self.since:
            return
        if target.namespace not in ("", namespace) or target.name not in ("", name):
            return
        line = _line_of(change, self.selected)
        if line is not None:
            self.lines.put_nowait(line)

    def bookmark(self, version: int, annotations: Mapping[str, str] | None = None) -> None:
        if self.bookmarks and version >= self.since:
            self.lines.put_nowait(bookmark(self.target.resource, version, annotations))


class Watches:
    """All open watches of a server."""

    def __init__(self, storage: Storage, pace: WatchPace) -> None:
        self.pace = pace
        self.open: list[Watch] = []
        self._storage = storage
        storage.listeners.append(self._publish)

    async def stream(self, target: PathTarget, query: Mapping[str, str]) -> AsyncGenerator[bytes]:
        """The lines of a watch; an empty first one stands for "it has begun"."""
        asked = self._read(query)
        watch = Watch(target, selection(target.resource, query), asked.bookmarks)
        try:
            self._begin(watch, asked)
        except ApiError as err:
            yield error(err)
            return
        try:
            yield b""
            async with aclosing(self._live(watch, asked.timeout)) as live:
                async for line in live:
                    yield line
        finally:
            self.open.remove(watch)

    def _publish(self, change: StoredChange) -> None:
        for watch in self.open:
            watch.offer(change)

    def _begin(self, watch: Watch, asked: _Asked) -> None:
        """Registers a watch, with what it has to hear before the next change."""
        if asked.initial:
            for key, row in self._storage.rows(watch.target.resource):
                watch.offer(StoredChange(watch.target.resource, key, None, row))
            if asked.marks_end_of_list:
                watch.bookmark(self._storage.version, END_OF_LIST)
        elif asked.version is not None:
            watch.since = asked.version
            for change in self._storage.since(watch.target.resource, asked.version):
                watch.offer(change)
        self.open.append(watch)

    async def _live(self, watch: Watch, timeout: float) -> AsyncGenerator[bytes]:
        """Lines as they come, and bookmarks when it is time, until the end."""
        clock = asyncio.get_running_loop().time
        end = clock() + timeout
        last_call = end - min(2.0, timeout / 10)
        due = min(last_call, clock() + (self.pace.bookmarks or timeout))
        while True:
            try:
                async with asyncio.timeout_at(min(due, end)):
                    line = await watch.lines.get()
            except TimeoutError:
                if clock() >= end:
                    return
                if self.pace.bookmarks is not None:
                    watch.bookmark(self._storage.version)
                due = end if due >= last_call else min(last_call, due + (self.pace.bookmarks or timeout))
                continue
            yield line

    def _read(self, query: Mapping[str, str]) -> _Asked:
        version = query.get("resourceVersion", "")
        seconds = query.get("timeoutSeconds", "")
        if not (version or "0").isdecimal() or not (seconds or "0").isdecimal():
            raise bad_request("resourceVersion and timeoutSeconds must be numbers")
        streaming = query.get("sendInitialEvents") == "true"
        matching = query.get("resourceVersionMatch", "")
        if streaming and matching != "NotOlderThan":
            raise _forbidden("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")
        if matching and "sendInitialEvents" not in query:
            raise _forbidden("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")
        return _Asked(
            version=int(version) if version else None,
            initial=streaming or ("sendInitialEvents" not in query and version in ("", "0")),
            bookmarks=query.get("allowWatchBookmarks") in ("1", "true"),
            marks_end_of_list=streaming or version == "",
            timeout=min(float(seconds or "inf") or self.pace.longest, self.pace.longest),
        )


def bookmark(resource: ServedResource, version: int, annotations: Mapping[str, str] | None = None) -> bytes:
    meta: Obj = {"resourceVersion": str(version), "creationTimestamp": None}
    if annotations:
        meta["annotations"] = dict(annotations)
    obj = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": meta}
    return _line("BOOKMARK", json.dumps(obj, separators=(",", ":")).encode())


def error(err: ApiError) -> bytes:
    return _line("ERROR", err.body())


def _forbidden(text: str) -> ApiError:
    return invalid("ListOptions.meta.k8s.io", "", "resourceVersionMatch", f"Forbidden: {text}")


def _line(kind: str, encoded: bytes) -> bytes:
    return b'{"type":"' + kind.encode() + b'","object":' + encoded + b"}\n"


def _line_of(change: StoredChange, selected: Selection) -> bytes | None:
    """How a change looks through a selector; None where it can't be seen."""
    old, new = change.old, change.new
    was = old is not None and selected.matches(old.body)
    matches = not change.removed and selected.matches(new.body)
    if matches:
        return _line("MODIFIED" if was else "ADDED", new.encoded)
    if not was or old is None:
        return None
    last = new if change.removed else _dated(change.resource, old, new.version)
    return _line("DELETED", last.encoded)


def _dated(resource: ServedResource, row: Stored, version: int) -> Stored:
    """An object as it was when it last matched, with the version of the change that ended that."""
    return stored(resource, row.body, version)
