"""The objects of which something could not be read."""

from __future__ import annotations

from collections.abc import Iterable

from ..index import ByName, Index
from ..record import Record


def _unread(record: Record, _: ByName) -> Iterable[str]:
    return (f"{type(record).__name__} {record.namespace}/{record.name}",) if record.unread else ()


# Each under a key of its own, and all others under none.
UNREAD = Index("unreadable annotation", _unread)
