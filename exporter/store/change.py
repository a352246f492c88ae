"""A change of one object, and what it means for the indexes that find it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from msgspec.structs import astuple

from .index import Buckets, ByName, Index
from .record import Record

__all__ = ["Change", "IndexStep", "differing", "move"]

Keys: TypeAlias = dict[Index, tuple[str, ...]]


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
    touched: Keys = field(default_factory=dict)
    moved: Keys = field(default_factory=dict)
    own: Keys = field(default_factory=dict)
    facts: frozenset[str] | None = None


class IndexStep(NamedTuple):
    """What is done for one index with each record of a kind; `listens` where records of the kind are dependents."""

    by: Index
    keys: Callable[[Record, ByName], Iterable[str]]
    buckets: Buckets
    listens: bool


def move(step: IndexStep, change: Change, had: tuple[str, ...], has: tuple[str, ...]) -> None:
    """Has an index find an object by the keys that it has, and no more by those that it had."""
    index, _, buckets, listens = step
    before, after = change.before, change.after
    if had == has and before is not None and after is not None:
        for key in has:
            buckets.replace(key, before, after)
        own = touched = has
        moved: tuple[str, ...] = ()
    else:
        if before is not None:
            for key in had:
                buckets.remove(key, before)
        if after is not None:
            for key in has:
                buckets.add(key, after)
        own, touched = has + had, had + has
        moved = tuple(frozenset(had) ^ frozenset(has)) if had and has else own
    change.own[index] = own
    if listens:
        return
    if (had and has and moved) or index in change.touched:
        touched = tuple(dict.fromkeys((*change.touched.get(index, ()), *touched)))
    change.touched[index] = touched
    if moved:
        change.moved[index] = (*change.moved.get(index, ()), *moved)


def differing(before: Record | None, after: Record | None) -> frozenset[str] | None:
    """The fields that differ between two states of an object; None where it was added or removed."""
    if before is None or after is None:
        return None
    pairs = zip(before.__struct_fields__, astuple(before), astuple(after), strict=True)
    return frozenset([name for name, one, other in pairs if one is not other and one != other])
