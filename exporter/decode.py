"""From the JSON of one object to its record; the same for a live cluster and for a dump.

What can't be read keeps its name, if that can be read.
"""

from __future__ import annotations

from typing import Any

import msgspec

from .model.kind import ApiKind, Reach
from .model.record import Record, WireMeta

__all__ = ["MALFORMED", "NameMeta", "ObjectDecoder", "Seen", "name_of"]

MALFORMED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding raises: bytes that are no UTF-8 and bottomless nesting have errors of their own."""


class Seen(msgspec.Struct, frozen=True, gc=False):
    """One object: its record, or None where checks need nothing of it or, with `why`, where it can't be read."""

    namespace: str
    name: str
    record: Record | None
    uid: str = ""
    why: str = ""


class NameMeta(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Just what names an object whose rest may be anything."""

    name: Any = None
    namespace: Any = None
    uid: Any = None
    resource_version: Any = None


class _Named(msgspec.Struct, frozen=True, gc=False):
    metadata: NameMeta = NameMeta()


_NAMED = msgspec.json.Decoder(_Named)


class ObjectDecoder:
    """Decodes objects of one kind, each alone."""

    def __init__(self, kind: ApiKind[Any]) -> None:
        self._kind = kind
        self._one = msgspec.json.Decoder(kind.wire)

    def object(self, raw: bytes | msgspec.Raw) -> Seen:
        """One object by itself; never raises."""
        try:
            return self.reduced(self._one.decode(raw))
        except (*MALFORMED, ValueError) as error:
            return self._unreadable(name_of(raw), str(error))

    def reduced(self, wire: Any) -> Seen:
        """What is kept of a decoded object."""
        meta = wire.metadata
        try:
            record = self._kind.reduce(wire)
        except ValueError as error:
            return self._unreadable(meta, str(error))
        if record is None:
            return Seen(meta.namespace or "", meta.name or "", None)
        return Seen(record.namespace, record.name, record)

    def _unreadable(self, meta: WireMeta | NameMeta, why: str) -> Seen:
        name = str(meta.name or "")
        # As in its record, a Namespace stands among what it holds.
        namespace = str(meta.namespace or "") or (name if self._kind.reach is Reach.NAMESPACE else "")
        return Seen(namespace, name, None, str(meta.uid or ""), why)


def name_of(raw: bytes | msgspec.Raw) -> NameMeta:
    """The names in an object's metadata; all None where even that can't be read."""
    try:
        return _NAMED.decode(raw).metadata
    except MALFORMED:
        return NameMeta()
