"""Indexes: which records share a value, kept up to date with every change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from .record import Record

__all__ = ["Bucket", "Buckets", "Index", "Lookup", "added", "members", "removed"]

Lookup: TypeAlias = Callable[[type[Record], str, str], Record | None]

# Most keys have one record, few have many: one alone stands for itself, some are a tuple, many are a dict by identity.
Bucket: TypeAlias = Record | tuple[Record, ...] | dict[int, Record]
_MANY = 8


@dataclass(frozen=True, eq=False)
class Index:
    """A value that records share.

    `keys` gives a record's keys and none for a record that has no part in it. Where the keys of one record are
    read through others, `through` names for each of these the type and the index that finds who is read through it, by
    `namespace/name`: the network of a pod's attachment is read from a NAD; the instancetype of a VM may be read from a
    ControllerRevision, and then what that instancetype says, two hops away. Records of the `dependents` types are
    concerned by what others under their key do, and concern nobody: a claim need not be evaluated again because another
    claim of its network changed.
    """

    id: str
    keys: Callable[[Record, Lookup], Iterable[str]]
    through: tuple[tuple[type[Record], Index], ...] = ()
    dependents: tuple[type[Record], ...] = ()

    def __repr__(self) -> str:
        return f"Index({self.id})"


_SHARDS = 256


class Buckets:
    """The buckets of one index by their keys.

    In many small tables: when the single one of a large fleet has to be made anew for the next key, all else waits for
    ten milliseconds and more.
    """

    def __init__(self) -> None:
        self._shards: tuple[dict[str, Bucket], ...] = tuple({} for _ in range(_SHARDS))

    def get(self, key: str) -> Bucket | None:
        return self._shards[hash(key) % _SHARDS].get(key)

    def __setitem__(self, key: str, bucket: Bucket) -> None:
        self._shards[hash(key) % _SHARDS][key] = bucket

    def discard(self, key: str) -> None:
        self._shards[hash(key) % _SHARDS].pop(key, None)

    def keys(self) -> Iterator[str]:
        for shard in self._shards:
            yield from shard


def members(bucket: Bucket | None) -> Iterable[Record]:
    if bucket is None:
        return ()
    if isinstance(bucket, tuple):
        return bucket
    return tuple(bucket.values()) if isinstance(bucket, dict) else (bucket,)


def added(bucket: Bucket | None, record: Record) -> Bucket:
    if bucket is None:
        return record
    if isinstance(bucket, dict):
        bucket[id(record)] = record
        return bucket
    all_of_them = (*members(bucket), record)
    return all_of_them if len(all_of_them) <= _MANY else {id(each): each for each in all_of_them}


def removed(bucket: Bucket | None, record: Record) -> Bucket | None:
    """The bucket without this very record; None where none is left."""
    if isinstance(bucket, dict):
        bucket.pop(id(record), None)
        return bucket or None
    left = tuple(each for each in members(bucket) if each is not record)
    return left[0] if len(left) == 1 else left or None
