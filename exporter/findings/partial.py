"""What a check sees where a kind that it reads can't be seen: what it concludes from the others holds all the same.

What is there is known; that something is not there is known of no kind that can't be seen. So objects of other kinds
are given as ever, and whoever needs all of what may be of the missing kind, since nothing that is known was enough,
gets an UnseenError. What was held of it before, if anything, counts for nothing: it may be gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from ..facts.record import Record, UnseenError
from ..store.cluster import Cluster
from ..store.index import Index
from ..store.kind import Reach
from ..store.reader import Seen
from .check import PER_CLUSTER, Check, View
from .finding import Finding

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


class Partly(NamedTuple):
    """Of a kind that may not be listed everywhere: where all of it is seen, and a sentence on the rest."""

    namespaces: frozenset[str]
    why: str


class PartialView(View):
    """A partition without the `unseen` types of records. Raises UnseenError where they are asked for by themselves, and
    after the last known one where they may be among others. Those that are `partly` seen are known, and so is what is
    not there, in their namespaces; whoever asks further gets an UnseenError, and `missed` has what was asked for.
    """

    __slots__ = ("_partly", "_unseen", "missed")

    def __init__(
        self,
        cluster: Cluster,
        check: Check,
        partition: str,
        settings: Any = None,
        seen: Seen | None = None,
        *,
        unseen: frozenset[type[Record]],
        partly: Mapping[type[Record], Partly] | None = None,
    ) -> None:
        super().__init__(cluster, check, partition, settings, seen)
        self._unseen, self._partly = unseen, partly or {}
        self.missed: set[Partly] = set()

    @property
    def whole(self) -> bool:
        return False

    def all(self, kind: type[R]) -> list[R]:
        reach, by = self._declared(kind), self._scope.by
        if self._scope is PER_CLUSTER or reach is Reach.CLUSTER:
            self._refuse(self._beyond((kind,), ""))
        elif by is not None and reach is not Reach.NAMESPACE:
            self._refuse(self._beyond((kind,), _place(by, self.partition)))
        return super().all(kind)

    def within(self, kind: type[R], namespace: str) -> list[R]:
        self._refuse(self._beyond((kind,), namespace))
        return super().within(kind, namespace)

    def named(self, kind: type[R], namespace: str, name: str) -> R | None:
        self._refuse(self._beyond((kind,), namespace))
        return super().named(kind, namespace, name)

    def sharing(self, index: Index, key: str) -> Iterable[Record]:
        """Raises UnseenError at once where nobody knows who is under a key, since keys are read through them."""
        found = self._under(index, key)
        of = frozenset(index.of) or self._unseen | self._partly.keys()
        others = of.difference(index.dependents)  # which nobody gets from it
        missing = self._unseen & others
        beyond = self._beyond(others, _place(index, key))
        return _Known(found, missing, lambda: self._unknown(missing | beyond)) if missing or beyond else found

    def some(self, index: Index, key: str, most: int) -> tuple[Record, ...]:
        return tuple(islice(self.sharing(index, key), most))

    def members(self, index: Index, key: str, kind: type[R]) -> list[R]:
        self._declared(kind)
        self._refuse(self._beyond((kind,), _place(index, key)))
        return [record for record in self._under(index, key) if isinstance(record, kind)]

    def _under(self, index: Index, key: str) -> Iterable[Record]:
        self._refuse((self._unseen | self._partly.keys()) & index.passed)
        return super().sharing(index, key)

    def derived(self, index: Index, key: str, make: Callable[[], T], of: tuple[type[Record], ...] = ()) -> T:
        if not of:
            return make()  # of no use to anybody who sees more, and not what those made
        for kind in of:
            self._declared(kind)
        self._refuse((self._unseen | self._partly.keys()) & index.passed)
        self._refuse(self._beyond(of, _place(index, key)))
        return super().derived(index, key, make, of)

    def apart(self, found: Iterable[Finding | None]) -> Iterator[Finding | None]:
        try:
            yield from found
        except UnseenError:
            return

    def _declared(self, kind: type[Record]) -> Reach:
        reach = super()._declared(kind)
        self._refuse(self._unseen & {kind})
        return reach

    def _beyond(self, kinds: Iterable[type[Record]], namespace: str) -> frozenset[type[Record]]:
        """Those that are seen in other namespaces alone; empty text is no namespace, and any."""
        return frozenset(
            kind for kind in kinds if kind in self._partly and namespace not in self._partly[kind].namespaces
        )

    def _refuse(self, kinds: AbstractSet[type[Record]]) -> None:
        if kinds:
            raise self._unknown(kinds)

    def _unknown(self, kinds: AbstractSet[type[Record]]) -> UnseenError:
        self.missed |= {self._partly[kind] for kind in kinds if kind in self._partly}
        return UnseenError(f"{', '.join(sorted(kind.__name__ for kind in kinds))} can't be seen")


def _place(index: Index, key: str) -> str:
    """The namespace that all records under a key are in; empty where they may be in any."""
    return key.partition("/")[0] if index.namespaced else ""


class _Known:
    """Records of which there may be more; it ends in an UnseenError, each time. What was held of `missing` kinds may be
    gone.
    """

    __slots__ = ("_missing", "_records", "_unknown")

    def __init__(
        self, records: Iterable[Record], missing: frozenset[type[Record]], unknown: Callable[[], UnseenError]
    ) -> None:
        self._records, self._missing, self._unknown = records, missing, unknown

    def __iter__(self) -> Iterator[Record]:
        yield from (record for record in self._records if type(record) not in self._missing)
        raise self._unknown()
