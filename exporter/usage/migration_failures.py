"""Why the last migrations of each VMI failed, kept beyond the migrations themselves, of which KubeVirt keeps five.

After a restart it is what the migrations that are still there show. What is kept of a VMI goes with it; of most VMIs
nothing is.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator
from typing import NamedTuple

from ..domain.drains.failures import classified
from ..store.cluster import Change, Cluster
from ..store.kinds.virtual_machine_instance import VirtualMachineInstance
from ..store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from ..store.record import Record

__all__ = ["OTHER", "MigrationFailure", "MigrationFailures"]

OTHER = "Other"
_KEPT = 5  # of a VMI
_MOST = 10_000  # VMIs of which anything is kept; those that failed longest ago go first

_Key = tuple[str, str]


class MigrationFailure(NamedTuple):
    """One migration that failed: when, in seconds since 1970, and of what: the id of a class, or Other."""

    at: float
    uid: str
    migration: str
    of: str
    text: str
    made_for: str


class _VMI(NamedTuple):
    failures: tuple[MigrationFailure, ...]  # newest first
    succeeded: float  # when the last one that did ended; 0 for none

    @property
    def failed_of(self) -> str:
        """What the last migration that ended failed of; empty where it succeeded."""
        return self.failures[0].of if self.failures and self.failures[0].at > self.succeeded else ""


class MigrationFailures:
    """An aggregate over a cluster: it has to be called for each change."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._vmis: OrderedDict[_Key, _VMI] = OrderedDict()
        self._counted: dict[_Key, str] = {}  # of VMIs that are there: what their last migration failed of
        self._last: Counter[str] = Counter()

    def changed(self, change: Change) -> None:
        before, after = change.before, change.after
        if change.kind is VirtualMachineInstance:
            self._there(before, after)
        elif isinstance(after, VirtualMachineInstanceMigration) and after.finished:
            self._note(after)

    def settle(self) -> Iterator[None]:
        return iter(())

    def _there(self, before: Record | None, after: Record | None) -> None:
        """What is kept goes with its VMI, and counts from when that is there."""
        if before is not None and (after is None or after.uid != before.uid):
            self._keep((before.namespace, before.name), None)
        elif before is None and after is not None:
            key = after.namespace, after.name
            if (known := self._vmis.get(key)) is not None:
                self._keep(key, known)

    def of(self, namespace: str, vmi: str) -> tuple[MigrationFailure, ...]:
        """The last ones of a VMI, newest first."""
        found = self._vmis.get((namespace, vmi))
        return found.failures if found is not None else ()

    def last(self) -> dict[str, int]:
        """The number of VMIs whose last migration failed, by what it failed of."""
        return {of: count for of, count in sorted(self._last.items()) if count}

    def _note(self, migration: VirtualMachineInstanceMigration) -> None:
        key = migration.namespace, migration.vmi
        known = self._vmis.get(key, _VMI((), 0.0))
        ended = migration.phase_since or migration.created or 0.0
        if migration.phase == "Succeeded":
            if known.failures:  # else there is nothing that it makes up for
                self._keep(key, known._replace(succeeded=max(known.succeeded, ended)))
            return
        others = [each for each in known.failures if each.uid != migration.uid]
        failures = sorted([*others, self._failure(migration, ended)], key=lambda each: each.at, reverse=True)
        self._keep(key, known._replace(failures=tuple(failures[:_KEPT])))

    def _failure(self, migration: VirtualMachineInstanceMigration, ended: float) -> MigrationFailure:
        vmi = self._cluster.get(VirtualMachineInstance, migration.namespace, migration.vmi)
        last = vmi.migration if vmi is not None else None
        text = migration.failure or (last.failure if last is not None and last.uid == migration.uid else "")
        found = classified(text)
        of = found.id if found is not None else OTHER
        return MigrationFailure(ended, migration.uid, migration.name, of, text, migration.made_for)

    def _keep(self, key: _Key, vmi: _VMI | None) -> None:
        self._vmis.pop(key, None)
        if counted := self._counted.pop(key, ""):
            self._last[counted] -= 1
        if vmi is None:
            return
        self._vmis[key] = vmi
        if vmi.failed_of and self._cluster.get(VirtualMachineInstance, *key) is not None:
            self._counted[key] = vmi.failed_of
            self._last[vmi.failed_of] += 1
        if len(self._vmis) > _MOST:
            self._keep(next(iter(self._vmis)), None)
