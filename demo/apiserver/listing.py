"""Lists and watches.

A list comes in pages, each page of the instant that the first one saw. A watch is a stream of JSON lines, one per
change, that goes on where a list or an earlier watch stopped.

A change that makes an object match the selector arrives as ADDED, one after which it no
longer matches as DELETED. A watch ends with its timeout, when its resource is no longer
served, or with an ERROR event; the HTTP answer is 200 in all cases.

The watch is registered before the answer begins: a client that has the headers misses nothing.
"""

import asyncio
import base64
import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from operator import itemgetter

from .calls import PathTarget
from .errors import ApiError, bad_request, continue_expired, invalid, too_new
from .registry import key_of
from .resources import Obj, ServedResource
from .storage import Key, Storage, Stored, StoredChange, list_item, stored

# Label and field selectors of lists and watches.

Predicate = Callable[[Obj], bool]

_SET = re.compile(r"^(\S+)\s+(in|notin)\s*\(([^)]*)\)$")
_EQUAL = re.compile(r"^([^\s=!]+)\s*(==|=|!=)\s*([^\s=!]*)$")
_EXISTS = re.compile(r"^(!?)\s*([^\s=!(),]+)$")


@dataclass(frozen=True, slots=True)
class ListSelector:
    """All predicates must hold; none at all selects everything."""

    predicates: tuple[Predicate, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.predicates)

    def matches(self, obj: Obj) -> bool:
        return all(holds(obj) for holds in self.predicates)


def selection(resource: ServedResource, query: Mapping[str, str]) -> ListSelector:
    """What `labelSelector` and `fieldSelector` of a request ask for."""
    labels = [_label(text) for text in _split(query.get("labelSelector", ""))]
    fields = [_field(resource, text) for text in _split(query.get("fieldSelector", ""))]
    return ListSelector((*labels, *fields))


def _split(selector: str) -> list[str]:
    """Parts between commas, except commas within parentheses."""
    parts: list[list[str]] = []
    within = False
    for piece in selector.split(","):
        if within:
            parts[-1].append(piece)
        else:
            parts.append([piece])
        within = piece.rfind("(") > piece.rfind(")") or (within and ")" not in piece)
    return [part for each in parts if (part := ",".join(each).strip())]


def _label(text: str) -> Predicate:
    if found := _SET.match(text):
        key, operator, listed = found.groups()
        return _among(key, frozenset(v.strip() for v in listed.split(",")), wanted=operator == "in")
    if found := _EQUAL.match(text):
        key, operator, value = found.groups()
        return _among(key, frozenset({value}), wanted=operator != "!=")
    if found := _EXISTS.match(text):
        absent, key = found.groups()
        return lambda obj: (key in _labels(obj)) is not bool(absent)
    raise bad_request(f'unable to parse requirement: found "{text}"')


def _among(key: str, values: frozenset[str], *, wanted: bool) -> Predicate:
    """An absent label is in no set, hence not in this one."""
    return lambda obj: (_labels(obj).get(key) in values) is wanted


def _labels(obj: Obj) -> Mapping[str, str]:
    labels: Mapping[str, str] = obj["metadata"].get("labels") or {}
    return labels


def _field(resource: ServedResource, text: str) -> Predicate:
    found = _EQUAL.match(text)
    if not found:
        raise bad_request(f'invalid selector: "{text}"; can\'t understand "{text}"')
    path, operator, value = found.groups()
    if path not in ("metadata.name", "metadata.namespace", *resource.fields):
        raise bad_request(f"field label not supported: {path}")
    equal = operator != "!="
    steps = path.split(".")
    return lambda obj: (_at(obj, steps) == value) is equal


def _at(obj: Obj, steps: list[str]) -> str:
    value: object = obj
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


TODAY = -1
"""As version in a token: go on with what is there now."""


def list_body(storage: Storage, target: PathTarget, query: Mapping[str, str]) -> bytes:
    """The whole answer to a list request."""
    resource = target.resource
    meta, page = selected_page(storage, target, query)
    head: Obj = {"apiVersion": resource.api_version, "kind": f"{resource.kind}List", "metadata": meta}
    opening = json.dumps(head, separators=(",", ":")).encode()[:-1]
    return opening + b',"items":[' + b",".join(list_item(resource, row) for row in page) + b"]}\n"


def selected_page(storage: Storage, target: PathTarget, query: Mapping[str, str]) -> tuple[Obj, list[Stored]]:
    """The metadata of a list, and what is in it."""
    limit = _number(query, "limit")
    at, start = storage.version, ("", "")
    if token := query.get("continue"):
        at, start = _begin_again(storage, token, query)
    else:
        at = _asked_version(storage, query)
        limit = 0 if query.get("resourceVersion") == "0" else limit  # out of the watch cache: whole

    resource = target.resource
    selected = selection(resource, query)
    rows = storage.rows(resource, None if at == storage.version else at)
    first = bisect_right(rows, max(start, (target.namespace, "")), key=itemgetter(0))
    end = bisect_left(rows, (target.namespace + "\0", ""), key=itemgetter(0)) if target.namespace else len(rows)
    found = [row for _, row in rows[first:end] if not selected or selected.matches(row.body)]
    page = found[:limit] if limit else found
    meta: Obj = {"resourceVersion": str(at), "continue": ""}
    if left := len(found) - len(page):
        meta["continue"] = _token(at, key_of(resource, page[-1].body))
        if not selected:
            meta["remainingItemCount"] = left
    return meta, page


def _begin_again(storage: Storage, token: str, query: Mapping[str, str]) -> tuple[int, Key]:
    """The version and the last key that a token stands for."""
    if query.get("resourceVersion") not in (None, "", "0"):
        raise bad_request("specifying resource version is not allowed when using continue")
    try:
        content = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        at, start = int(content["rv"]), _key(content["start"])
    except (ValueError, KeyError, TypeError, AttributeError) as err:
        raise bad_request(f"continue key is not valid: {err}") from err
    if at == TODAY:
        return storage.version, start
    if at < storage.compacted:
        raise continue_expired(_token(TODAY, start))
    return at, start


def _asked_version(storage: Storage, query: Mapping[str, str]) -> int:
    version = _number(query, "resourceVersion")
    if version > storage.version:
        raise too_new(version, storage.version)
    if query.get("resourceVersionMatch") != "Exact":
        return storage.version
    if version < storage.compacted:
        raise ApiError(410, "Expired", "The resourceVersion for the provided list is too old.")
    return version


def _token(at: int, start: Key) -> str:
    content = json.dumps({"v": "meta.k8s.io/v1", "rv": at, "start": "/".join(start)}, separators=(",", ":"))
    return base64.urlsafe_b64encode(content.encode()).decode().rstrip("=")


def _key(joined: str) -> Key:
    namespace, name = joined.split("/")
    return namespace, name


def _number(query: Mapping[str, str], name: str) -> int:
    value = query.get(name) or "0"
    if not value.isdecimal():
        raise bad_request(f'{name}: Invalid value: "{value}"')
    return int(value)


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
    selected: ListSelector
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


def _line_of(change: StoredChange, selected: ListSelector) -> bytes | None:
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
