"""The one way to evaluate a check: on one partition of a cluster, by whoever asks.

The engine does so as the cluster changes, a dump is evaluated so once, a preview evaluates the cluster as it would be,
and a repair is confirmed by it. Pure: no clock, no client.

A check has one of four answers. *Findings* or *none* need all that it reads: listed, current, and readable. It is *not
applicable* where the cluster does not serve what it is about. Else it is *unknown*, with the reason: could not see is
never the same as not there. What follows from the objects of the other kinds alone is found even where one kind can't
be seen; the answer is unknown then too, since there may be more.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, TypeVar

import msgspec

from ..facts.record import Record, Ref, UnansweredError, UnseenError
from ..findings.check import Check, View
from ..findings.finding import Finding
from ..findings.partial import PartialView, Partly
from ..store.cluster import Cluster
from ..store.kind import Kind, Reach
from ..store.reader import Seen
from ..store.source import UNREADABLE, Source, SyncState, Undecodable, not_served, unreadable_in

T = TypeVar("T")


class Outcome(StrEnum):
    FINDINGS = "findings"
    NONE = "none"
    UNKNOWN = "unknown"
    NOT_APPLICABLE = "not_applicable"


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """`unknown` and `not_applicable` say why, and are empty otherwise. `error` is what the check raised, `hidden_by`
    the undecodable object that leaves the partition without an answer, `unread` one of which a fact can't be read.
    A `partial` one was made without a kind that can't be seen: it is unknown, and may have findings.
    """

    findings: tuple[Finding, ...] = ()
    unknown: str = ""
    not_applicable: str = ""
    error: Exception | None = None
    hidden_by: Undecodable | None = None
    unread: Ref | None = None
    partial: bool = False
    seen: Seen | None = None

    @property
    def outcome(self) -> Outcome:
        if self.not_applicable:
            return Outcome.NOT_APPLICABLE
        if self.unknown:
            return Outcome.UNKNOWN
        return Outcome.FINDINGS if self.findings else Outcome.NONE


@dataclass(frozen=True, kw_only=True)
class Answerable:
    """Whether a check can answer at all, as far as that depends on what is served and seen.

    `unseen` has a sentence for each kind that can't be seen, and `blind` the types of their records; `partly` has the
    kinds that are seen in some namespaces alone, and what is said of each. `waiting` says
    that a kind is about to be there, or to catch up with what was missed, so that there is no new answer for the
    moment.
    `aimless`: what can't be seen is what the check is about, or decides what its partitions are.
    """

    not_applicable: str = ""
    unseen: tuple[str, ...] = ()
    blind: frozenset[type[Record]] = frozenset()
    partly: Mapping[type[Record], Partly] = field(default_factory=dict)
    waiting: bool = False
    aimless: bool = False

    @cached_property
    def answers(self) -> bool:
        return not (self.not_applicable or self.unknown)

    @cached_property
    def evaluates(self) -> bool:
        """Whether it can answer, or find what follows from what can be seen."""
        return not (self.not_applicable or self.waiting or self.aimless)

    @cached_property
    def unknown(self) -> str:
        """Why there is no answer although there should be one; empty where there is."""
        waiting = "a watch is reconnecting, and missed events haven't arrived yet" if self.waiting else ""
        return "; ".join(self.unseen) or waiting


def standing(check: Check, cluster: Cluster) -> Answerable:
    if why := not_served(cluster, check.requires):
        return Answerable(not_applicable=why)
    unseen: dict[type[Record], str] = {}
    partly: dict[type[Record], Partly] = {}
    waiting = False
    for kind in check.reads:
        source = _source(cluster, kind)
        if kind.record in _OWN or (source is not None and source.current):
            continue
        waiting = waiting or (source is not None and (source.readable or source.sync_state is SyncState.STARTING))
        # A part of what reaches everywhere is of no use: a check would take it for all.
        if source is not None and source.within and kind.reach is not Reach.CLUSTER:
            partly[kind.record] = Partly(frozenset(source.within), f"{kind.name}: {source.why}")
        elif source is None or not source.readable:
            unseen[kind.record] = f"{kind.name}: {source.why if source is not None else 'no reflector reads it'}"
    by = check.scope.by.passed if check.scope.by is not None else frozenset()
    aimless = any(kind in unseen for kind in (*by, *(kind.record for kind in check.requires)))
    if any(kind in partly for kind in by):  # which partitions there are is not known, and a part of them would mislead
        unseen |= {kind: each.why for kind, each in partly.items() if kind in by}
        aimless = True
    partly = {kind: each for kind, each in partly.items() if kind not in unseen}
    said = [*unseen.values(), *_beyond(check, partly)]
    return Answerable(unseen=tuple(said), blind=frozenset(unseen), partly=partly, waiting=waiting, aimless=aimless)


def _beyond(check: Check, partly: Mapping[type[Record], Partly]) -> Iterator[str]:
    """What is said of kinds of which there may be partitions that nobody sees: they are of no one namespace."""
    by = check.scope.by
    if by is not None and not by.namespaced:
        yield from (each.why for kind, each in partly.items() if not by.of or kind in by.of)


def undecodables(check: Check, cluster: Cluster) -> Iterator[Undecodable]:
    """All undecodable objects of the kinds that a check reads."""
    for kind in check.reads:
        for record in cluster.sharing(UNREADABLE, kind.name):
            if isinstance(record, Undecodable):
                yield record


def hidden(check: Check, cluster: Cluster, partition: str) -> Undecodable | None:
    """An undecodable object that leaves the partition without an answer: it may be one of those that count in it."""
    if not cluster.has(Undecodable):
        return None
    if check.scope.whole:
        keys = [kind.name for kind in check.reads]
    else:
        namespaces = {"", *check.namespaces(partition, cluster)}
        keys = [unreadable_in(kind.name, namespace) for kind in check.reads for namespace in namespaces]
    found = (cluster.first(UNREADABLE, key) for key in keys)
    return next((record for record in found if isinstance(record, Undecodable)), None)


def evaluate(
    check: Check,
    cluster: Cluster,
    partition: str = "",
    settings: Any = None,
    *,
    known: Answerable | None = None,
    seen: Seen | None = None,
) -> Answer:
    """What a check answers for one partition; never raises.

    `settings` are the check's, its defaults where there are none. `known` is the check's standing, where somebody has
    it already. In `seen` all that is read is taken down.
    """
    return at_once(evaluating(check, cluster, partition, settings, known=known, seen=seen))


def at_once(made: Generator[None, None, T]) -> T:
    """What the work returns, without a turn for other work."""
    while True:
        try:
            next(made)
        except StopIteration as ended:
            value: T = ended.value
            return value


def never() -> bool:
    return False


def evaluating(
    check: Check,
    cluster: Cluster,
    partition: str = "",
    settings: Any = None,
    *,
    known: Answerable | None = None,
    seen: Seen | None = None,
    pauses: Callable[[], bool] = never,
) -> Generator[None, None, Answer]:
    """The same with a pause wherever one is due by `pauses`, which is asked after each of thousands of objects; the
    answer is what it returns.

    It holds for the cluster as it is while it is made: after a change one has to begin again.
    """
    known = known or standing(check, cluster)
    if known.not_applicable:
        return Answer(not_applicable=known.not_applicable)
    if not known.evaluates:
        return Answer(unknown=known.unknown)
    partial = bool(known.blind)
    if undecodable := hidden(check, cluster, partition):
        return Answer(unknown=undecodable.sentence, hidden_by=undecodable, partial=partial)
    if known.blind or known.partly:
        view: View = PartialView(cluster, check, partition, settings, seen, unseen=known.blind, partly=known.partly)
    else:
        view = View(cluster, check, partition, settings, seen)
    found: list[Finding] = []
    try:
        for finding in check.find(view):
            if finding is not None:
                found.append(finding)
            if pauses():
                yield
    except UnseenError:
        pass  # what was found before that holds
    except UnansweredError as error:
        return Answer(unknown=str(error), unread=error.ref, partial=partial, seen=seen)
    except Exception as error:  # noqa: BLE001 # whatever a check raises, its partition has no answer
        why = f"the check raised {type(error).__name__}: {error}; please report it"
        return Answer(unknown=why, error=error, partial=partial, seen=seen)
    missed = "; ".join(sorted(each.why for each in view.missed)) if isinstance(view, PartialView) else ""
    unknown = known.unknown or missed
    if seen is None and not (found or unknown or partial):
        return _NOTHING_FOUND
    return Answer(findings=tuple(found), unknown=unknown, partial=partial or bool(missed), seen=seen)


def _source(cluster: Cluster, kind: Kind[Any]) -> Source | None:
    return cluster.get(Source, "", kind.name)


_NOTHING_FOUND = Answer()  # that of almost every partition
_OWN = (Source, Undecodable)
