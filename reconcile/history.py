"""What was written so far, out of the ledger: how much, how often in vain, and what somebody else undid.

It is the same after a restart and on another replica, since it is made of nothing but entries.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from .ledger.entry import Entry, Event

__all__ = ["Attempt", "Failures", "History", "Pause", "War"]

_DAY = 86_400.0
_KEPT = 91 * _DAY  # seconds for which an attempt is known: more than any setting looks back


@dataclass(frozen=True)
class Attempt:
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
    writes: frozenset[str] = frozenset()  # the objects that it is about: what is written, and what bears the Event


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
class _Return:
    at: float
    attempt: str
    target: str
    subject: str
    why: str


class History:
    """Entries go in by `add`, in their order. Times are in seconds since 1970."""

    def __init__(self) -> None:
        self._attempts: dict[str, Attempt] = {}
        self._open: dict[str, Attempt] = {}  # those without an end
        self._in_use: dict[str, float] = {}  # when something was found to use what a write released
        self._executed: dict[str, Attempt] = {}  # those of the last day, but for what surely wrote nothing
        self._failed: dict[str, dict[str, float]] = {}  # by remediation: attempts since the last success
        self._returned: dict[str, list[_Return]] = {}  # by fingerprint, target and subject
        self._paused: dict[str, Pause] = {}
        self._approvals: dict[str, float] = {}

    @classmethod
    def of(cls, entries: Iterable[Entry], now: float) -> History:
        """`now` is in seconds since 1970: what is too old to matter is left out."""
        history = cls()
        for entry in entries:
            history.add(entry)
        history.forget(now)
        return history

    def add(self, entry: Entry) -> None:
        if entry.event is Event.INTENDED:
            attempt = _attempt(entry)
            self._attempts[attempt.id] = self._executed[attempt.id] = self._open[attempt.id] = attempt
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
        elif entry.event is not Event.UNCLEAR:
            self._open.pop(attempt.id, None)
        nothing_written = entry.event is Event.FAILED or (entry.event is Event.RESOLVED and entry.happened is False)
        if nothing_written:
            self._executed.pop(attempt.id, None)
        if attempt.undo:
            return
        failed = self._failed.setdefault(attempt.remediation, {})
        if nothing_written or entry.event in (Event.UNCLEAR, Event.PERSISTS):
            failed[attempt.id] = entry.at
        elif entry.event is Event.RESOLVED:
            failed.pop(attempt.id, None)
        elif entry.event is Event.VERIFIED:
            failed.clear()
        elif entry.event is Event.RETURNED:
            found = _Return(entry.at, attempt.id, attempt.target, attempt.subject, entry.why)
            for key in {attempt.fingerprint, attempt.target, attempt.subject}:
                self._returned.setdefault(key, []).append(found)

    def _resume(self, scope: str) -> None:
        """A person who resumes an object has settled whose it is: what came back before no longer counts."""
        self._paused.pop(scope, None)
        for key, found in list(self._returned.items()):
            self._returned[key] = [each for each in found if scope not in (each.target, each.subject)]

    def forget(self, now: float) -> None:
        """Drops what is too old to matter; to be called now and then."""
        self._executed = {key: each for key, each in self._executed.items() if each.at > now - _DAY}
        self._attempts = {key: each for key, each in self._attempts.items() if each.at > now - _KEPT}
        self._approvals = {text: at for text, at in self._approvals.items() if at > now - _KEPT}
        self._in_use = {key: at for key, at in self._in_use.items() if at > now - _DAY}

    def used(self, approval: str) -> bool:
        """Whether an approval, the whole annotation, has let a write happen: it is for one."""
        return approval in self._approvals

    def unfinished(self) -> list[Attempt]:
        """The attempts of which it is not known what came of them."""
        return list(self._open.values())

    def in_use(self, since: float) -> int:
        """After how many writes since then something was found to use what they released."""
        return sum(at > since for at in self._in_use.values())

    def executed(self, since: float, namespace: str | None = None) -> list[float]:
        """When writes were begun after `since`, at most a day ago, in order: all, or those in one namespace."""
        return sorted(
            each.at
            for each in self._executed.values()
            if each.at > since and (namespace is None or each.namespace == namespace)
        )

    def vms_touched(self, since: float) -> dict[str, float]:
        """The VMs, as in "namespace/name", that were written to after `since`, and when last."""
        found = [each for each in self._executed.values() if each.vm and each.at > since]
        return {each.vm: each.at for each in sorted(found, key=lambda each: each.at)}

    def failures(self, remediation: str) -> Failures:
        found = self._failed.get(remediation, {})
        return Failures(len(found), max(found.values(), default=0.0))

    def edit_war(self, keys: Collection[str], returns: int, within: float) -> War | None:
        """Whether a repair came back `returns` times in `within` seconds: ever, until a person resumes the object.

        `keys` are a fingerprint, and targets or subjects as in "Kind namespace/name"; a return counts for any of them.
        """
        found = sorted({each for key in keys if key for each in self._returned.get(key, ())})
        for first, last in zip(found, found[returns - 1 :], strict=False):
            if last.at - first.at <= within:
                return War(len(found), found[-1].at, found[-1].why)
        return None

    def wars(self, returns: int, within: float) -> dict[str, War]:
        """All that is fought over, by what the last of the repairs was about, as in "Kind namespace/name"."""
        found = {}
        for key, each in self._returned.items():
            if (war := self.edit_war([key], returns, within)) is not None:
                found[max(each).target] = war
        return found

    def pauses_since(self) -> dict[str, float]:
        """What is paused, and since when: since it was, or since what was repaired of it came back once more."""
        found = {scope: pause.at for scope, pause in self._paused.items()}
        for each in (each for rows in self._returned.values() for each in rows):
            for scope in {each.target, each.subject} & found.keys():
                found[scope] = max(found[scope], each.at)
        return found

    @property
    def pauses(self) -> int:
        """How many scopes are paused."""
        return len(self._paused)

    def paused(self, scope: str) -> Pause | None:
        """Of all where it is "", of a namespace, or of an object as in "Kind namespace/name"."""
        return self._paused.get(scope)


def _attempt(entry: Entry) -> Attempt:
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
        frozenset({str(plan.bound_to), str(plan.target)}),
    )
