"""The findings of one check: which are open, in which partition, since when; and which wait for their grace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from ..checks.advice import advised
from ..checks.base import Check
from ..findings import Finding, Since, fingerprint

__all__ = ["Entry", "FindingStore"]


class Entry(msgspec.Struct, frozen=True):
    """What one evaluation of a partition changed. A changed finding is in both `gone` and `come`.

    `due` is when the next of the partition's findings comes out of its grace, in seconds since 1970; None for never.
    """

    gone: tuple[Finding, ...] = ()
    come: tuple[Finding, ...] = ()
    due: float | None = None


_NOTHING = Entry()


class FindingStore:
    def __init__(self, check: Check) -> None:
        self._check = check
        self._open: dict[str, tuple[Finding, ...]] = {}
        self._early: dict[str, tuple[Finding, ...]] = {}  # found, and younger than their reason's grace
        self._partitions: dict[str, str] = {}  # the partition of each finding of both, by its fingerprint

    def __iter__(self) -> Iterator[Finding]:
        for findings in self._open.values():
            yield from findings

    def partitions(self) -> Iterable[str]:
        """Those that hold findings, open or in their grace."""
        return {**self._open, **self._early}

    def holds(self, partition: str) -> bool:
        """Whether there are findings of the partition, open or in their grace."""
        return partition in self._open or partition in self._early

    def clear(self) -> tuple[Finding, ...]:
        """Takes all out, and gives what was open."""
        found = tuple(self)
        for table in (self._open, self._early, self._partitions):
            table.clear()
        return found

    def partition_of(self, key: str) -> str:
        """Where the finding with this fingerprint was found. Raises KeyError for one that is not open."""
        return self._partitions[key]

    def evaluated(
        self,
        partition: str,
        found: Iterable[Finding],
        now: float,
        *,
        initial: bool = False,
        awaited: Callable[[Finding], str] = lambda _: "",
    ) -> Entry:
        """Takes in what was found in a partition just now.

        In an `initial` evaluation what has no known beginning does not wait for its grace, unless its reason is
        `lasting`: it may be old already, though no older than the time that it gives. What is no longer found here is
        kept by the partition that is `awaited`, if there is one: its evaluation says whether the finding is gone or has
        only moved.
        """
        before, early = self._open.get(partition, ()), self._early.get(partition, ())
        fresh = {fingerprint(self._check.id, finding): finding for finding in found}
        if not fresh and not before and not early:
            return _NOTHING
        for key in fresh:
            before += self._taken(self._open, partition, key)
            early += self._taken(self._early, partition, key)
        known = {finding.fingerprint: finding for finding in (*before, *early)}
        whole = {key: self._complete(key, each, known.get(key), now) for key, each in fresh.items()}
        dues = {key: self._due(each) for key, each in whole.items()}
        if initial:
            dues |= {key: self._due(fresh[key]) for key, each in whole.items() if self._may_be_old(each)}
        # What is open stays open while it is found, whatever happens to the clock.
        shown = {finding.fingerprint: finding for finding in before}
        after = {key: each for key, each in whole.items() if dues[key] <= now or key in shown}
        _keep(self._open, partition, tuple(after.values()))
        _keep(self._early, partition, tuple(each for key, each in whole.items() if key not in after))
        lost = known.keys() - whole.keys()
        moved = {key: place for key in lost if (place := awaited(known[key]))}
        for key in lost - moved.keys():
            del self._partitions[key]
        for key, place in moved.items():
            table = self._open if key in shown else self._early
            table[place] = (*table.get(place, ()), known[key])
        self._partitions.update(dict.fromkeys(whole, partition), **moved)
        return Entry(
            tuple(finding for key, finding in shown.items() if after.get(key) != finding and key not in moved),
            tuple(finding for key, finding in after.items() if shown.get(key) != finding),
            min((due for key, due in dues.items() if key not in after), default=None),
        )

    def _taken(self, table: dict[str, tuple[Finding, ...]], partition: str, key: str) -> tuple[Finding, ...]:
        """What was found elsewhere and is found here now (its object changed its VM), off its old place."""
        partition_before = self._partitions.get(key, partition)
        if partition_before == partition:
            return ()
        there = table.get(partition_before, ())
        _keep(table, partition_before, tuple(each for each in there if each.fingerprint != key))
        return tuple(each for each in there if each.fingerprint == key)

    def _complete(self, key: str, finding: Finding, earlier: Finding | None, now: float) -> Finding:
        since, source = finding.since, finding.since_source
        # Some controllers write a time that they do not have as 0001 or 1970, which is 0 here.
        if not since or source is Since.FIRST_SEEN:
            seen_before = earlier is not None and earlier.since_source is Since.FIRST_SEEN
            since, source = (earlier.since if earlier and seen_before else now), Since.FIRST_SEEN
        whole = msgspec.structs.replace(
            finding, check=self._check.id, fingerprint=key, since=since, since_source=source
        )
        return advised(whole, self._check.reasons[finding.reason])

    def _may_be_old(self, finding: Finding) -> bool:
        return finding.since_source is Since.FIRST_SEEN and not self._check.reasons[finding.reason].lasting

    def _due(self, finding: Finding) -> float:
        """When it comes out of its grace."""
        grace = self._check.reasons[finding.reason].grace
        return finding.since + grace if grace and finding.since is not None else 0.0


def _keep(place: dict[str, tuple[Finding, ...]], partition: str, findings: tuple[Finding, ...]) -> None:
    if findings:
        place[partition] = findings
    else:
        place.pop(partition, None)
