"""From the JSON of one object to its record; the same for a live cluster and for a dump.

An undecodable object keeps its name, if at least that can be decoded.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from ..facts.nesting import decoded, misfit
from ..facts.record import Record, WireMeta
from .kind import ApiKind, Reach

MALFORMED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding raises: invalid UTF-8 has an error of its own, and so has nesting, where the stack is nearly full."""


class Decoded(msgspec.Struct, frozen=True, gc=False):
    """One object: its record; None if checks need nothing of it or, with `why`, if it is undecodable."""

    namespace: str
    name: str
    record: Record | None
    uid: str = ""
    why: str = ""


def by_name(objects: Iterable[Decoded]) -> dict[tuple[str, str], Decoded]:
    """By namespace and name; of two sightings of one object the later one counts."""
    return {(each.namespace, each.name): each for each in objects}


class NameMeta(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The names of an object whose other fields may have any shape."""

    name: Any = None
    namespace: Any = None
    uid: Any = None
    resource_version: Any = None


class _Named(msgspec.Struct, frozen=True, gc=False):
    metadata: NameMeta = NameMeta()


_NAMED = msgspec.json.Decoder(_Named)


class ObjectDecoder:
    """Decodes objects of one kind, one by one."""

    def __init__(self, kind: ApiKind[Any]) -> None:
        self._kind = kind
        self._one = msgspec.json.Decoder(kind.wire)

    def object(self, raw: bytes | msgspec.Raw) -> Decoded:
        """One object by itself; never raises."""
        try:
            return self.reduced(decoded(self._one, raw))
        except MALFORMED as error:
            return self._undecodable(name_of(raw), misfit(error))

    def reduced(self, wire: Any) -> Decoded:
        """The record of a decoded object."""
        meta = wire.metadata
        try:
            record = self._kind.reduce(wire)
        except Exception as error:  # noqa: BLE001 # one object must not end the process, whatever it holds
            return self._undecodable(meta, misfit(error))
        if record is None:
            return Decoded(meta.namespace or "", meta.name or "", None)
        return Decoded(record.namespace, record.name, record)

    def _undecodable(self, meta: WireMeta | NameMeta, why: str) -> Decoded:
        name = str(meta.name or "")
        # As in its record, a Namespace counts as an object in itself.
        own = self._kind.reach is Reach.NAMESPACE and not self._kind.namespaced
        namespace = name if own else str(meta.namespace or "")
        return Decoded(namespace, name, None, str(meta.uid or ""), why)


def name_of(raw: bytes | msgspec.Raw) -> NameMeta:
    """The names in an object's metadata; all None if even that is undecodable."""
    try:
        return decoded(_NAMED, raw).metadata
    except MALFORMED:
        return NameMeta()
