"""Decodes the same object once, for runs of many interleavings: a record is frozen, so it can be had twice."""

from __future__ import annotations

import msgspec

from exporter.store.decode import Decoded, ObjectDecoder

__all__ = ["remember"]

_MOST = 20_000
_decode = ObjectDecoder.object


def remember() -> None:
    """From now on, in this process."""
    known: dict[tuple[str, bytes], Decoded] = {}

    def once(self: ObjectDecoder, raw: bytes | msgspec.Raw) -> Decoded:
        key = self._kind.name, bytes(raw)
        found = known.get(key)
        if found is None:
            if len(known) >= _MOST:
                known.clear()
            found = known[key] = _decode(self, raw)
        return found

    ObjectDecoder.object = once  # type: ignore[method-assign]
