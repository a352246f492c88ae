"""Indexes: records by a shared value, updated with every change."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TypeAlias

from ..facts.record import Record

ByName: TypeAlias = Callable[[type[Record], str, str], Record | None]

# Most keys have one record, few have many: one is itself, some are a tuple, hundreds a list in the order of their
# identities, which takes a tenth of the memory of a dict by these, and thousands such a dict.
Bucket: TypeAlias = Record | tuple[Record, ...] | list[Record] | dict[int, Record]
_SOME, _HUNDREDS = 8, 2000


def _never(_before: Record | None, _after: Record | None) -> bool:
    return False


@dataclass(frozen=True, eq=False)
class Index:
    """A value that records share.

    `keys` gives the keys of a record, none for a record that is not in the index. If keys are read through other
    records, `through` has for each of these its type and the index that finds, by its `namespace/name`, who is read
    through it: the network of a pod's attachment is in a NAD; the instancetype of a VM may be in a ControllerRevision,
    and then what that instancetype says, two hops away. Records of the `dependents` types are affected by the other
    records under their key and affect none: a claim need not be evaluated again because another claim of its network
    changed. `unmoved` is for a record of the types in `through` that tens of thousands may be read through: whether a
    change of it, from None or to None where it comes or goes, leaves their keys and all that is found by them as it is.
    `of` are the types of records that can have a key; all can where it is empty. `namespaced`: all records under a key
    are in the namespace that it begins with, up to the first `/`.
    """

    id: str
    keys: Callable[[Record, ByName], Iterable[str]]
    of: tuple[type[Record], ...] = ()
    through: tuple[tuple[type[Record], Index], ...] = ()
    dependents: tuple[type[Record], ...] = ()
    unmoved: Callable[[Record | None, Record | None], bool] = _never
    namespaced: bool = False

    @cached_property
    def passed(self) -> frozenset[type[Record]]:
        """The types of records through which keys are read, over any number of hops."""
        return frozenset(each for kind, index in self.through for each in (kind, *index.passed))

    def __repr__(self) -> str:
        return f"Index({self.id})"


_SHARDS = 256  # a power of two
_FEW = 500


class Buckets:
    """The buckets of one index by their keys.

    In many small dicts, once there are more than a few keys: resizing the single dict of a large fleet blocks the
    event loop for ten milliseconds and more.
    """

    def __init__(self) -> None:
        self._shards: tuple[dict[str, Bucket], ...] = ({},)
        self._mask = 0

    def get(self, key: str) -> Bucket | None:
        return self._shards[hash(key) & self._mask].get(key)

    def add(self, key: str, record: Record) -> None:
        shard = self._shards[hash(key) & self._mask]
        bucket = shard.get(key)
        if bucket is not None:
            shard[key] = _added(bucket, record)
            return
        shard[key] = record
        if self._mask == 0 and len(shard) > _FEW:
            self._shards, self._mask = tuple({} for _ in range(_SHARDS)), _SHARDS - 1
            for each, found in shard.items():
                self._shards[hash(each) & self._mask][each] = found

    def remove(self, key: str, record: Record) -> None:
        """Takes out this record, by identity."""
        shard = self._shards[hash(key) & self._mask]
        left = _removed(shard.get(key), record)
        if left is None:
            shard.pop(key, None)
        else:
            shard[key] = left

    def replace(self, key: str, before: Record, after: Record) -> None:
        """Puts a record in the place of another one."""
        shard = self._shards[hash(key) & self._mask]
        shard[key] = _replaced(shard.get(key), before, after)

    def keys(self) -> Iterator[str]:
        """All of them; keys may come and go between two, and one that comes may be left out."""
        for shard in self._shards:
            yield from tuple(shard)


class Layered(Buckets):
    """The buckets of others, with changes of its own, by which the others do not change."""

    def __init__(self, below: Buckets) -> None:
        self._below = below
        self._own: dict[str, Bucket | None] = {}

    def get(self, key: str) -> Bucket | None:
        return self._own[key] if key in self._own else self._below.get(key)

    def add(self, key: str, record: Record) -> None:
        self._own[key] = _added(self._owned(key), record)

    def remove(self, key: str, record: Record) -> None:
        self._own[key] = _removed(self._owned(key), record)

    def replace(self, key: str, before: Record, after: Record) -> None:
        self._own[key] = _replaced(self._owned(key), before, after)

    def keys(self) -> Iterator[str]:
        below = self._below.keys()
        yield from (key for key in below if key not in self._own)
        yield from (key for key, bucket in self._own.items() if bucket is not None)

    def _owned(self, key: str) -> Bucket | None:
        """The bucket, which may be changed in place."""
        bucket = self.get(key)
        return bucket.copy() if isinstance(bucket, _IN_PLACE) and key not in self._own else bucket


_IN_PLACE = (list, dict)


def members(bucket: Bucket | None) -> Iterable[Record]:
    if bucket is None:
        return ()
    if isinstance(bucket, tuple):
        return bucket
    if isinstance(bucket, list):
        return tuple(bucket)
    return tuple(bucket.values()) if isinstance(bucket, dict) else (bucket,)


def one(bucket: Bucket | None) -> Record | None:
    """Any of its records."""
    if isinstance(bucket, tuple | list):
        return bucket[0]
    # The latest, since the search for the first one of a dict walks past all that were taken out before it.
    return next(reversed(bucket.values())) if isinstance(bucket, dict) else bucket


def some(bucket: Bucket | None, most: int) -> Iterable[Record]:
    """Any of its records, so many at most."""
    if isinstance(bucket, tuple | list):
        return bucket[:most]
    # From the latest back, as `one` does.
    return islice(reversed(bucket.values()), most) if isinstance(bucket, dict) else members(bucket)


def size(bucket: Bucket | None) -> int:
    if bucket is None:
        return 0
    return len(bucket) if isinstance(bucket, tuple | list | dict) else 1


def _added(bucket: Bucket | None, record: Record) -> Bucket:
    if bucket is None:
        return record
    if isinstance(bucket, list):
        if len(bucket) < _HUNDREDS:
            place = bisect_left(bucket, id(record), key=id)
            if place == len(bucket) or bucket[place] is not record:
                bucket.insert(place, record)
            return bucket
        bucket = {id(each): each for each in bucket}
    if isinstance(bucket, dict):
        bucket[id(record)] = record
        return bucket
    if isinstance(bucket, tuple):
        all_of_them = (*bucket, record)
        if len(all_of_them) <= _SOME:
            return all_of_them
        return sorted({id(each): each for each in all_of_them}.values(), key=id)
    return bucket, record


def _removed(bucket: Bucket | None, record: Record) -> Bucket | None:
    """The bucket without this record (by identity); None if it is empty then."""
    if isinstance(bucket, list):
        place = bisect_left(bucket, id(record), key=id)
        if place < len(bucket) and bucket[place] is record:
            del bucket[place]
        return bucket or None
    if isinstance(bucket, dict):
        bucket.pop(id(record), None)
        return bucket or None
    left = tuple(each for each in members(bucket) if each is not record)
    return left[0] if len(left) == 1 else left or None


def _replaced(bucket: Bucket | None, before: Record, after: Record) -> Bucket:
    """The bucket with another record in the place of one of its own (by identity)."""
    if bucket is before:
        return after
    if isinstance(bucket, tuple):
        return (*[each for each in bucket if each is not before], after)
    return _added(_removed(bucket, before), after)
