"""The sidecar on the same faults in one mode after another: whether what it keeps in `shadow` is what `auto` writes.

A round is what happens first, then a shift in each mode; nothing but the sidecar and KubeVirt acts during the shifts.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from reconcile.ledger import Entry, Event
from tests.cluster.sidecar import Sidecar
from tests.kubevirt.audit_history import AuditHistory, Taken
from tests.kubevirt.write_verdict import unfinished
from tests.manifests import Object
from tests.waiting import wait_until

__all__ = ["Comparison", "Round", "Shift", "worked"]

RUNS = 4  # in which nothing new is kept: then nothing will be
PATIENCE = 120  # seconds
_VERSION = re.compile(r'("(?:/metadata/)?resourceVersion","value":|"resourceVersion":)"\d+"')


@dataclass(frozen=True)
class Shift:
    """One sidecar from its start to its end, in seconds since 1970 by the API server's clock: what it added to the
    ledger, and what it showed last.
    """

    mode: str
    canary: bool
    began: float
    ended: float
    entries: Sequence[Entry]
    shown: Sequence[Object]

    def first(self, event: Event) -> dict[str, Entry]:
        """The first entry of this event for each finding."""
        found: dict[str, Entry] = {}
        for each in self.entries:
            if each.event is event and each.plan is not None:
                found.setdefault(each.plan.fingerprint, each)
        return found

    def state(self, fingerprint: str, remediation: str) -> Object | None:
        return next(
            (row for row in self.shown if (row["fingerprint"], row["remediation"]) == (fingerprint, remediation)), None
        )


@dataclass(frozen=True)
class Round:
    shadow: Shift
    auto: Sequence[Shift]


def worked(sidecar: Sidecar, mode: str, *, canary: bool = False) -> Shift:
    """Runs it until it has nothing more to do."""
    before, began = len(sidecar.entries()), time.time()
    with sidecar:

        def idle() -> bool:
            known = sidecar.events()
            sidecar.runs_again(RUNS)
            return sidecar.events() == known and not unfinished(sidecar.entries())

        wait_until(idle, PATIENCE, f"it has nothing more to do; {sidecar}")
        shown = sidecar.plans()
    return Shift(mode, canary, began, time.time(), sidecar.entries()[before:], shown)


@dataclass
class Comparison:
    """`wrong` has a sentence for each difference that nothing explains; the counts are of findings."""

    history: AuditHistory
    ahead: float
    counts: Counter[str] = field(default_factory=Counter)
    remediations: Counter[str] = field(default_factory=Counter)  # of what is the same
    wrong: list[str] = field(default_factory=list)

    def add(self, number: int, of: Round) -> None:
        self.wrong += [f"round {number}: {each}" for each in self._differences(of)]

    def _differences(self, of: Round) -> Iterator[str]:
        shadowed = of.shadow.first(Event.SHADOWED)
        written: dict[str, Entry] = {}
        for shift in of.auto:
            own = shift.first(Event.INTENDED)
            written = {**own, **written}
            if shift.canary:
                yield from self._held_back(shadowed, own, shift)
        self.counts["shadowed"] += len(shadowed)
        self.counts["written"] += len(written)
        writes = list(written.values())
        for fingerprint, entry in shadowed.items():
            earlier = [each for each in writes if each.plan and each.plan.fingerprint != fingerprint]
            yield from self._compared(entry, written.get(fingerprint), earlier, of)
        for fingerprint, entry in written.items():
            if fingerprint not in shadowed:
                yield from self._unforeseen(entry, of)

    def _compared(self, kept: Entry, written: Entry | None, others: Sequence[Entry], of: Round) -> Iterator[str]:
        if written is not None and _without_version(kept) == _without_version(written):
            self.counts["the same"] += 1
            self.remediations[_remediation(kept)] += 1
            if kept.request != written.request and not self._written_between(kept, written.at):
                yield f"{_named(written)} is bound to another resourceVersion than shadowed, and nobody wrote to it"
            return
        end = of.auto[-1]
        row = end.state(kept.plan.fingerprint, _remediation(kept)) if kept.plan else None
        refused = ((row or {}).get("refused") or {}).get("precondition", "")
        if written is None and refused == "dry_run_clean":
            self.counts["a webhook refuses it"] += 1
        elif self._written_between(kept, written.at if written else end.ended + self.ahead) or _of_one(kept, others):
            self.counts["overtaken"] += 1
        else:
            what = f"{written.request}" if written is not None else f"nothing ({row})"
            yield f"{_named(kept)} was shadowed as {kept.request}; auto wrote {what}"

    def _unforeseen(self, entry: Entry, of: Round) -> Iterator[str]:
        assert entry.plan is not None
        row = of.shadow.state(entry.plan.fingerprint, _remediation(entry))
        if row is None:
            self.counts["found later"] += 1
        elif self._written_between(entry, entry.at, since=of.shadow.ended + self.ahead):
            self.counts["possible later"] += 1
        else:
            yield f"{_named(entry)} was written as {entry.request}; in shadow it was {row}"

    def _held_back(self, shadowed: Mapping[str, Entry], written: Mapping[str, Entry], shift: Shift) -> Iterator[str]:
        """One of each remediation is written, and the gate names all others."""
        by_remediation = Counter(_remediation(each) for key, each in written.items() if key in shadowed)
        for remediation, times in by_remediation.items():
            if times > 1:
                yield f"{remediation} wrote for {times} findings while its canary was one"
        for fingerprint, entry in shadowed.items():
            if fingerprint in written:
                continue
            row = shift.state(fingerprint, _remediation(entry))
            gates = {each["gate"]: each["why"] for each in (row or {}).get("blocked", ())}
            if _remediation(entry) in gates.get("canary", ""):
                self.counts["held back by a canary"] += 1
            elif row is not None and row["state"] not in ("refused",):
                yield f"{_named(entry)} was neither written nor held back by the canary: {row}"

    def _written_between(self, kept: Entry, until: float, since: float | None = None) -> list[Taken]:
        """What somebody wrote to the same object after an entry, up to a time of the sidecar's clock."""
        assert kept.plan is not None
        since, target = (kept.at if since is None else since) - self.ahead, kept.plan.target
        of = (f"{target.kind.lower()}s", target.namespace, target.name)
        found = [each for each in self.history.writes if since < each.at < until - self.ahead and not each.dry]
        return [each for each in found if each.key[1:] == of]


def _without_version(entry: Entry) -> tuple[str, str, str]:
    assert entry.plan is not None
    text = msgspec.json.encode(entry.request).decode()
    return entry.plan.remediation, str(entry.plan.target), _VERSION.sub(r"\1", text)


def _of_one(kept: Entry, others: Iterable[Entry]) -> bool:
    """Whether one of these was about the same object, or the same VM."""
    own = kept.plan
    assert own is not None
    plans = [
        each.plan for each in others if each.plan is not None and each.plan.target.namespace == own.target.namespace
    ]
    return any(each.subject == own.subject or (own.vm and each.vm == own.vm) for each in plans)


def _remediation(entry: Entry) -> str:
    return entry.plan.remediation if entry.plan is not None else ""


def _named(entry: Entry) -> str:
    return f"{_remediation(entry)} of {entry.plan.target if entry.plan is not None else entry.scope}"
