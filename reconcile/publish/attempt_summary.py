"""What a ledger has of each attempt and of each that was only shadowed: when it was, and what came of it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from exporter.findings.causes import Reference, cause_id

from ..decide.approval import parse
from ..ledger import Entry, Event
from ..ledger.trials import Trials, scope_of
from ..plan.annotations import said_by
from ..plan.plan import Plan
from ..plan.text import sentence

_WRONG = frozenset({Event.FAILED, Event.UNCLEAR, Event.RESOLVED, Event.PERSISTS, Event.RETURNED})
_ENDS = frozenset({Event.DONE, Event.FAILED, Event.UNCLEAR, Event.RESOLVED})


class AttemptSummary(msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True):
    """One attempt, or what would have been one. Times are in seconds since 1970, None for what did not happen.

    `end`: done, failed, not written, not known, unclear, no end, or shadowed. `by` is who approved of it or made it,
    empty where the configuration lets it; of an approval whose name no policy held to its author it is `(as given)`.
    `why` is the last that is known of why it failed or did not hold. `went` is when the finding of what was shadowed
    went, and `somebody` whether the object then showed what would have been written.
    """

    attempt: str
    at: float
    remediation: str
    check: str
    reason: str
    fingerprint: str
    cause: str
    reference: Reference
    target: str
    namespace: str
    write: str
    plan: str
    mode: str
    by: str = ""
    undoes: str = ""
    end: str = "no end"
    ended: float | None = None
    verified: float | None = None
    persists: float | None = None
    returned: float | None = None
    undone: float | None = None
    went: float | None = None
    somebody: bool | None = None
    why: str = ""

    @property
    def shadow(self) -> bool:
        return self.mode == "shadow"

    def happenings(self) -> Iterator[tuple[str, float]]:
        """What is counted of it, by the names of `Tally`, and when that was."""
        if self.undoes:
            return  # counted with what it takes back
        if self.shadow:
            yield "shadowed", self.at
        elif self.mode == "approve":
            yield "approved", self.at
        ended = self.at if self.ended is None else self.ended
        if self.end == "done":
            yield "written", ended
        elif self.end in ("failed", "not written"):
            yield "failed", ended
        elif not self.shadow:
            yield "unclear", ended
        for name in ("verified", "persists", "returned", "undone", "went"):
            if (at := getattr(self, name)) is not None:
                yield name, at


def summaries_of(entries: Iterable[Entry]) -> list[AttemptSummary]:
    """By the entries of the ledgers, the oldest first, in the order in which they were begun."""
    found: dict[str, AttemptSummary] = {}
    for entry in entries:
        if entry.event in (Event.INTENDED, Event.SHADOWED) and entry.plan is not None:
            found[entry.attempt] = _begun(entry, entry.plan)
        elif (attempt := found.get(entry.attempt)) is not None:
            _take(attempt, entry)
            if attempt.undoes in found and attempt.end == "done":
                found[attempt.undoes].undone = attempt.ended
    return list(found.values())


def _begun(entry: Entry, plan: Plan) -> AttemptSummary:
    """The cause of one that a release before causes wrote is each object of the namespace by itself."""
    reference = plan.cause or Reference(namespace=plan.subject.namespace)
    return AttemptSummary(
        attempt=entry.attempt,
        at=entry.at,
        remediation=plan.remediation,
        check=plan.check,
        reason=plan.reason,
        fingerprint=plan.fingerprint,
        cause=cause_id(plan.check, plan.reason, reference),
        reference=reference,
        target=str(plan.target),
        namespace=plan.subject.namespace,
        write=sentence(plan),
        plan=plan.hash,
        mode=entry.mode,
        by=_by(entry),
        undoes=entry.undoes,
        end="shadowed" if entry.event is Event.SHADOWED else "no end",
    )


def _by(entry: Entry) -> str:
    if entry.mode != "approve":
        return entry.by
    try:
        return said_by(parse(entry.by).by, authorized=entry.authorized)
    except ValueError:
        return said_by(entry.by, authorized=entry.authorized)


def _take(attempt: AttemptSummary, entry: Entry) -> None:
    event = entry.event
    if event in _WRONG:
        attempt.why = entry.why or attempt.why
    if event in _ENDS:
        attempt.end, attempt.ended = ending(entry), entry.at
    elif event is Event.TAKEN_BACK:
        attempt.undone = attempt.undone or entry.at
    elif event is Event.WENT:
        attempt.went, attempt.somebody = entry.at, entry.happened
    elif event in (Event.VERIFIED, Event.PERSISTS, Event.RETURNED):
        setattr(attempt, event.value, entry.at)


def ending(entry: Entry) -> str:
    """How an attempt ended by an entry, or what came of it, as a word."""
    if entry.event is not Event.RESOLVED:
        return entry.event.value
    return "not known" if entry.happened is None else "done" if entry.happened else "not written"


# Which canaries stopped, of which repair and why, and who resumed them: by the entries of a ledger. Pure.


class CanaryStop(msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True):
    """A remediation in mode `auto` whose first repairs did not hold. `at` and `resumed` are in seconds since 1970, the
    latter None while it is stopped; `by` is who resumed it, and `because` what they said. `object` is as in "Kind
    namespace/name".
    """

    remediation: str
    at: float
    why: str
    object: str
    attempt: str
    check: str = ""
    reason: str = ""
    fingerprint: str = ""
    resumed: float | None = None
    by: str = ""
    because: str = ""


class CanaryStops:
    """Entries go in by `take`, the oldest first."""

    def __init__(self) -> None:
        self.found: list[CanaryStop] = []
        self._trials = Trials()
        self._begun: dict[str, tuple[str, str, str]] = {}  # check, reason and fingerprint, by attempt

    def take(self, entry: Entry) -> Entry:
        """Notes what it says of a canary, and passes it on."""
        if entry.event is Event.INTENDED and entry.canary and entry.plan is not None:
            self._begun[entry.attempt] = entry.plan.check, entry.plan.reason, entry.plan.fingerprint
        struck = {name: canary.strike for name, canary in self._trials.kept.items()}
        self._trials.add(entry)
        for name, canary in self._trials.kept.items():
            strike = canary.strike
            if strike is not None and struck.get(name) is None:
                check, reason, fingerprint = self._begun.get(strike.attempt, ("", "", ""))
                self.found.append(
                    CanaryStop(
                        remediation=name,
                        at=strike.at,
                        why=strike.why,
                        object=strike.object,
                        attempt=strike.attempt,
                        check=check,
                        reason=reason,
                        fingerprint=fingerprint,
                    )
                )
        if entry.event is Event.RESUMED:
            self._resumed(entry)
        return entry

    def _resumed(self, entry: Entry) -> None:
        for stop in self.found:
            if stop.resumed is None and entry.scope == scope_of(stop.remediation):
                by = said_by(entry.by, authorized=entry.authorized)
                stop.resumed, stop.by, stop.because = entry.at, by, entry.why
