"""A change of one object, and what it means for the indexes that find it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from msgspec.structs import astuple

from ..facts.record import Record
from .index import Buckets, ByName, Index

Keys: TypeAlias = tuple[str, ...]


@dataclass(slots=True)
class Change:
    """A change of one object: its states before and after, and by index the keys under which other records may be
    affected.

    `moved` are the keys that were added or removed; `own` those that the object itself has, then those that it had,
    also where it only listens; `facts` the fields that differ, None if the object was added or removed.
    """

    kind: type[Record]
    before: Record | None
    after: Record | None
    touched: dict[Index, Keys] = field(default_factory=dict)
    moved: dict[Index, Keys] = field(default_factory=dict)
    own: dict[Index, Keys] = field(default_factory=dict)
    facts: frozenset[str] | None = None


class IndexStep(NamedTuple):
    """What is done for one index with each record of a kind; `listens` where records of the kind are dependents."""

    by: Index
    keys: Callable[[Record, ByName], Iterable[str]]
    buckets: Buckets
    listens: bool


def move(change: Change, steps: Sequence[IndexStep], had: Sequence[Keys], has: Sequence[Keys]) -> None:
    """Has each index find an object by the keys that it has, and no more by those that it had."""
    before, after = change.before, change.after
    for (index, _, buckets, listens), old, new in zip(steps, had, has, strict=True):
        if not (old or new):
            continue
        if old == new and before is not None and after is not None:
            for key in new:
                buckets.replace(key, before, after)
            own = touched = new
        else:
            if before is not None:
                for key in old:
                    buckets.remove(key, before)
            if after is not None:
                for key in new:
                    buckets.add(key, after)
            own, touched = new + old, old + new
            if not listens:
                moved = tuple(frozenset(old) ^ frozenset(new)) if old and new else own
                if moved:
                    change.moved[index] = change.moved.get(index, ()) + moved
                touched = tuple(dict.fromkeys(touched)) if old and new else touched
        change.own[index] = own
        if not listens:
            known = change.touched.get(index)
            change.touched[index] = tuple(dict.fromkeys(known + touched)) if known else touched


def differing(before: Record | None, after: Record | None) -> frozenset[str] | None:
    """The fields that differ between two states of an object; None where it was added or removed."""
    if before is None or after is None:
        return None
    pairs = zip(before.__struct_fields__, astuple(before), astuple(after), strict=True)
    return frozenset([name for name, one, other in pairs if one is not other and one != other])
