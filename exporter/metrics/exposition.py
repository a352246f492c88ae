"""The families whose size follows the fleet: one sample per open finding, rendered by ourselves.

All of them have the same labels, and what a finding has no value for is written out as empty: under `honor_labels` the
target's own `namespace`, `node` or `name` would stand in for a label that is not there.

The label block of a finding is built once, when it opens. A page is written in slices, between which the loop goes on,
so that its size never holds up an evaluation or another request (prometheus_client writes half a million samples in
10.9 s, this in 0.4 s).

A family has a series limit, of which an aged one takes two series for each finding, and all together have one. What is
critical comes before what is a warning, and that before what only informs; of one severity the first that came: a flood
that somebody makes can't push out what is alerted on already. What is left out is counted, and comes in when a place
becomes free.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice

from ..engine.causes import CauseStore
from ..engine.open_cause import OpenCause
from ..findings.check import Check, Family
from ..findings.finding import Finding
from ..findings.severity import Severity
from .states import States
from .text import Histogram, SeriesLimit, escaped, head

# How many objects each cause has: what there is to do, as one series each.

NAME = "kubevirt_steward_cause_objects"
HELP = "Objects with findings that one fix resolves."
CAUSE_LABELS = (
    "cause",
    "check",
    "reason",
    "severity",
    "kind",
    "namespace",
    "name",
    "node",
    "network",
    "feature",
    "group",
)
_CAUSES_AT_ONCE = 1000  # lines


class Causes:
    """Within a limit, the first that came; what is left out comes in when there is room."""

    def __init__(self, store: CauseStore) -> None:
        self._store = store

    def series(self, limit: int) -> int:
        return min(len(self._store), limit)

    def left_out(self, limit: int) -> int:
        return len(self._store) - self.series(limit)

    async def render(self, limit: int) -> AsyncIterator[bytes]:
        """The text of the family, in slices, of one moment."""
        yield head(NAME, HELP)
        rest = iter([(_cause_labels(cause), cause.objects) for cause in islice(self._store, limit)])
        while part := list(islice(rest, _CAUSES_AT_ONCE)):
            yield "".join(f"{NAME}{block} {objects}\n" for block, objects in part).encode()
            await asyncio.sleep(0)


def _cause_labels(cause: OpenCause) -> str:
    reference = cause.reference
    values: Iterable[str] = (
        *(cause.id, cause.check, cause.reason, cause.severity.value),
        *(reference.kind, reference.namespace, reference.name),
        *(reference.node, reference.network, reference.feature, reference.group),
    )
    return (
        "{" + ",".join(f'{label}="{escaped(value)}"' for label, value in zip(CAUSE_LABELS, values, strict=True)) + "}"
    )


LABELS = (
    *("check", "reason", "severity", "kind", "namespace", "name", "vm", "node", "network", "feature", "group"),
    "cause",
)
# Seconds: from what repairs itself within minutes to what nobody looks at for a month.
OPEN_BUCKETS = (60.0, 300.0, 900.0, 3600.0, 4 * 3600.0, 12 * 3600.0, 86400.0, 3 * 86400.0, 7 * 86400.0, 30 * 86400.0)
_SLICE = 5000  # lines
_WORST_FIRST = tuple(sorted(Severity, key=lambda each: -each.rank))


_Line = tuple[str, float]  # label block, since
_Lines = dict[str, _Line]  # by fingerprint, the first that came first


def _by_severity() -> dict[Severity, _Lines]:
    return {severity: {} for severity in _WORST_FIRST}


@dataclass(slots=True)
class _Kept:
    family: Family
    shown: dict[Severity, _Lines] = field(default_factory=_by_severity)
    left_out: dict[Severity, _Lines] = field(default_factory=_by_severity)

    @property
    def each(self) -> int:
        return 2 if self.family.aged else 1

    @property
    def series(self) -> int:
        return self.count(self.shown) * self.each

    @staticmethod
    def count(lines: Mapping[Severity, _Lines]) -> int:
        return sum(map(len, lines.values()))

    def get(self, fingerprint: str) -> _Line | None:
        lines = chain(self.shown.values(), self.left_out.values())
        return next((each[fingerprint] for each in lines if fingerprint in each), None)

    def leave_out(self, severity: Severity, count: int) -> None:
        """The last ones that came, which are the first to come in again."""
        shown = self.shown[severity]
        out = {fingerprint: shown.pop(fingerprint) for fingerprint in list(shown)[len(shown) - count :]}
        self.left_out[severity] = {**out, **self.left_out[severity]}

    def leave_out_one(self, severity: Severity) -> None:
        """The last one that came."""
        fingerprint, line = self.shown[severity].popitem()
        self.left_out[severity][fingerprint] = line

    def take_in(self, severity: Severity) -> None:
        """The one that has waited longest."""
        fingerprint = next(iter(self.left_out[severity]))
        self.shown[severity][fingerprint] = self.left_out[severity].pop(fingerprint)


class Exposition:
    def __init__(
        self,
        checks: Iterable[Check],
        series_limit: SeriesLimit | None = None,
        states: States | None = None,
        causes: Causes | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`clock` gives seconds since 1970, as does that of the engine."""
        reasons = {(check.id, name): reason for check in checks for name, reason in check.reasons.items()}
        self._kept = {reason.family.name: _Kept(reason.family) for reason in reasons.values()}
        self._of = {key: self._kept[reason.family.name] for key, reason in reasons.items()}
        self._total = 0  # series of all families
        self._series_limit = series_limit or SeriesLimit()
        self._states, self._causes, self._clock = states, causes, clock
        self.counts: Counter[tuple[str, str, str]] = Counter(
            {(check, name, s.value): 0 for (check, name), reason in reasons.items() for s in reason.severities}
        )
        self.opened: Counter[tuple[str, str]] = Counter(dict.fromkeys(reasons, 0))
        self.closed: Counter[tuple[str, str]] = Counter(dict.fromkeys(reasons, 0))
        self.open_seconds: dict[tuple[str, str], Histogram] = {}  # of those that closed; reasons without any are absent

    def update(self, gone: Iterable[Finding], come: Iterable[Finding]) -> None:
        """Takes in a batch of differences. A changed finding, which is in both, keeps its place."""
        come = tuple(come)
        staying, left = {finding.fingerprint for finding in come}, set()
        for finding in gone:
            left.add(finding.fingerprint)
            self.counts[finding.check, finding.reason, finding.severity.value] -= 1
            if finding.fingerprint not in staying:
                self._close(finding)
        for finding in come:
            self.counts[finding.check, finding.reason, finding.severity.value] += 1
            self.opened[finding.check, finding.reason] += finding.fingerprint not in left
            self._show(finding)
        self._fill()

    def _fill(self) -> None:
        """Takes in what there is room for, the worst first, and what is worse than something that is shown."""
        waiting = [kept for kept in self._kept.values() if any(kept.left_out.values())]
        for severity in _WORST_FIRST if waiting else ():
            for kept in waiting:
                while kept.left_out[severity] and self._made_room(kept, severity):
                    kept.take_in(severity)
                    self._total += kept.each

    def _made_room(self, kept: _Kept, severity: Severity) -> bool:
        """Whether there is room for one finding of a family, if need be in the place of less severe ones."""
        while self._room(kept) < kept.each:
            within = self._series_limit.family - kept.series < kept.each
            found = self._least((kept,) if within else self._kept.values(), severity)
            if found is None:
                return False
            other, least = found
            other.leave_out_one(least)
            self._total -= other.each
        return True

    @staticmethod
    def _least(families: Iterable[_Kept], than: Severity) -> tuple[_Kept, Severity] | None:
        """The largest family with a finding of the least severity that is shown, where that is less than another."""
        for severity in reversed(_WORST_FIRST):
            if severity.rank >= than.rank:
                return None
            shown = [kept for kept in families if kept.shown[severity]]
            if shown:
                return max(shown, key=lambda kept: len(kept.shown[severity])), severity
        return None

    def _close(self, finding: Finding) -> None:
        key = finding.check, finding.reason
        self.closed[key] += 1
        if finding.since:
            if key not in self.open_seconds:
                self.open_seconds[key] = Histogram(OPEN_BUCKETS)
            # An object's time may be ahead of our clock.
            self.open_seconds[key].observe(max(self._clock() - finding.since, 0.0))
        self._remove(finding)

    def _remove(self, finding: Finding) -> None:
        kept = self._of[finding.check, finding.reason]
        for severity in _WORST_FIRST:
            if kept.shown[severity].pop(finding.fingerprint, None) is not None:
                self._total -= kept.each
            kept.left_out[severity].pop(finding.fingerprint, None)

    def _show(self, finding: Finding) -> None:
        kept, severity = self._of[finding.check, finding.reason], finding.severity
        earlier = kept.get(finding.fingerprint)
        # An alert shows it as a date: of one without a beginning it is when it was first seen.
        line = (_label_block(finding), finding.since or (earlier[1] if earlier else self._clock()))
        for lines in (kept.shown[severity], kept.left_out[severity]):
            if finding.fingerprint in lines:
                lines[finding.fingerprint] = line
                return
        if earlier:
            self._remove(finding)  # it has another severity now
        if self._room(kept) >= kept.each:
            kept.shown[severity][finding.fingerprint] = line
            self._total += kept.each
        else:
            kept.left_out[severity][finding.fingerprint] = line

    @property
    def series_limit(self) -> SeriesLimit:
        return self._series_limit

    @series_limit.setter
    def series_limit(self, series_limit: SeriesLimit) -> None:
        """Less room leaves out the least severe, of the largest families and the last that came; more lets in."""
        self._series_limit = series_limit
        if self._states:
            self._states.series_limit = series_limit
        for kept in self._kept.values():
            self._cut([kept], series_limit.family)
        self._cut(list(self._kept.values()), series_limit.total)
        self._total = sum(kept.series for kept in self._kept.values())
        self._fill()

    @staticmethod
    def _cut(families: list[_Kept], most: int) -> None:
        """Leaves out until the families together have so many series."""
        for severity in reversed(_WORST_FIRST):
            total = sum(kept.series for kept in families)
            if total <= most:
                return
            sizes = [len(kept.shown[severity]) * kept.each for kept in families]
            room = max(most - (total - sum(sizes)), 0)  # for those of this severity
            low, high = 0, max(sizes)  # the largest cap for each family by which all together fit
            while low < high:
                cap = (low + high + 1) // 2
                low, high = (cap, high) if sum(min(size, cap) for size in sizes) <= room else (low, cap - 1)
            for kept, size in zip(families, sizes, strict=True):
                if size > low:
                    kept.leave_out(severity, -(-(size - low) // kept.each))

    def _room(self, kept: _Kept) -> int:
        """How many more series of the family there may be."""
        return max(0, min(self._series_limit.family - kept.series, self._series_limit.total - self._total))

    @property
    def _room_of_causes(self) -> int:
        """What alerts look at goes first: causes get what is left of the limit of all together."""
        return max(0, min(self._series_limit.family, self._series_limit.total - self._total))

    @property
    def series(self) -> dict[str, int]:
        """Series on the page, by family; those of a `…_since_timestamp_seconds` count with their family."""
        found = {name: kept.series for name, kept in self._kept.items()}
        if self._causes:
            found[NAME] = self._causes.series(self._room_of_causes)
        return found | (self._states.series if self._states else {})

    @property
    def left_out(self) -> dict[str, int]:
        """Series left out by the series limit, by family."""
        found = {name: kept.count(kept.left_out) * kept.each for name, kept in self._kept.items()}
        if self._causes:
            found[NAME] = self._causes.left_out(self._room_of_causes)
        return found | (self._states.left_out if self._states else {})

    async def render(self) -> AsyncIterator[bytes]:
        """The text of all families, in slices; the same in the text format and in OpenMetrics."""
        for name, kept in sorted(self._kept.items()):
            lines = [line for each in kept.shown.values() for line in each.values()]  # one moment of the family
            yield head(name, kept.family.help)
            for start in range(0, len(lines), _SLICE):
                yield "".join(f"{name}{block} 1\n" for block, _ in lines[start : start + _SLICE]).encode()
                await asyncio.sleep(0)
            if kept.family.aged:
                aged = f"{name}_since_timestamp_seconds"
                yield head(aged, f"Since when: {kept.family.help}")
                for start in range(0, len(lines), _SLICE):
                    part = lines[start : start + _SLICE]
                    yield "".join(f"{aged}{block} {since:.3f}\n" for block, since in part).encode()
                    await asyncio.sleep(0)
        if self._causes:
            async for text in self._causes.render(self._room_of_causes):
                yield text
        if self._states:
            async for text in self._states.render():
                yield text


def _label_block(finding: Finding) -> str:
    subject = finding.subject
    values = (
        *(finding.check, finding.reason, finding.severity.value, subject.kind, subject.namespace, subject.name),
        *(finding.vm, finding.node, finding.network, finding.feature, finding.group, finding.cause),
    )
    block = _BLOCK % values
    # Hardly any value has a character to escape: looking at all of them at once is four times as fast.
    if block.count('"') == _QUOTES and "\\" not in block and "\n" not in block:
        return block
    return _BLOCK % tuple(map(escaped, values))


_BLOCK = "{" + ",".join(f'{label}="%s"' for label in LABELS) + "}"
_QUOTES = 2 * len(LABELS)
