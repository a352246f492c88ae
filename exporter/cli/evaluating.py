"""Dumps, evaluated one after the other, each on its own; then what can be seen of them together.

Of a dump that is evaluated there remain what was chosen of its findings and which VMs have which UUID: the memory
that is needed is that of the largest dump, not of all.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from ..across import ACROSS, READS, duplicates, unknowns
from ..app import read_dump
from ..config.settings import Config
from ..model.identified import Identified, vms
from ..model.source import FILE
from ..offline.files import DumpError
from ..views.findings import Report, UndecodableReport, merged, reported, rfc3339, take
from .dumps import Dump
from .filters import Filters
from .progress import progress_line

__all__ = ["Reading", "evaluate_each"]


@dataclass(frozen=True)
class Reading:
    """How each dump is read. `complete` says that each holds the whole of its cluster."""

    config: Config
    filters: Filters
    complete: bool


@dataclass(frozen=True)
class _Evaluated:
    report: Report
    read: str
    vms: tuple[Identified, ...] = ()


def evaluate_each(dumps: Sequence[Dump], reading: Reading) -> tuple[Report, dict[str, str]]:
    """What is chosen of all of them, and in words what each held. One of several that can't be read is reported
    at once, and counts as a file that was not read. Raises DumpError where none could be read.
    """
    compares = len(dumps) > 1 and ACROSS.id in reading.filters.checks
    evaluated: dict[str, _Evaluated] = {}
    failed: list[DumpError] = []
    for dump in dumps:
        try:
            evaluated[dump.name] = _evaluate(dump, reading, compares)
        except DumpError as error:
            failed.append(error)
            if len(dumps) > 1:
                print(f"steward: {dump.name}: {error}", file=sys.stderr)
            evaluated[dump.name] = _Evaluated(_unreadable(dump, error, reading.filters.now), "")
    if len(failed) == len(dumps) == 1:
        raise failed[0]
    report = merged(each.report for each in evaluated.values())
    if compares:
        found = [
            msgspec.structs.replace(reported(finding, name), since=rfc3339(reading.filters.now))
            for name, finding in duplicates({name: each.vms for name, each in evaluated.items()})
        ]
        report = merged((report, reading.filters.of(Report(0, found, [], [], []))))
    return report, {name: each.read for name, each in evaluated.items()}


def _evaluate(dump: Dump, reading: Reading, compares: bool) -> _Evaluated:
    with progress_line(dump.name) as progress:
        engine, tally = asyncio.run(
            read_dump(
                dump.path,
                reading.filters.now,
                reading.config,
                complete=reading.complete,
                progress=progress,
                also=READS if compares else (),
            )
        )
    report = reading.filters.of(take(engine, cluster=dump.name))
    if not compares:
        return _Evaluated(report, f"read {tally}")
    report.unknown.extend(unknowns(dump.name, engine.cluster))
    return _Evaluated(report, f"read {tally}", tuple(vms(engine.cluster)))


def _unreadable(dump: Dump, error: DumpError, now: float) -> Report:
    undecodable = UndecodableReport(FILE, "", dump.path, "", str(error), rfc3339(now), dump.name)
    return Report(0, [], [], [], [undecodable])
