"""From the bytes of a list or watch to records.

A page is decoded in one go. Only if that fails, its objects are decoded one by one, so that an undecodable object does
not cost the others of its page. Where one of them is nested too deep to be skipped over, it is cut first (`nesting`).
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import msgspec

from ...facts.nesting import cut, decoded
from ...store.decode import MALFORMED, Decoded, ObjectDecoder, name_of
from ...store.kind import ApiKind
from ..errors import ApiStatus, MalformedError, StatusError

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
