"""The families whose size follows the fleet: one sample per open finding, rendered by ourselves.

The label block of a finding is built once, when it opens. A page is written in slices, between which the loop goes on,
so that its size never holds up an evaluation or another request. prometheus_client takes minutes where this takes
seconds (half a million samples: 10.9 s against 0.4 s).

A family has a series limit of series, of which an aged one takes two for each finding, and all together have one. First
come, first kept: a flood that somebody makes can't push out what is alerted on already. What is left out is counted,
and comes in when a place becomes free.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from itertools import islice

from ..checks.base import Check, Family, Reason
from ..findings import Finding
from .series_limit import SeriesLimit
from .states import States
from .text import escaped, head

__all__ = ["Exposition"]

_SLICE = 5000  # lines


@dataclass(slots=True)
class _Kept:
    family: Family
    shown: dict[str, tuple[str, float]] = field(default_factory=dict)  # fingerprint: label block, since
    left_out: dict[str, tuple[str, float]] = field(default_factory=dict)

    @property
    def each(self) -> int:
        return 2 if self.family.aged else 1

    @property
    def series(self) -> int:
        return len(self.shown) * self.each

    def leave_out(self, series: int) -> None:
        """Takes out at least so many, the last ones that came; they are the first to come in again."""
        count = -(-series // self.each)
        if count > 0:
            out = {fingerprint: self.shown.pop(fingerprint) for fingerprint in list(self.shown)[-count:]}
            self.left_out = {**out, **self.left_out}


class Exposition:
    def __init__(
        self, checks: Iterable[Check], series_limit: SeriesLimit | None = None, states: States | None = None
    ) -> None:
        self._reasons: dict[tuple[str, str], Reason] = {
            (check.id, name): reason for check in checks for name, reason in check.reasons.items()
        }
        self._kept = {reason.family.name: _Kept(reason.family) for reason in self._reasons.values()}
        self._series_limit = series_limit or SeriesLimit()
        self._states = states
        self.counts: Counter[tuple[str, str, str]] = Counter(
            {(check, name, s.value): 0 for (check, name), reason in self._reasons.items() for s in reason.severities}
        )

    def update(self, gone: Iterable[Finding], come: Iterable[Finding]) -> None:
        """Takes in a batch of differences. A changed finding, which is in both, keeps its place."""
        come = tuple(come)
        staying = {finding.fingerprint for finding in come}
        for finding in gone:
            self.counts[finding.check, finding.reason, finding.severity.value] -= 1
            kept = self._kept[self._reasons[finding.check, finding.reason].family.name]
            if finding.fingerprint not in staying:
                kept.shown.pop(finding.fingerprint, None)
                kept.left_out.pop(finding.fingerprint, None)
        for finding in come:
            self.counts[finding.check, finding.reason, finding.severity.value] += 1
            self._show(finding)
        self._fill()

    def _fill(self) -> None:
        total = sum(kept.series for kept in self._kept.values())
        for kept in self._kept.values():
            room = min(self._series_limit.family - kept.series, self._series_limit.total - total) // kept.each
            for fingerprint in list(islice(kept.left_out, max(room, 0))):
                kept.shown[fingerprint] = kept.left_out.pop(fingerprint)
                total += kept.each

    def _show(self, finding: Finding) -> None:
        kept = self._kept[self._reasons[finding.check, finding.reason].family.name]
        line = (_label_block(kept.family, finding), finding.since or 0.0)
        if finding.fingerprint in kept.shown or self._room(kept):
            kept.left_out.pop(finding.fingerprint, None)  # it changed while it waited
            kept.shown[finding.fingerprint] = line
        else:
            kept.left_out[finding.fingerprint] = line

    @property
    def series_limit(self) -> SeriesLimit:
        return self._series_limit

    @series_limit.setter
    def series_limit(self, series_limit: SeriesLimit) -> None:
        """Less room leaves out who came last, of the largest families first; more room lets in who waits."""
        self._series_limit = series_limit
        if self._states:
            self._states.series_limit = series_limit
        sizes = [kept.series for kept in self._kept.values()]
        low, high = 0, series_limit.family  # the largest cap for each family by which all together fit
        while low < high:
            cap = (low + high + 1) // 2
            low, high = (cap, high) if sum(min(size, cap) for size in sizes) <= series_limit.total else (low, cap - 1)
        for kept in self._kept.values():
            kept.leave_out(kept.series - low)
        self._fill()

    def _room(self, kept: _Kept) -> bool:
        total = sum(each.series for each in self._kept.values())
        return kept.series + kept.each <= self._series_limit.family and total + kept.each <= self._series_limit.total

    @property
    def left_out(self) -> dict[str, int]:
        """Series left out by the series limit, by family."""
        found = {name: len(kept.left_out) * kept.each for name, kept in self._kept.items()}
        return found | (self._states.left_out if self._states else {})

    async def render(self) -> AsyncIterator[bytes]:
        """The text of all families, in slices; the same in the text format and in OpenMetrics."""
        for name, kept in sorted(self._kept.items()):
            lines = list(kept.shown.values())  # one moment of the family
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
        if self._states:
            async for text in self._states.render():
                yield text


def _label_block(family: Family, finding: Finding) -> str:
    return "{" + ",".join(f'{label}="{escaped(_value(finding, label))}"' for label in family.labels) + "}"


def _value(finding: Finding, label: str) -> str:
    if label in ("namespace", "name"):
        return str(getattr(finding.subject, label))
    if label == "severity":
        return finding.severity.value
    if label in ("reason", "node", "feature", "network", "group"):
        return str(getattr(finding, label))
    return str(finding.evidence.get(label, ""))
