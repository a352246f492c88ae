"""What a check sees where a kind that it reads can't be seen: what it concludes from the others holds all the same.

What is there is known; that something is not there is known of no kind that can't be seen. So objects of other kinds
are given as ever, and whoever needs all of what may be of the missing kind, since nothing that is known was enough,
gets an UnseenError. What was held of it before, if anything, counts for nothing: it may be gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from ..store.cluster import Cluster
from ..store.index import Index
from ..store.kind import Reach
from ..store.reader import Seen
from ..store.record import Record, UnseenError
from .check import Check, View
from .finding import Finding

__all__ = ["PartialView", "known"]

R = TypeVar("R", bound=Record)
T = TypeVar("T")


def known(found: Iterable[T]) -> tuple[list[T], bool]:
    """What is known, and whether that is all."""
    there: list[T] = []
    try:
        there.extend(found)
    except UnseenError:
        return there, False
    return there, True


class PartialView(View):
    """A partition without the `unseen` types of records. Raises UnseenError where they are asked for by themselves, and
    after the last known one where they may be among others.
    """

    __slots__ = ("_unseen",)

    def __init__(
        self,
        cluster: Cluster,
        check: Check,
        partition: str,
        settings: Any = None,
        seen: Seen | None = None,
        *,
        unseen: frozenset[type[Record]],
    ) -> None:
        super().__init__(cluster, check, partition, settings, seen)
        self._unseen = unseen

    def sharing(self, index: Index, key: str) -> Iterable[Record]:
        """Raises UnseenError at once where nobody knows who is under a key, since keys are read through them."""
        found = self._under(index, key)
        missing = self._unseen.intersection(index.of) if index.of else self._unseen
        missing = missing.difference(index.dependents)  # which nobody gets from it
        return _Known(found, missing) if missing else found

    def members(self, index: Index, key: str, kind: type[R]) -> list[R]:
        self._declared(kind)
        return [record for record in self._under(index, key) if isinstance(record, kind)]

    def _under(self, index: Index, key: str) -> Iterable[Record]:
        if not self._unseen.isdisjoint(index.passed):
            raise _unseen(self._unseen & index.passed)
        return super().sharing(index, key)

    def derived(self, index: Index, key: str, make: Callable[[], T]) -> T:  # noqa: ARG002 # nothing is kept
        return make()  # of no use to anybody who sees more, and not what those made

    def apart(self, found: Iterable[Finding | None]) -> Iterator[Finding | None]:
        try:
            yield from found
        except UnseenError:
            return

    def _declared(self, kind: type[Record]) -> Reach:
        reach = super()._declared(kind)
        if kind in self._unseen:
            raise _unseen({kind})
        return reach


class _Known:
    """Records of which there may be more; it ends in an UnseenError, each time."""

    __slots__ = ("_missing", "_records")

    def __init__(self, records: Iterable[Record], missing: frozenset[type[Record]]) -> None:
        self._records, self._missing = records, missing

    def __iter__(self) -> Iterator[Record]:
        yield from (record for record in self._records if type(record) not in self._missing)
        raise _unseen(self._missing)


def _unseen(kinds: Iterable[type[Record]]) -> UnseenError:
    return UnseenError(f"{', '.join(sorted(kind.__name__ for kind in kinds))} can't be seen")
