"""From bytes of the API server to records, one object at a time where one is odd.

A page is decoded typed in one go. Only when that fails each object is decoded alone, so that one odd object costs
itself and not its page.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import msgspec

from ..decode import MALFORMED, ObjectDecoder, Seen, name_of
from ..model.kind import ApiKind
from .errors import GarbledError, Status, StatusError

__all__ = ["Decoder", "Event", "Page", "Seen"]

W = TypeVar("W")


class Page(msgspec.Struct, frozen=True, gc=False):
    """One page of a list. `version` is the list's resourceVersion; `rest` continues it, empty on the last page."""

    seen: list[Seen]
    version: str
    rest: str


class Event(msgspec.Struct, frozen=True, gc=False):
    """One line of a watch. `type` is ADDED, MODIFIED, DELETED or BOOKMARK."""

    type: str
    seen: Seen | None
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

    def page(self, body: bytes) -> Page:
        """Raises GarbledError for a body that is no list."""
        try:
            whole = self._list.decode(body)
            seen = [self.reduced(wire) for wire in whole.items or ()]
        except MALFORMED:
            whole, seen = self._page_by_object(body)
        return Page(seen, whole.metadata.resource_version or "", whole.metadata.rest or "")

    def _page_by_object(self, body: bytes) -> tuple[Any, list[Seen]]:
        try:
            whole = _RAW_LIST.decode(body)
        except MALFORMED as error:
            raise GarbledError(f"the answer is no list: {error}") from error
        return whole, [self.object(raw) for raw in whole.items or ()]

    def event(self, line: bytes) -> Event:
        """Raises StatusError for an ERROR event, GarbledError for a line that is no event."""
        try:
            typed = self._line.decode(line)
        except MALFORMED:
            return self._event_by_object(line)
        if typed.type in ("BOOKMARK", "ERROR"):
            return self._event_by_object(line)
        return _event(typed.type, self.reduced(typed.object), str(typed.object.metadata.resource_version or ""))

    def _event_by_object(self, line: bytes) -> Event:
        try:
            raw = _RAW_LINE.decode(line)
            if raw.type == "ERROR":
                raise StatusError.of(_code(raw.object), bytes(raw.object))
            if raw.type == "BOOKMARK":
                mark = _BOOKMARK.decode(raw.object).metadata
                ends = (mark.annotations or {}).get("k8s.io/initial-events-end") == "true"
                return Event("BOOKMARK", None, mark.resource_version or "", ends)
        except MALFORMED as error:
            raise GarbledError(f"a line of the watch is no event: {error}") from error
        seen = self.object(raw.object)
        return _event(raw.type, seen, _version(raw.object))


def _event(type_: str, seen: Seen, version: str) -> Event:
    if not seen.name:
        raise GarbledError(f"a line of the watch names no object: {seen.why}")
    return Event(type_, seen, version)


def _version(raw: msgspec.Raw) -> str:
    return str(name_of(raw).resource_version or "")


def _code(raw: msgspec.Raw) -> int:
    try:
        code = msgspec.json.decode(raw, type=Status).code or 0
    except MALFORMED:
        code = 0
    return code if 400 <= code < 600 else 500
