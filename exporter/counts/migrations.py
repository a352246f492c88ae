"""Why migrations of each VMI failed, kept beyond the migrations themselves: KubeVirt deletes all but the last five.

What is kept is of the VMI that is there now and goes with it: the next one of its VM is started anew, on another CPU
and in another launcher maybe, so that what an earlier guest failed of says nothing of it. After a restart of the
steward it is what the objects still show. Nothing is written to disk.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from itertools import islice
from typing import NamedTuple

from msgspec.structs import replace

from ..domain.drains.failures import CLASSES, OTHER, FailedMigration, failed_migration, failure_of, failures_shown
from ..facts.record import Record
from ..store.cluster import Change, Cluster
from ..store.indexes.drains import PART
from ..store.kinds.virtual_machine_instance import VirtualMachineInstance
from ..store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from ..store.reader import Reading
from ..store.source import Source, SyncState

# How many migrations have failed since the start, by what they failed of: each once, by its UID.
#
# A counter never goes back, so a failure counts once its class is certain: with its text, which may arrive a moment
# after it, or when none has come for a minute.

_AWAITED = 60.0  # seconds in which the text of a failure may still arrive
_KNOWN = 50_000  # UIDs of failures that count no more; those that were seen first go first


class FailureCounts:
    def __init__(self, timer: Callable[[], float]) -> None:
        """`timer` gives seconds that only grow."""
        self._timer = timer
        self._counts = {**dict.fromkeys((each.id for each in CLASSES), 0), OTHER: 0}
        self._known: OrderedDict[str, None] = OrderedDict()
        self._awaited: OrderedDict[str, float] = OrderedDict()  # by UID: when it was seen, of those without a text

    def note(self, failed: FailedMigration, *, new: bool) -> None:
        """Takes in what is known of a failure by now; one that is not `new` was there before anybody counted."""
        uid = failed.uid
        if uid not in self._known:
            self._known[uid] = None
            if new:
                self._awaited[uid] = self._timer()
            if len(self._known) > _KNOWN:
                self._known.popitem(last=False)
        if uid in self._awaited and (failed.text or failed.failure != OTHER):
            del self._awaited[uid]
            self._counts[failed.failure] += 1
        self._settle()

    def by_class(self) -> dict[str, int]:
        """Of every class, also at 0."""
        self._settle()
        return dict(self._counts)

    def _settle(self) -> None:
        """Without a text until now, without one for good."""
        before = self._timer() - _AWAITED
        while self._awaited and next(iter(self._awaited.values())) <= before:
            self._awaited.popitem(last=False)
            self._counts[OTHER] += 1


READING = Reading("migrations", (VirtualMachineInstance.KIND, VirtualMachineInstanceMigration.KIND), indexes=(PART,))
_OF_ONE = 10  # failures of a VMI
_OF_ALL = 10_000  # failures in all, of half a KiB at most; VMIs whose last one was seen longest ago go first
_KINDS = {kind.name: kind.record for kind in READING.reads}

_Key = tuple[str, str]


class FailedVMI(NamedTuple):
    """A VMI with the failed migrations that are kept of it, newest first."""

    namespace: str
    name: str
    uid: str
    failures: tuple[FailedMigration, ...]


class MigrationFailures:
    """It has to be called for each change of the cluster, which keeps the indexes of READING. What is there already was
    there before.
    """

    def __init__(self, cluster: Cluster, timer: Callable[[], float]) -> None:
        """`timer` gives seconds that only grow."""
        self._cluster = cluster
        self._counts = FailureCounts(timer)
        self._kept: OrderedDict[_Key, FailedVMI] = OrderedDict()
        self._failures = 0  # in all
        self._listed: set[type[Record]] = set()  # kinds whose changes are news
        self.dropped: Counter[str] = Counter()  # by namespace: of how many VMIs, because there were too many
        self.version = 0  # grows with each change of what is kept
        for record in (*cluster.all(VirtualMachineInstance), *cluster.all(VirtualMachineInstanceMigration)):
            self.changed(Change(type(record), None, record))
        for source in cluster.all(Source):
            self._seen(source)

    def changed(self, change: Change) -> None:
        if change.kind is VirtualMachineInstance:
            self._vmi_changed(change)
        elif change.kind is VirtualMachineInstanceMigration:
            after = change.after
            if isinstance(after, VirtualMachineInstanceMigration) and after.phase == "Failed":
                self._migration_failed(after)
        elif change.kind is Source and isinstance(change.after, Source):
            self._seen(change.after)

    # -- what is asked for

    def of(self, namespace: str, vmi: str) -> tuple[FailedMigration, ...]:
        """The failures of a VMI that are kept, newest first."""
        found = self._kept.get((namespace, vmi))
        return found.failures if found is not None else ()

    def all(self) -> Iterable[FailedVMI]:
        """Every VMI of which any is kept."""
        return self._kept.values()

    def by_class(self) -> dict[str, int]:
        """How many migrations have failed since the start, by what they failed of; every class, also at 0."""
        return self._counts.by_class()

    # -- what comes in

    def _seen(self, source: Source) -> None:
        """What the first list of a kind has was there before."""
        if source.sync_state is SyncState.LIVE and source.name in _KINDS:
            self._listed.add(_KINDS[source.name])

    def _migration_failed(self, migration: VirtualMachineInstanceMigration) -> None:
        vmi = self._cluster.get(VirtualMachineInstance, migration.namespace, migration.vmi)
        new = VirtualMachineInstanceMigration in self._listed
        self._counts.note(failed_migration(migration, vmi), new=new)
        if vmi is not None:
            self._look(vmi)

    def _vmi_changed(self, change: Change) -> None:
        before, after = change.before, change.after
        if before is not None and (after is None or after.uid != before.uid):
            self._drop((before.namespace, before.name))
        if not isinstance(after, VirtualMachineInstance):
            return
        come = before is None or before.uid != after.uid
        if come and self._cluster.within(VirtualMachineInstanceMigration, after.namespace):
            self._look(after)
        if (come or "migration" in (change.facts or ())) and (failure := failure_of(after)) is not None:
            self._counts.note(failure, new=VirtualMachineInstance in self._listed)
            self._look(after)

    def _look(self, vmi: VirtualMachineInstance) -> None:
        """Adds what the objects show of a VMI to what is kept of it."""
        shown = failures_shown(self._cluster, vmi)
        if not shown:
            return
        key = vmi.namespace, vmi.name
        before = self._kept.get(key)
        known = {each.uid: each for each in before.failures} if before is not None else {}
        known |= {each.uid: _both(each, known.get(each.uid)) for each in shown}
        ordered = sorted(known.values(), key=lambda each: (each.at or 0.0, each.uid), reverse=True)
        failures = tuple(islice(ordered, _OF_ONE))
        if before is None or failures != before.failures:
            self._drop(key)
            self._kept[key] = FailedVMI(*key, vmi.uid, failures)
            self._failures += len(failures)
            self.version += 1
        while self._failures > _OF_ALL:
            oldest = next(iter(self._kept))
            self._drop(oldest)
            self.dropped[oldest[0]] += 1

    def _drop(self, key: _Key) -> None:
        if (found := self._kept.pop(key, None)) is not None:
            self._failures -= len(found.failures)
            self.version += 1


def _both(shown: FailedMigration, known: FailedMigration | None) -> FailedMigration:
    """What is shown now, with what was known and is shown no more: the migration goes, and so does the VMI's status."""
    if known is None:
        return shown
    text = shown.text or known.text
    failure = shown.failure if shown.failure != OTHER or shown.text else known.failure
    if not shown.migration and known.migration:
        return replace(known, text=text, failure=failure)
    return replace(shown, text=text, failure=failure)
