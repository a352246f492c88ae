"""What was written so far, out of the ledger: how much, how often in vain, and what somebody else undid.

It is the same after a restart and on another replica, since it is made of nothing but entries. The ledger carries it
from file to file, so that not all entries have to be read for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import msgspec

from .attempts import Attempt, Failures, Pause, Return, Returns, War, attempt_of
from .entry import Entry, Event
from .trials import Canary, Trials

__all__ = ["Attempt", "Failures", "History", "Pause", "War"]

# What the history carries from file to file.


class Known(msgspec.Struct, frozen=True):
    """The attempts of the last day that count are named; `shadowed` are those of the last day that wrote nothing."""

    keep: float
    seq: int
    attempts: list[Attempt]
    executed: list[str]
    followed: list[str]
    failed: dict[str, dict[str, float]]
    returned: dict[str, list[Return]]
    paused: dict[str, Pause]
    approvals: dict[str, float]
    unfinished: list[str] = []
    in_use: dict[str, float] = {}
    returns: int = 1
    shadowed: list[Attempt] = []
    canaries: dict[str, Canary] = {}
    unseen: dict[str, float] = {}
    since: float = 0.0


_DAY = 86_400.0
_VERDICTS = frozenset({Event.VERIFIED, Event.PERSISTS, Event.RETURNED, Event.TAKEN_BACK})
_KEPT = 91 * _DAY  # seconds for which an attempt is known: more than any setting looks back


class History:
    """Entries go in by `add`, in their order. Times are in seconds since 1970.

    A reader of the ledger: `seq` is the number of the last entry.
    """

    def __init__(
        self, *, keep: float = _KEPT, returns: int = 1, clock: Callable[[], float] | None = None, shadow: bool = False
    ) -> None:
        """`keep` is for how many seconds a repair that held may come back, and `returns` how often in that time makes
        an edit war: what is too old to be part of one is forgotten. `clock` is for what is carried. With `shadow` what
        was shadowed counts as written.
        """
        self._keep, self._war, self._clock, self._shadow = keep, returns, clock, shadow
        self.seq = 0
        self.since = 0.0  # from when on all that was approved is known: the ledger is younger, or an older copy of it
        self._followed: set[str] = set()  # attempts of which it is still to be seen what became of them
        self._attempts: dict[str, Attempt] = {}
        self._open: dict[str, Attempt] = {}  # those without an end
        self._in_use: dict[str, float] = {}  # when something was found to use what a write released
        self._unseen: dict[str, float] = {}  # when it was given up to see whether something does
        self._executed: dict[str, Attempt] = {}  # those of the last day, but for what surely wrote nothing
        self._shadowed: dict[str, Attempt] = {}  # of the last day
        self._failed: dict[str, dict[str, float]] = {}  # by remediation: attempts since the last success
        self._returned = Returns()
        self._paused: dict[str, Pause] = {}
        self._approvals: dict[str, float] = {}
        self._trials = Trials()
        # Gates ask the same of each of thousands of repairs; forgotten with each change.
        self._times: dict[tuple[float, str | None], list[float]] = {}
        self._touched: dict[float, dict[str, float]] = {}

    @classmethod
    def of(cls, entries: Iterable[Entry], now: float) -> History:
        """`now` is in seconds since 1970: what is too old to matter is left out."""
        history = cls()
        for entry in entries:
            history.add(entry)
        history.forget(now)
        return history

    def in_shadow(self) -> History:
        """Another one, in which what was shadowed counts as written; from now on it needs the same entries."""
        found = History(keep=self._keep, returns=self._war, clock=self._clock, shadow=True)
        found.restore(self.carried())
        return found

    def began(self, now: float) -> None:
        """The ledger has no entry yet. `now` is in seconds since 1970."""
        self.since = now

    def add(self, entry: Entry) -> None:
        if entry.event is Event.ACCEPTED or (entry.seq == 1 and not self.since):
            self.since = entry.at
        self.seq = entry.seq
        self._changed()
        if entry.event is Event.SHADOWED:
            attempt = attempt_of(entry)
            self._shadowed[attempt.id] = attempt
            if self._shadow:
                self._executed[attempt.id] = attempt
            return
        self._trials.add(entry)
        if entry.event is Event.INTENDED:
            attempt = attempt_of(entry)
            self._attempts[attempt.id] = self._executed[attempt.id] = self._open[attempt.id] = attempt
            self._followed.add(attempt.id)
            if entry.mode == "approve":
                self._approvals[entry.by] = entry.at
            return
        if entry.event is Event.PAUSED:
            self._paused[entry.scope] = Pause(entry.at, entry.by, entry.why)
        elif entry.event is Event.RESUMED:
            self._resume(entry.scope)
        elif known := self._attempts.get(entry.attempt):
            self._take(known, entry)

    def _take(self, attempt: Attempt, entry: Entry) -> None:
        if entry.event is Event.IN_USE:
            self._in_use[attempt.id] = entry.at
        elif entry.event is Event.UNSEEN:
            self._unseen[attempt.id] = entry.at
        elif entry.event is not Event.UNCLEAR:
            self._open.pop(attempt.id, None)
        resolved = entry.event is Event.RESOLVED
        nothing_written = entry.event is Event.FAILED or (resolved and entry.happened is False)
        unknown = entry.happened is None and (resolved or entry.event is Event.UNCLEAR)
        if nothing_written:
            self._executed.pop(attempt.id, None)
        if nothing_written or attempt.undo or (resolved and unknown) or entry.event in _VERDICTS:
            self._followed.discard(attempt.id)
        if attempt.undo:
            return
        failed = self._failed.setdefault(attempt.remediation, {})
        if nothing_written or unknown or entry.event is Event.PERSISTS:
            failed[attempt.id] = entry.at
        elif entry.event is Event.RESOLVED:
            failed.pop(attempt.id, None)
        elif entry.event is Event.VERIFIED:
            failed.clear()
        elif entry.event is Event.RETURNED:
            self._returned.add(attempt, entry.at, entry.why)

    def _resume(self, scope: str) -> None:
        """A person who resumes an object has settled whose it is: what came back before no longer counts."""
        self._paused.pop(scope, None)
        self._returned.resume(scope)

    def forget(self, now: float) -> None:
        """Drops what is too old to matter; to be called now and then."""
        self._changed()
        self._executed = {key: each for key, each in self._executed.items() if each.at > now - _DAY}
        self._shadowed = {key: each for key, each in self._shadowed.items() if each.at > now - _DAY}
        # One that is over comes back while it is looked after, which begins with its end: some time after it was begun.
        over = now - self._keep - _DAY
        for remediation, failed in self._failed.items():
            self._failed[remediation] = {key: at for key, at in failed.items() if at > now - _KEPT}
        kept = self._followed.union(*self._failed.values())
        self._attempts = {
            key: each
            for key, each in self._attempts.items()
            if each.at > now - _KEPT and (each.at > over or key in kept)
        }
        self._followed &= self._attempts.keys()
        self._approvals = {text: at for text, at in self._approvals.items() if at > now - _KEPT}
        self._in_use = {key: at for key, at in self._in_use.items() if at > now - _DAY}
        self._unseen = {key: at for key, at in self._unseen.items() if at > now - _DAY}
        self._trials.forget(now - _KEPT)
        self._returned.forget(now - _KEPT, self._war, self._keep, self._paused)

    def carried(self) -> bytes:
        if self._clock is not None:
            self.forget(self._clock())
        return msgspec.json.encode(
            Known(
                self._keep,
                self.seq,
                list(self._attempts.values()),
                [each for each in self._executed if each not in self._shadowed],
                list(self._followed),
                self._failed,
                self._returned.kept,
                self._paused,
                self._approvals,
                list(self._open),
                self._in_use,
                self._war,
                list(self._shadowed.values()),
                self._trials.kept,
                self._unseen,
                self.since,
            )
        )

    def fits(self, carried: bytes) -> bool:
        try:
            known = msgspec.json.decode(carried, type=Known)
            return known.keep >= self._keep and known.returns <= self._war
        except msgspec.MsgspecError:
            return False  # of another version

    def restore(self, carried: bytes) -> None:
        known = msgspec.json.decode(carried, type=Known)
        self.seq, self.since = known.seq, known.since
        self._attempts = {each.id: each for each in known.attempts}
        self._executed = {key: self._attempts[key] for key in known.executed if key in self._attempts}
        self._followed = set(known.followed)
        self._failed, self._returned = known.failed, Returns(known.returned)
        self._paused, self._approvals = known.paused, known.approvals
        self._open = {key: self._attempts[key] for key in known.unfinished if key in self._attempts}
        self._in_use, self._unseen, self._trials = known.in_use, known.unseen, Trials(known.canaries)
        self._shadowed = {each.id: each for each in known.shadowed}
        if self._shadow:
            self._executed |= self._shadowed

    def _changed(self) -> None:
        self._times, self._touched = {}, {}

    def used(self, approval: str) -> bool:
        """Whether an approval, the whole annotation, has let a write happen: it is for one."""
        return approval in self._approvals

    def unfinished(self) -> list[Attempt]:
        """The attempts of which it is not known what came of them."""
        return list(self._open.values())

    def in_use(self, since: float) -> int:
        """After how many writes since then something was found to use what they released."""
        return sum(at > since for at in self._in_use.values())

    def unseen(self, since: float) -> int:
        """After how many writes since then it could not be seen whether something uses what they released."""
        return sum(at > since for at in self._unseen.values())

    def executed(self, since: float, namespace: str | None = None) -> Sequence[float]:
        """When writes were begun after `since`, at most a day ago, in order: all, or those in one namespace."""
        if (since, namespace) not in self._times:
            self._times[since, namespace] = sorted(
                each.at
                for each in self._executed.values()
                if each.at > since and (namespace is None or each.namespace == namespace)
            )
        return self._times[since, namespace]

    def written_by_namespace(self, since: float) -> Counter[str]:
        """How many writes were begun after `since`, at most a day ago, in each namespace."""
        return Counter(each.namespace for each in self._executed.values() if each.at > since)

    def vms_touched(self, since: float) -> Mapping[str, float]:
        """The VMs, as in "namespace/name", that were written to after `since`, and when last."""
        if since not in self._touched:
            found = [each for each in self._executed.values() if each.vm and each.at > since]
            self._touched[since] = {each.vm: each.at for each in sorted(found, key=lambda each: each.at)}
        return self._touched[since]

    def canary(self, remediation: str) -> Canary:
        return self._trials.of(remediation)

    @property
    def canaries(self) -> Mapping[str, Canary]:
        """Of the remediations that have one."""
        return self._trials.kept

    def failures(self, remediation: str, namespace: str | None = None) -> Failures:
        """Those in a row, in all namespaces or in one."""
        found = self._failed.get(remediation, {})
        times = [at for each, at in found.items() if namespace in (None, self._namespace(each))]
        return Failures(len(times), max(times, default=0.0))

    def failed_in(self, remediation: str) -> set[str]:
        """The namespaces of the failures in a row."""
        return {self._namespace(each) for each in self._failed.get(remediation, {})}

    def _namespace(self, attempt: str) -> str:
        known = self._attempts.get(attempt)
        return known.namespace if known is not None else ""

    def edit_war(self, keys: Collection[str], returns: int, within: float) -> War | None:
        """Whether a repair came back `returns` times in `within` seconds: ever, until a person resumes the object.

        `keys` are a fingerprint, and targets or subjects as in "Kind namespace/name"; a return counts for any of them.
        """
        return self._returned.war(keys, returns, within)

    def wars(self, returns: int, within: float) -> dict[str, War]:
        """All that is fought over, by what the last of the repairs was about, as in "Kind namespace/name"."""
        return self._returned.wars(returns, within)

    def pauses_since(self) -> dict[str, float]:
        """What is paused, and since when: since it was, or since what was repaired of it came back once more."""
        return self._returned.last({scope: pause.at for scope, pause in self._paused.items()})

    @property
    def pauses(self) -> int:
        """How many scopes are paused."""
        return len(self._paused)

    def paused(self, scope: str) -> Pause | None:
        """Of all where it is "", of a namespace, or of an object as in "Kind namespace/name"."""
        return self._paused.get(scope)
