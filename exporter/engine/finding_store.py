"""The findings of one check: which are open, in which partition, since when; and which wait for their grace."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any, TypeAlias

import msgspec

from ..findings.advice import advised
from ..findings.check import PER_FLEET, Check, View
from ..findings.finding import Finding, Since, Unknown, fingerprint
from ..store.cluster import Cluster
from .evaluate import at_once, never, standing, undecodables

Complete: TypeAlias = dict[str, tuple[Finding, Finding]]
"""The findings of a partition by fingerprint: each as the check found it, and complete."""


class PartitionChange(msgspec.Struct, frozen=True):
    """What one evaluation of a partition changed. A changed finding is in both `gone` and `come`.

    `due` is when the next of the partition's findings comes out of its grace, in seconds since 1970; None for never.
    """

    gone: tuple[Finding, ...] = ()
    come: tuple[Finding, ...] = ()
    due: float | None = None


_NOTHING = PartitionChange()


class FindingStore:
    def __init__(self, check: Check) -> None:
        self._check = check
        self._open: dict[str, tuple[Finding, ...]] = {}
        self._early: dict[str, tuple[Finding, ...]] = {}  # found, and younger than their reason's grace
        self._partitions: dict[str, str] = {}  # the partition of each finding of both, by its fingerprint
        self._partial: set[str] = set()  # fingerprints of those that were only found while a kind could not be seen

    def __iter__(self) -> Iterator[Finding]:
        for findings in self._open.values():
            yield from findings

    @property
    def early(self) -> Iterator[Finding]:
        """Those that wait for their grace."""
        for findings in self._early.values():
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
        for table in (self._open, self._early, self._partitions, self._partial):
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
    ) -> PartitionChange:
        """Takes in what was found in a partition just now: `completing` and `take`, without pauses."""
        whole = at_once(self.completing(partition, found, now, never))
        return self.take(partition, whole, now, initial=initial, awaited=awaited)

    def completing(
        self, partition: str, found: Iterable[Finding], now: float, pauses: Callable[[], bool]
    ) -> Generator[None, None, Complete]:
        """What was found in a partition just now, by fingerprint, made complete; with a pause wherever one is due by
        `pauses`, since of some there are thousands. One that is as before is the same object. It is to be taken in as
        long as nothing else was.
        """
        known = {finding.fingerprint: finding for finding in self._here(partition)}
        whole: Complete = {}
        for finding in found:
            key = fingerprint(self._check.id, finding)
            earlier = known.get(key)
            made = self._complete(key, finding, earlier, now)
            whole[key] = finding, earlier if earlier is not None and earlier == made else made
            if pauses():
                yield
        return whole

    def _here(self, partition: str) -> tuple[Finding, ...]:
        return self._open.get(partition, ()) + self._early.get(partition, ())

    def take(
        self,
        partition: str,
        found: Complete,
        now: float,
        *,
        initial: bool = False,
        awaited: Callable[[Finding], str] = lambda _: "",
        partial: bool = False,
    ) -> PartitionChange:
        """Takes in the findings of a partition as they are complete.

        In an `initial` evaluation what has no known beginning does not wait for its grace, unless its reason is
        `lasting`: it may be old already, though no older than the time that it gives. What is no longer found here is
        kept by the partition that is `awaited`, if there is one: its evaluation says whether the finding is gone or has
        only moved. Where they are `partial`, what was found when all could be seen stays, and stays as severe as
        it was; what was found in part goes when it is no longer found so.
        """
        if not found and not self.holds(partition):
            return _NOTHING
        moved_here = self._move(found, partition)
        shown = {finding.fingerprint: finding for finding in self._open.get(partition, ())}
        known = shown | {finding.fingerprint: finding for finding in self._early.get(partition, ())}
        whole = {key: each for key, (_, each) in found.items()}
        for key in moved_here:
            made = self._complete(key, found[key][0], known[key], now)
            whole[key] = known[key] if known[key] == made else made
        if partial:
            sure = known.keys() - self._partial  # nobody knows that they are gone, or less severe
            whole = {key: _more_severe(known[key], each) if key in sure else each for key, each in whole.items()}
        dues = {key: self._due(each) for key, each in whole.items()}
        if initial:
            dues |= {key: self._due(found[key][0]) for key, each in whole.items() if self._may_be_old(each)}
        # What is open stays open while it is found, whatever happens to the clock.
        after = {key: each for key, each in whole.items() if dues[key] <= now or key in shown}
        if partial:
            self._partial |= whole.keys() - known.keys()
            after |= {key: each for key, each in shown.items() if key in sure and key not in after}
            whole = {key: known[key] for key in sure} | whole
        else:
            self._partial -= known.keys() | whole.keys()
        _keep(self._open, partition, tuple(after.values()))
        _keep(self._early, partition, tuple(each for key, each in whole.items() if key not in after))
        lost = known.keys() - whole.keys()
        moved = {key: place for key in lost if (place := awaited(known[key]))}
        for key in lost - moved.keys():
            del self._partitions[key]
            self._partial.discard(key)
        for key, place in moved.items():
            table = self._open if key in shown else self._early
            table[place] = (*table.get(place, ()), known[key])
        self._partitions.update(dict.fromkeys(whole, partition), **moved)
        return PartitionChange(
            tuple(finding for key, finding in shown.items() if after.get(key) is not finding and key not in moved),
            tuple(finding for key, finding in after.items() if shown.get(key) is not finding),
            min((due for key, due in dues.items() if key not in after), default=None),
        )

    def _move(self, keys: Iterable[str], partition: str) -> set[str]:
        """Brings here what was found elsewhere and is found here now (its object changed its VM); which those are."""
        moved: dict[str, set[str]] = {}
        for key in keys:
            place = self._partitions.get(key, partition)
            if place != partition:
                moved.setdefault(place, set()).add(key)
        for place, own in moved.items():
            for table in (self._open, self._early):
                there = table.get(place, ())
                come = tuple(each for each in there if each.fingerprint in own)
                _keep(table, place, tuple(each for each in there if each.fingerprint not in own))
                _keep(table, partition, table.get(partition, ()) + come)
        return {key for own in moved.values() for key in own}

    def _complete(self, key: str, finding: Finding, earlier: Finding | None, now: float) -> Finding:
        since, source = finding.since, finding.since_source
        # Some controllers write a time that they do not have as 0001 or 1970, which is 0 here.
        if not since or source is Since.FIRST_SEEN:
            seen_before = earlier is not None and earlier.since_source is Since.FIRST_SEEN
            since, source = (earlier.since if earlier and seen_before else now), Since.FIRST_SEEN
        whole = msgspec.structs.replace(
            finding,
            check=self._check.id,
            fingerprint=key,
            cause=self._check.cause_id(finding),
            since=since,
            since_source=source,
        )
        return advised(whole, self._check.reasons[finding.reason])

    def _may_be_old(self, finding: Finding) -> bool:
        return finding.since_source is Since.FIRST_SEEN and not self._check.reasons[finding.reason].lasting

    def _due(self, finding: Finding) -> float:
        """When it comes out of its grace."""
        grace = self._check.reasons[finding.reason].grace
        return finding.since + grace if grace and finding.since is not None else 0.0


def _more_severe(before: Finding, now: Finding) -> Finding:
    return before if before.severity.rank > now.severity.rank else now


def _keep(place: dict[str, tuple[Finding, ...]], partition: str, findings: tuple[Finding, ...]) -> None:
    if findings:
        place[partition] = findings
    else:
        place.pop(partition, None)


# Evaluates the checks of several clusters, one of which is in memory at a time.
#
# Of each cluster remains what the checks keep of it (`Check.facts`).


class ClusterComparison:
    def __init__(self, checks: Iterable[Check]) -> None:
        """Those of `checks` that are of several clusters are evaluated."""
        self._checks = tuple(check for check in checks if check.scope is PER_FLEET)
        self._facts: dict[str, dict[str, tuple[Any, ...]]] = {check.id: {} for check in self._checks}

    def add(self, name: str, cluster: Cluster) -> Iterator[Unknown]:
        """Takes in a cluster; gives why not all of it can be compared."""
        for check in self._checks:
            self._facts[check.id][name] = tuple(check.facts(cluster))
            yield from (Unknown(check.id, "", why, name) for why in standing(check, cluster).unseen)
            for each in undecodables(check, cluster):
                yield Unknown(check.id, each.namespace, each.sentence, name)

    def findings(self, now: float) -> Iterator[Finding]:
        """What is found in all of them together; `now` is in seconds since 1970."""
        for check in self._checks:
            view = View(Cluster(()), check, "")
            view.clusters = self._facts[check.id]
            found: dict[str, list[Finding]] = {name: [] for name in view.clusters}
            for finding in filter(None, check.find(view)):
                found[finding.cluster].append(finding)
            for own in found.values():  # each for itself: a copy of a cluster has the same objects
                yield from FindingStore(check).evaluated("", own, now, initial=True).come
