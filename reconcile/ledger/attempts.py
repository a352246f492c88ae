"""What is known of the writes that were begun: each of them, and what they amount to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain

import msgspec

from ..plan.undo import UndoRequest
from .entry import Entry, Event


class Attempt(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One write that was begun. `target`, which bears a pause, and `subject` are as in
    "Kind namespace/name", as `writes` are, `vm` as in "namespace/name"."""

    id: str
    at: float
    remediation: str = ""
    fingerprint: str = ""
    namespace: str = ""
    target: str = ""
    subject: str = ""
    vm: str = ""
    undo: bool = False
    writes: tuple[str, ...] = ()  # the objects that it is about: what is written, and what bears the Event


@dataclass(frozen=True)
class Failures:
    """How often a remediation failed in a row, and when last."""

    count: int
    last: float


@dataclass(frozen=True)
class War:
    """A repair that somebody else undid again and again. `why` is what the last return says, with the rival."""

    times: int
    last: float
    why: str


@dataclass(frozen=True)
class Pause:
    at: float
    by: str
    why: str


@dataclass(frozen=True, order=True)
class Return:
    at: float
    attempt: str
    target: str
    subject: str
    why: str


def attempt_of(entry: Entry) -> Attempt:
    """Of what is intended."""
    plan = entry.plan
    if plan is None:
        return Attempt(entry.attempt, entry.at)
    return Attempt(
        entry.attempt,
        entry.at,
        plan.remediation,
        plan.fingerprint,
        plan.target.namespace,
        str(plan.bound_to),
        str(plan.subject),
        f"{plan.target.namespace}/{plan.vm}" if plan.vm else "",
        entry.mode == "undo",
        tuple(sorted({str(plan.bound_to), str(plan.target)})),
    )


# Repairs that somebody else undid: how often, and which of them are fought over until a person resumes the object.


@dataclass
class Returns:
    """By fingerprint, target and subject: whatever of them a finding has, the returns of all three count for it."""

    kept: dict[str, list[Return]] = field(default_factory=dict)

    def add(self, attempt: Attempt, at: float, why: str) -> None:
        found = Return(at, attempt.id, attempt.target, attempt.subject, why)
        for key in {attempt.fingerprint, attempt.target, attempt.subject}:
            self.kept.setdefault(key, []).append(found)

    def resume(self, scope: str) -> None:
        """What came back of an object before no longer counts."""
        self._keep(lambda each: scope not in (each.target, each.subject))

    def war(self, keys: Collection[str], returns: int, within: float) -> War | None:
        found = sorted({each for key in keys if key for each in self.kept.get(key, ())})
        for first, last in zip(found, found[returns - 1 :], strict=False):
            if last.at - first.at <= within:
                return War(len(found), found[-1].at, found[-1].why)
        return None

    def wars(self, returns: int, within: float) -> dict[str, War]:
        """By what the last of the repairs was about, as in "Kind namespace/name"."""
        found = {}
        for key, each in self.kept.items():
            if (war := self.war([key], returns, within)) is not None:
                found[max(each).target] = war
        return found

    def last(self, scopes: Mapping[str, float]) -> dict[str, float]:
        """The time of each scope, or of the last return of it where that is later."""
        found = dict(scopes)
        for each in chain.from_iterable(self.kept.values()):
            for scope in {each.target, each.subject} & found.keys():
                found[scope] = max(found[scope], each.at)
        return found

    def forget(self, before: float, returns: int, within: float, paused: Container[str]) -> None:
        """Drops what came back before then, unless it is fought over, or is of an object that is paused."""
        keys: dict[Return, list[str]] = {}
        for key, found in self.kept.items():
            for each in found:
                keys.setdefault(each, []).append(key)
        fought = {each for each, own in keys.items() if each.at > before or self.war(own, returns, within) is not None}
        self._keep(lambda each: each in fought or each.target in paused or each.subject in paused)

    def _keep(self, wanted: Callable[[Return], bool]) -> None:
        left = {key: [each for each in found if wanted(each)] for key, found in self.kept.items()}
        self.kept = {key: found for key, found in left.items() if found}


# Which write of the ledger an attempt made, and whether it is one that can be taken back. Pure.


def taken(entries: Iterable[Entry], attempt: str) -> UndoRequest:
    """The write of an attempt, by the entries of the ledger in their order.

    Raises ValueError, one sentence, for an attempt that is not there, is not over, wrote nothing, took back another one
    itself, or was taken back before.
    """
    intended: Entry | None = None
    ends: dict[str, Entry | None] = {}  # of the attempt, and of those that take it back; None while it is not over
    for entry in entries:
        if entry.event is Event.INTENDED and attempt in (entry.attempt, entry.undoes):
            intended = entry if entry.attempt == attempt else intended
            ends[entry.attempt] = None
        elif entry.attempt in ends and entry.event in (Event.DONE, Event.FAILED, Event.RESOLVED):
            ends[entry.attempt] = entry
    if intended is None or intended.plan is None:
        raise ValueError(f"the ledger has no attempt {attempt}. Run `steward reconcile ledger` to list attempts")
    if intended.undoes:
        again = "To repair the object again: `steward reconcile plan`"
        raise ValueError(f"attempt {attempt} is the undo of attempt {intended.undoes} and can't be undone. {again}")
    end = ends.pop(attempt)
    if end is None:
        raise ValueError(f"attempt {attempt} is not finished: {_NOT_OVER}")
    if end.event is Event.RESOLVED and end.happened is None:
        raise ValueError(f"attempt {attempt} can't be undone: it is unknown whether it changed anything ({end.why})")
    if not _happened(end):
        raise ValueError(f"attempt {attempt} can't be undone: according to the ledger, it changed nothing")
    for undo, its_end in ends.items():
        if its_end is None:
            raise ValueError(f"attempt {undo}, the undo of attempt {attempt}, is not finished: {_NOT_OVER}")
        if _happened(its_end):
            raise ValueError(f"attempt {attempt} was undone before. Run `steward reconcile ledger {attempt}`")
    return UndoRequest(attempt=attempt, plan=intended.plan, before=intended.whole or {}, after=end.whole)


def _happened(entry: Entry) -> bool:
    return entry.event is Event.DONE or (entry.event is Event.RESOLVED and bool(entry.happened))


_NOT_OVER = (
    "the outcome of its write is unknown. Once the request can no longer arrive, the sidecar reads the object and "
    "records the outcome in the ledger. After a command of a person, the next `apply` or `undo` does so"
)
