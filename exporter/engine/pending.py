"""Which partitions of a check wait to be evaluated again, and since when."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from ..findings.affected import CLUSTER, Crowd

__all__ = ["Pending"]

_Group: TypeAlias = dict[str, None]  # partitions
_LOOKS = 100  # at members of a crowd, between two looks at the time
_MOST_CROWDS = 100  # that wait while nobody evaluates


@dataclass(slots=True, eq=False)
class _Waiting:
    """A crowd that waits: its partitions are found when it has its turn, a few at a time."""

    of: Crowd | None
    since: float
    coming: Iterator[str | None]  # None for a member that is in no partition, as most may be
    begun: bool = False
    rest: _Group | None = None  # what was still to come when somebody asked
    taken: set[str] = field(default_factory=set)  # partitions, before the next crowd came


class Pending:
    """Partitions that wait, in the order in which they became dirty, each with the time of that.

    One that an undecodable object leaves without an answer is deferred when its turn comes: it waits by the `hidden_by`
    of that object until `resume`, and costs nothing meanwhile. A crowd, the whole fleet maybe, waits as one, however
    many of its members change meanwhile: to take each of them in at each change would block the event loop.
    """

    def __init__(self) -> None:
        # A dict would be searched from its first place on, past all that were taken.
        self._dirty_since: OrderedDict[str, float] = OrderedDict()
        self._deferred: dict[str, _Group] = {}
        self._resumed: deque[tuple[float, _Group]] = deque()  # whole groups: of one there may be tens of thousands
        self._group_of: dict[str, _Group] = {}  # of both, by the partition
        self._crowds: deque[_Waiting] = deque()
        self._whole: dict[Crowd, _Waiting] = {}  # those of which nothing was looked at yet

    def add(self, partitions: Iterable[str], now: float) -> None:
        for partition in partitions:
            self._dirty_since.setdefault(partition, now)

    def add_crowd(self, of: Crowd | None, members: Callable[[], Iterable[Iterable[str]]], now: float) -> None:
        """`members` is called when the crowd has its turn, and gives the partitions of each member. One that is `of`
        nothing in particular may wait several times.
        """
        known = self._whole.get(of) if of is not None else None
        if known is not None:
            self._forget_taken_since(known)
            return
        waiting = _Waiting(of, now, _one_by_one(members))
        self._crowds.append(waiting)
        if of is not None:
            self._whole[of] = waiting

    def _forget_taken_since(self, waiting: _Waiting) -> None:
        """What was taken since a crowd became dirty was so before the change that makes it dirty once more."""
        for each in reversed(self._crowds):
            each.taken.clear()
            if each is waiting:
                return

    @property
    def crowded(self) -> bool:
        """Whether more crowds wait than are kept while nobody evaluates."""
        return len(self._crowds) > _MOST_CROWDS

    def drop_crowds(self) -> None:
        self._crowds.clear()
        self._whole.clear()

    def due(self, before: float) -> Iterator[str | None]:
        """Takes out what became dirty no later than `before`, the oldest first; None after a while in which nothing
        was found.
        """
        while (since := self.oldest) is not None and since <= before:
            if self._crowds and self._crowds[0].since == since:
                partition = self._next_of(self._crowds[0])
            elif self._resumed and self._resumed[0][0] == since:
                partition = next(reversed(self._resumed[0][1]))  # without a search past all that were taken
            else:
                partition = next(iter(self._dirty_since))
            if partition is not None:
                self.discard(partition)
                if self._crowds:  # none of them need have it evaluated again
                    self._crowds[-1].taken.add(partition)
            yield partition

    def _next_of(self, waiting: _Waiting) -> str | None:
        if not waiting.begun:
            self._begin(waiting)
        for _ in range(_LOOKS):
            try:
                partition = next(waiting.coming)
            except StopIteration:
                self._crowds.popleft()
                return None
            if partition is not None and self._counts(partition):
                return partition
        return None

    def _counts(self, partition: str) -> bool:
        """Whether it waits by the first crowd alone. What changed itself since has a time of its own."""
        if partition in self._dirty_since or partition in self._group_of:
            return False
        return all(partition not in each.taken for each in self._crowds)

    def _begin(self, waiting: _Waiting) -> None:
        waiting.begun = True
        if waiting.of is not None and self._whole.get(waiting.of) is waiting:
            del self._whole[waiting.of]

    def discard(self, partition: str) -> None:
        """Takes out one that need not be evaluated any more."""
        self._dirty_since.pop(partition, None)
        group = self._group_of.pop(partition, None) if self._group_of else None
        if group is not None:
            group.pop(partition, None)
            while self._resumed and not self._resumed[0][1]:
                self._resumed.popleft()

    def defer(self, partition: str, hidden_by: str) -> None:
        group = self._deferred.setdefault(hidden_by, {})
        group[partition] = None
        self._group_of[partition] = group

    def resume(self, hidden_by: str, now: float) -> None:
        """What was deferred by it is dirty from now on."""
        group = self._deferred.pop(hidden_by, None)
        if group:
            self._resumed.append((now, group))

    def clear(self) -> None:
        self.drop_crowds()
        for each in (self._dirty_since, self._deferred, self._resumed, self._group_of):
            each.clear()

    def __contains__(self, partition: object) -> bool:
        """Whether it waits, or was deferred."""
        if partition in self._dirty_since or partition in self._group_of:
            return True
        for waiting in reversed(self._crowds):
            if partition in waiting.taken:
                return False  # since it and those before it became dirty
            if self._comes(partition, waiting):
                return True
        return False

    def _comes(self, partition: object, waiting: _Waiting) -> bool:
        if waiting.of == CLUSTER:
            return True
        if waiting.rest is None:
            self._begin(waiting)  # who comes later is not in it
            waiting.rest = dict.fromkeys(each for each in waiting.coming if each is not None)
            waiting.coming = iter(waiting.rest)
        return partition in waiting.rest

    @property
    def oldest(self) -> float | None:
        """When the first of those that wait became dirty; None where nothing waits but what was deferred."""
        first = next(iter(self._dirty_since.values())) if self._dirty_since else None
        if self._resumed and (first is None or self._resumed[0][0] < first):
            first = self._resumed[0][0]
        if self._crowds and (first is None or self._crowds[0].since < first):
            first = self._crowds[0].since
        return first

    @property
    def empty(self) -> bool:
        """Whether nothing waits but what was deferred."""
        return not self._dirty_since and not self._crowds and not self._resumed


def _one_by_one(members: Callable[[], Iterable[Iterable[str]]]) -> Iterator[str | None]:
    for partitions in members():
        found = None
        for found in partitions:
            yield found
        if found is None:
            yield None
