"""All objects of a kind: in pages, or as the beginning of a watch; and from the bytes of either to records.

A page is decoded in one go. Only if that fails, its objects are decoded one by one, so that an undecodable object does
not cost the others of its page. Where one of them is nested too deep to be skipped over, it is cut first (`nesting`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from ...engine.intake import Intake
from ...facts.nesting import cut, decoded
from ...store.decode import MALFORMED, Decoded, ObjectDecoder, by_name, name_of
from ...store.kind import ApiKind
from ...store.source import SyncState
from ..client import Client, Timeouts
from ..errors import AbsentError, ApiStatus, MalformedError, StatusError
from ..get_json import ListBounds

__all__ = ["Decoded", "Decoder", "ListPage", "WatchEvent"]

W = TypeVar("W")


class ListPage(msgspec.Struct, frozen=True, gc=False):
    """One page of a list. `version` is the list's resourceVersion; `rest` is the continue token, empty on the last
    page.
    """

    objects: list[Decoded]
    version: str
    rest: str


class WatchEvent(msgspec.Struct, frozen=True, gc=False):
    """One watch event. `type` is ADDED, MODIFIED, DELETED or BOOKMARK; a BOOKMARK has no object."""

    type: str
    decoded: Decoded | None
    version: str
    initial_end: bool = False  # the bookmark that ends a streaming list


class _ListMeta(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    resource_version: str | None = None
    rest: str | None = msgspec.field(name="continue", default=None)


class _List(msgspec.Struct, Generic[W], frozen=True, gc=False):
    metadata: _ListMeta = _ListMeta()
    items: list[W] | None = None


class _Line(msgspec.Struct, Generic[W], frozen=True, gc=False):
    type: str
    object: W


class _BookmarkMeta(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    resource_version: str | None = None
    annotations: dict[str, str] | None = None


class _Bookmark(msgspec.Struct, frozen=True, gc=False):
    metadata: _BookmarkMeta = _BookmarkMeta()


_RAW_LIST = msgspec.json.Decoder(_List[msgspec.Raw])
_RAW_LINE = msgspec.json.Decoder(_Line[msgspec.Raw])
_BOOKMARK = msgspec.json.Decoder(_Bookmark)


class Decoder(ObjectDecoder):
    """Decodes lists and watches of one kind."""

    def __init__(self, kind: ApiKind[Any]) -> None:
        super().__init__(kind)
        self._list = msgspec.json.Decoder(_List[kind.wire])  # type: ignore[name-defined]
        self._line = msgspec.json.Decoder(_Line[kind.wire])  # type: ignore[name-defined]

    def page(self, body: bytes) -> ListPage:
        """Raises MalformedError for a body that is not a list."""
        whole: Any
        try:
            whole = self._list.decode(body)
            objects = [self.reduced(wire) for wire in whole.items or ()]
        except RecursionError:
            whole, objects = self._page_by_object(cut(body).text)
        except MALFORMED:
            whole, objects = self._page_by_object(body)
        return ListPage(objects, whole.metadata.resource_version or "", whole.metadata.rest or "")

    def _page_by_object(self, body: bytes) -> tuple[Any, list[Decoded]]:
        try:
            whole = decoded(_RAW_LIST, body)
        except MALFORMED as error:
            raise MalformedError(f"the response is not a list: {error}") from error
        return whole, [self.object(raw) for raw in whole.items or ()]

    def event(self, line: bytes) -> WatchEvent:
        """Raises StatusError for an ERROR event, MalformedError for a line that is not a watch event."""
        try:
            typed = self._line.decode(line)
        except RecursionError:
            return self._event_by_object(cut(line).text)
        except MALFORMED:
            return self._event_by_object(line)
        if typed.type in ("BOOKMARK", "ERROR"):
            return self._event_by_object(line)
        return _event(typed.type, self.reduced(typed.object), str(typed.object.metadata.resource_version or ""))

    def _event_by_object(self, line: bytes) -> WatchEvent:
        try:
            raw = decoded(_RAW_LINE, line)
            if raw.type == "ERROR":
                raise StatusError.of(_code(raw.object), bytes(raw.object))
            if raw.type == "BOOKMARK":
                meta = _BOOKMARK.decode(raw.object).metadata
                ends = (meta.annotations or {}).get("k8s.io/initial-events-end") == "true"
                return WatchEvent("BOOKMARK", None, meta.resource_version or "", ends)
        except MALFORMED as error:
            raise MalformedError(f"a line is not a watch event: {error}") from error
        return _event(raw.type, self.object(raw.object), _version(raw.object))


def _event(type_: str, decoded: Decoded, version: str) -> WatchEvent:
    if not decoded.name:
        raise MalformedError(f"the object of a watch event has no name: {decoded.why}")
    return WatchEvent(type_, decoded, version)


def _version(raw: msgspec.Raw) -> str:
    return str(name_of(raw).resource_version or "")


def _code(raw: msgspec.Raw) -> int:
    try:
        code = msgspec.json.decode(raw, type=ApiStatus).code or 0
    except MALFORMED:
        code = 0
    return code if 400 <= code < 600 else 500


log = logging.getLogger(__name__)
_RESTARTS = 4  # of a list whose snapshot expired between two pages; each with pages twice as large


class ListOutcome(NamedTuple):
    """`objects` are by namespace and name; `version` is the list's, empty if the response was no list."""

    objects: dict[tuple[str, str], Decoded]
    version: str


