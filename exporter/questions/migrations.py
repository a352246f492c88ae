"""Why migrations of VMIs failed, as it is kept beyond the migrations themselves."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator

import msgspec

from ..counts.migrations import READING, FailedVMI, MigrationFailures
from ..domain.drains.failures import CLASSES, FailedMigration
from ..engine.engine import Engine
from ..store.cluster import Cluster
from ..store.source import unseen
from .asked import MigrationsQuery
from .question import Question, in_order
from .times import rfc3339

_SLICE = 100  # VMIs between two looks at the event loop
_CLASSES = {each.id: each for each in CLASSES}


class FailedMigrationReport(msgspec.Struct, frozen=True, rename="camel"):
    """`at` is RFC 3339 in UTC, empty where it is not known. `meaning` is that of the class `failure`, empty for Other;
    of a `lasting` one the next attempts of the guest fail as well.
    """

    at: str
    uid: str
    migration: str
    failure: str
    meaning: str
    lasting: bool
    text: str
    made_for: str


class FailedVMIReport(msgspec.Struct, frozen=True, rename="camel"):
    """A VMI with its failed migrations, newest first."""

    namespace: str
    name: str
    uid: str
    failures: tuple[FailedMigrationReport, ...]


class Migrations(msgspec.Struct, frozen=True, rename="camel"):
    """The VMI that failed last comes first. `unseen` names kinds that can't be seen now: there may be more. `dropped`
    is of how many VMIs the failures were dropped since the start, because there were too many.
    """

    unseen: tuple[str, ...]
    dropped: int
    vmis: tuple[FailedVMIReport, ...]


def steps(
    cluster: Cluster, kept: MigrationFailures, shows: Callable[[str], bool], names: Collection[str] = ()
) -> Generator[None, None, Migrations]:
    """Of the VMIs in namespaces that are shown; where `names` are given, of those that have one."""
    every = tuple(kept.all())
    chosen: list[FailedVMI] = []
    for at, vmi in enumerate(every):
        if shows(vmi.namespace) and (not names or vmi.name in names):
            chosen.append(vmi)
        if at % _SLICE == _SLICE - 1:
            yield
    ordered = yield from in_order(chosen, lambda each: (-(each.failures[0].at or 0.0), each.namespace, each.name))
    reports: list[FailedVMIReport] = []
    for at, vmi in enumerate(ordered):
        failures = tuple(failure_report(each) for each in vmi.failures)
        reports.append(FailedVMIReport(vmi.namespace, vmi.name, vmi.uid, failures))
        if at % _SLICE == _SLICE - 1:
            yield
    dropped = sum(count for namespace, count in kept.dropped.items() if shows(namespace))
    return Migrations(unseen(cluster, [kind.record for kind in READING.reads]), dropped, tuple(reports))


def failure_report(failed: FailedMigration) -> FailedMigrationReport:
    found = _CLASSES.get(failed.failure)
    return FailedMigrationReport(
        rfc3339(failed.at),
        failed.uid,
        failed.migration,
        failed.failure,
        found.meaning if found is not None else "",
        found is not None and found.lasting,
        failed.text,
        failed.made_for,
    )


def _answered(
    engine: Engine, seen: tuple[MigrationFailures, Callable[[str], bool]], asked: MigrationsQuery
) -> Generator[None, None, Migrations]:
    """Of those that are kept, in namespaces that are `visible` to who asks."""
    kept, visible = seen

    def shows(namespace: str) -> bool:
        return visible(namespace) and (not asked.namespace or namespace in asked.namespace)

    return (yield from steps(engine.cluster, kept, shows, asked.name))


QUESTION = Question("migrations", MigrationsQuery, Migrations, _answered, READING, MigrationFailures)
