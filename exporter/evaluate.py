"""The one way to evaluate a check: on one partition of a cluster, by whoever asks.

The engine does so as the cluster changes, a dump is evaluated so once, a preview evaluates the cluster as it would be,
and a repair is confirmed by it. Pure: no clock, no client.

A check has one of four answers. *Findings* or *none* need all that it reads: listed, current, and readable. It is *not
applicable* where the cluster does not serve what it is about. Else it is *unknown*, with the reason: could not see is
never the same as not there.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from enum import StrEnum
from typing import Any

import msgspec

from .checks.base import Check, View
from .findings import Finding
from .model.cluster import Cluster
from .model.kind import Kind
from .model.reader import Seen
from .model.record import Ref, UnansweredError
from .model.source import UNREADABLE, Source, Undecodable, not_served, unreadable_in

__all__ = ["Answer", "Outcome", "Standing", "evaluate", "evaluating", "hidden", "standing", "undecodables"]


class Outcome(StrEnum):
    FINDINGS = "findings"
    NONE = "none"
    UNKNOWN = "unknown"
    NOT_APPLICABLE = "not_applicable"


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """`unknown` and `not_applicable` say why, and are empty otherwise. `error` is what the check raised, `hidden_by`
    the undecodable object that leaves the partition without an answer, `unread` one of which a fact can't be read.
    """

    findings: tuple[Finding, ...] = ()
    unknown: str = ""
    not_applicable: str = ""
    error: Exception | None = None
    hidden_by: Undecodable | None = None
    unread: Ref | None = None
    seen: Seen | None = None

    @property
    def outcome(self) -> Outcome:
        if self.not_applicable:
            return Outcome.NOT_APPLICABLE
        if self.unknown:
            return Outcome.UNKNOWN
        return Outcome.FINDINGS if self.findings else Outcome.NONE


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a check can answer at all, as far as that depends on what is served and seen.

    `unseen` has a sentence for each kind that can't be seen; `waiting` says that a kind is about to catch up with what
    was missed, so that there is no new answer for the moment.
    """

    not_applicable: str = ""
    unseen: tuple[str, ...] = ()
    waiting: bool = False

    @property
    def answers(self) -> bool:
        return not (self.not_applicable or self.unknown)

    @property
    def unknown(self) -> str:
        """Why there is no answer although there should be one; empty where there is."""
        waiting = "a watch is connecting again; what it missed is not there yet" if self.waiting else ""
        return "; ".join(self.unseen) or waiting


def standing(check: Check, cluster: Cluster) -> Standing:
    if why := not_served(cluster, check.about):
        return Standing(not_applicable=why)
    unseen, waiting = [], False
    for kind in check.reads:
        source = _source(cluster, kind)
        if kind.record in _OWN or (source is not None and source.current):
            continue
        waiting = True
        if source is None or not source.readable:
            unseen.append(f"{kind.name}: {source.why if source is not None else 'nobody looks for it'}")
    return Standing(unseen=tuple(unseen), waiting=waiting)


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
    known: Standing | None = None,
    seen: Seen | None = None,
) -> Answer:
    """What a check answers for one partition; never raises.

    `settings` are the check's, its defaults where there are none. `known` is the check's standing, where somebody has
    it already. In `seen` all that is read is taken down.
    """
    evaluation = evaluating(check, cluster, partition, settings, known=known, seen=seen)
    while True:
        try:
            next(evaluation)
        except StopIteration as ended:
            answer: Answer = ended.value
            return answer


def evaluating(
    check: Check,
    cluster: Cluster,
    partition: str = "",
    settings: Any = None,
    *,
    known: Standing | None = None,
    seen: Seen | None = None,
) -> Generator[None, None, Answer]:
    """The same with pauses, of which a partition with thousands of objects has many; the answer is what it returns.

    It holds for the cluster as it is while it is made: after a change one has to begin again.
    """
    known = known or standing(check, cluster)
    if known.not_applicable:
        return Answer(not_applicable=known.not_applicable)
    if known.unknown:
        return Answer(unknown=known.unknown)
    if undecodable := hidden(check, cluster, partition):
        return Answer(unknown=undecodable.sentence, hidden_by=undecodable)
    found: list[Finding] = []
    try:
        for finding in check.find(View(cluster, check, partition, settings, seen)):
            if finding is not None:
                found.append(finding)
            yield
    except UnansweredError as error:
        return Answer(unknown=str(error), unread=error.ref, seen=seen)
    except Exception as error:  # noqa: BLE001 # whatever a check raises, its partition has no answer
        why = f"the check raised {type(error).__name__}: {error}; please report it"
        return Answer(unknown=why, error=error, seen=seen)
    return Answer(findings=tuple(found), seen=seen)


def _source(cluster: Cluster, kind: Kind[Any]) -> Source | None:
    return cluster.get(Source, "", kind.name)


_OWN = (Source, Undecodable)