async def paged(
    client: Client, decoder: Decoder, kind: ApiKind[Any], served: str, pace: Timeouts, namespace: str = ""
) -> ListOutcome:
    """All pages of one snapshot, of one namespace or of all.

    A snapshot that expires in between is left, and all is read again from a new one: pages of two snapshots would miss
    what moved between them, and a list in one body has no limit. Raises StatusError 410 if that fails again and again,
    and MalformedError where the list does not end.
    """
    for restart in range(_RESTARTS):
        try:
            return await _snapshot(client, decoder, kind, served, pace.page << restart, namespace)
        except _ExpiredError as error:
            log.info('event="list restarted" kind=%s why="%s"', kind.name, error.__cause__)
        await asyncio.sleep(min(pace.first_wait * 2**restart, pace.longest_wait))
    try:
        return await _snapshot(client, decoder, kind, served, pace.page << _RESTARTS, namespace)
    except _ExpiredError as error:
        raise StatusError(410, f"the list expired between two pages {_RESTARTS + 1} times in a row") from error


class _ExpiredError(Exception):
    """The snapshot expired between two pages."""


async def _snapshot(
    client: Client, decoder: Decoder, kind: ApiKind[Any], served: str, limit: int, namespace: str
) -> ListOutcome:
    objects: dict[tuple[str, str], Decoded] = {}
    bounds, rest = ListBounds(kind.resource), ""
    while True:
        try:
            page = decoder.page(await client.page(kind, served, rest, limit, namespace))
        except StatusError as error:
            if error.code == 410 and rest:
                raise _ExpiredError from error
            raise
        bounds.add_page(len(page.objects), page.rest)
        objects |= by_name(page.objects)
        rest = page.rest
        if not rest:
            return ListOutcome(objects, page.version)


class Initial:
    """The objects of a streaming list, while it comes: what changes meanwhile comes in between."""

    def __init__(self, of: str) -> None:
        """`of` is what is listed."""
        self.objects: dict[tuple[str, str], Decoded] = {}
        self._bounds = ListBounds(of)

    def take(self, event: WatchEvent) -> None:
        """Raises MalformedError where the list does not end."""
        if event.decoded is None:
            return
        self._bounds.add(1)
        key = event.decoded.namespace, event.decoded.name
        if event.type == "DELETED":
            self.objects.pop(key, None)
        else:
            self.objects[key] = event.decoded


# One look at kinds that may not be watched: listed once, everywhere or else in some namespaces.

_EVERYWHERE = ""


async def look_once(
    client: Client, intake: Intake, kinds: Iterable[ApiKind[Any]], namespaces: Collection[str], pace: Timeouts
) -> None:
    """Takes in each kind that may be listed, if not watched: in the whole cluster, else in all of the namespaces, where
    it has any. The others are left as they are. Raises KubeError for what is no refusal.
    """
    for kind in kinds:
        if (everything := await _listed(client, kind, (_EVERYWHERE,), pace)) is not None:
            await intake.swap(kind, everything)
            intake.sync_state(kind, SyncState.READ)
        elif namespaces and kind.namespaced and (some := await _listed(client, kind, namespaces, pace)) is not None:
            await intake.swap(kind, some)
            intake.seen_within(kind, namespaces, _why(kind, namespaces))


async def _listed(
    client: Client, kind: ApiKind[Any], namespaces: Collection[str], pace: Timeouts
) -> dict[tuple[str, str], Decoded] | None:
    """None where that is not allowed."""
    decoder = Decoder(kind)
    objects: dict[tuple[str, str], Decoded] = {}
    try:
        served = await client.served_version(kind)
        for namespace in namespaces:
            objects |= (await paged(client, decoder, kind, served, pace, namespace)).objects
    except AbsentError:
        return None
    except StatusError as error:
        if error.code == 403:
            return None
        raise
    return objects


def _why(kind: ApiKind[Any], namespaces: Collection[str]) -> str:
    places = ", ".join(sorted(namespaces))
    return f'you have permission to list {kind.resource} only in {places}. For the rest, grant "list" in all namespaces'
