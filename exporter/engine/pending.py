"""Which partitions of a check wait to be evaluated again, and since when."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import TypeAlias

from .affected import CLUSTER, Crowd

_Group: TypeAlias = dict[str, None]  # partitions
_Resumed: TypeAlias = tuple[float, _Group]  # since when
_LOOKS = 100  # at members of a crowd, between two looks at the time; and at what is given its turn among others
_FEW = 16  # that are as soon taken in their order
_MOST_CROWDS = 100  # that wait while nobody evaluates


@dataclass(slots=True, eq=False)
class _Waiting:
    """A crowd that waits: its partitions are found when it has its turn, a few at a time."""

    of: Crowd | None
    since: float
    coming: Iterator[str | None]  # None for a member that is in no partition, as most may be
    begun: bool = False
    ended: bool = False  # nothing of it is to come
    rest: _Group | None = None  # what was still to come when somebody asked
    taken: set[str] = field(default_factory=set)  # partitions, before the next crowd came


class Pending:
    """Partitions that wait, each with the time since which it is dirty. Namespaces take turns, and so do crowds: where
    thousands of one wait, one of another has its turn next. Of one namespace the oldest comes first.

    One that an undecodable object leaves without an answer is deferred when its turn comes: it waits by the `hidden_by`
    of that object until `resume`, and costs nothing meanwhile. A crowd, the whole fleet maybe, waits as one, however
    many of its members change meanwhile: to take each of them in at each change would block the event loop.
    """

    def __init__(self) -> None:
        # A dict would be searched from its first place on, past all that were taken.
        self._dirty_since: OrderedDict[str, float] = OrderedDict()
        self._lined_up: OrderedDict[str, float] = OrderedDict()  # those of them that stand in the line of a namespace
        self._lines: dict[str, deque[str]] = {}  # by namespace; some of it may have been taken out meanwhile
        self._turns: deque[str | _Waiting | _Resumed] = deque()  # whose turn is next comes first
        self._deferred: dict[str, _Group] = {}
        self._resumed: deque[_Resumed] = deque()  # whole groups: of one there may be tens of thousands
        self._group_of: dict[str, _Group] = {}  # of both, by the partition
        self._crowds: deque[_Waiting] = deque()
        self._whole: dict[Crowd, _Waiting] = {}  # those of which nothing was looked at yet

    def add(self, partitions: Iterable[str], now: float) -> None:
        for partition in partitions:
            if partition not in self._lined_up:
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
        self._turns.append(waiting)
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
        self._turns = deque(each for each in self._turns if not isinstance(each, _Waiting))

    def due(self, before: float) -> Iterator[str | None]:
        """Takes out what became dirty no later than `before`, in turns; None after a while in which nothing was
        found.
        """
        while (since := self.oldest) is not None and since <= before:
            if not self._turns and len(self._dirty_since) <= _FEW:
                partition: str | None = next(iter(self._dirty_since))
            else:
                self._line_up(before)
                partition = self._next(before)
            if partition is not None:
                self.discard(partition)
                if self._crowds:  # none of them need have it evaluated again
                    self._crowds[-1].taken.add(partition)
            yield partition

    def _line_up(self, before: float) -> None:
        """Gives some of what is due a place in the line of its namespace."""
        for _ in range(_LOOKS):
            if not self._dirty_since or (since := next(iter(self._dirty_since.values()))) > before:
                return
            partition, _ = self._dirty_since.popitem(last=False)
            self._lined_up[partition] = since
            namespace = partition.partition("/")[0]
            line = self._lines.get(namespace)
            if line is None:
                line = self._lines[namespace] = deque()
                self._turns.append(namespace)
            line.append(partition)

    def _next(self, before: float) -> str | None:
        """What is due of whoever has the turn; None where that was nothing."""
        whose = self._turns.popleft()
        found: str | None = None
        if isinstance(whose, str):
            line = self._lines[whose]
            first = line.popleft()
            found, ended = first if first in self._lined_up else None, not line
            if ended:
                del self._lines[whose]
        elif isinstance(whose, _Waiting):
            found = self._next_of(whose) if whose.since <= before else None
            ended = whose.ended
            while self._crowds and self._crowds[0].ended:
                self._crowds.popleft()
        else:
            since, group = whose
            ended = not group
            if group and since <= before:
                found = next(reversed(group))  # without a search past all that were taken
        if not ended:
            self._turns.append(whose)
        return found

    def _next_of(self, waiting: _Waiting) -> str | None:
        if not waiting.begun:
            self._begin(waiting)
        for _ in range(_LOOKS):
            try:
                partition = next(waiting.coming)
            except StopIteration:
                waiting.ended = True
                return None
            if partition is not None and self._counts(partition, waiting):
                return partition
        return None

    def _counts(self, partition: str, waiting: _Waiting) -> bool:
        """Whether it waits by this crowd alone. What changed itself since has a time of its own."""
        if partition in self._dirty_since or partition in self._lined_up or partition in self._group_of:
            return False
        for each in reversed(self._crowds):
            if partition in each.taken:
                return False
            if each is waiting:
                break
        return True

    def _begin(self, waiting: _Waiting) -> None:
        waiting.begun = True
        if waiting.of is not None and self._whole.get(waiting.of) is waiting:
            del self._whole[waiting.of]

    def discard(self, partition: str) -> None:
        """Takes out one that need not be evaluated any more."""
        self._dirty_since.pop(partition, None)
        self._lined_up.pop(partition, None)
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
            self._turns.append(self._resumed[-1])

    def clear(self) -> None:
        self.drop_crowds()
        self._turns.clear()
        for each in (self._dirty_since, self._lined_up, self._lines, self._deferred, self._resumed, self._group_of):
            each.clear()

    def __contains__(self, partition: object) -> bool:
        """Whether it waits, or was deferred."""
        if partition in self._dirty_since or partition in self._lined_up or partition in self._group_of:
            return True
        for waiting in reversed(self._crowds):
            if partition in waiting.taken:
                return False  # since it and those before it became dirty
            if not waiting.ended and self._comes(partition, waiting):
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
        if self._lined_up and (first is None or next(iter(self._lined_up.values())) < first):
            first = next(iter(self._lined_up.values()))
        if self._resumed and (first is None or self._resumed[0][0] < first):
            first = self._resumed[0][0]
        if self._crowds and (first is None or self._crowds[0].since < first):
            first = self._crowds[0].since
        return first

    @property
    def empty(self) -> bool:
        """Whether nothing waits but what was deferred."""
        return not (self._dirty_since or self._lined_up or self._crowds or self._resumed)


def _one_by_one(members: Callable[[], Iterable[Iterable[str]]]) -> Iterator[str | None]:
    for partitions in members():
        found = None
        for found in partitions:
            yield found
        if found is None:
            yield None


# When the graces of early findings end, by check and partition.

_MOST = 1000  # that end at once: thousands of findings may have begun together
_STALE = 50  # that no longer hold and are kept, where hardly any hold


class Graces:
    def __init__(self) -> None:
        self._ends: dict[tuple[str, str], float] = {}  # of each check and partition the next one
        self._heap: list[tuple[float, str, str]] = []  # of all of them, and of some that no longer hold

    def put(self, check: str, partition: str, end: float | None) -> None:
        """Takes in when the next grace of the partition ends, in seconds since 1970; None for never."""
        key = check, partition
        if end is None:
            self._ends.pop(key, None)
        elif self._ends.get(key) != end:
            self._ends[key] = end
            heappush(self._heap, (end, *key))
        if len(self._heap) > 2 * len(self._ends) + _STALE:
            self._heap = [(end, *key) for key, end in self._ends.items()]
            heapify(self._heap)

    def forget(self, check: str) -> None:
        """Takes out all of a check."""
        self._ends = {key: end for key, end in self._ends.items() if key[0] != check}

    def ended(self, now: float) -> Iterator[tuple[str, str]]:
        """Takes out the checks and partitions of which a grace has ended, a thousand at a time."""
        for _ in range(_MOST):
            if not self._heap or self._heap[0][0] > now:
                return
            end, *key = heappop(self._heap)
            check, partition = key
            if self._ends.get((check, partition)) == end:
                del self._ends[check, partition]
                yield check, partition

    @property
    def next(self) -> float | None:
        """When the next one ends, or one that no longer holds would have."""
        return self._heap[0][0] if self._heap else None
